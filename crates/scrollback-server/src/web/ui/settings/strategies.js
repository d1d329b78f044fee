// The strategies: what each does with a conversation that no longer fits, when it is the right one, and which is usual here.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { t } from '../i18n.js';

/** Shows them. */
export async function showStrategies(body) {
  const { strategies, settings } = await get('/api/settings');
  const usual = settings.find((setting) => setting.name === 'window.strategy')?.value;
  put(body, h('p', { class: 'lead' }, t('settings.strategies.lead')),
    h('ul', { class: 'strategies' }, strategies.map(({ name, about }) => h('li', { class: 'card' },
      h('h2', {}, h('code', {}, name), name === usual ? h('span', { class: 'chip accent' }, t('settings.usual')) : null),
      h('p', {}, said(`settings.strategy.${name}`, about)), h('p', { class: 'muted' }, said(`settings.strategy.${name}.when`, ''))))),
    h('p', { class: 'muted' }, t('settings.strategies.how')));
}

// A strategy we have no words for yet is told in the server's.
function said(key, otherwise) {
  const words = t(key);
  return words === key ? otherwise : words;
}
