// Where requests go, and what is known of models: limits and prices.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { dollars, number } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';

/** Shows them. */
export async function showModels(body) {
  const { upstream, model, upstreams, models } = await get('/api/models');
  put(body, h('p', { class: 'lead' }, t('settings.models.lead')),
    h('section', { class: 'stack' }, h('h2', {}, t('settings.upstreams')),
      h('ul', { class: 'card upstreams' }, upstreams.map((one) => drawUpstream(one, one.name === upstream))),
      h('p', { class: 'muted' }, upstream === 'quote' ? `${t('quote')} ${t('quote.how')}` : t('settings.answers', { model, upstream }))),
    catalogue(models));
}

function drawUpstream(one, isUsual) {
  return h('li', {}, h('div', { class: 'row' }, h('strong', {}, one.name), isUsual ? h('span', { class: 'chip accent' }, t('settings.usual')) : null,
    h('span', { class: one.ready ? 'upstream-key good' : 'upstream-key' }, icon(one.ready ? 'check' : 'about'), t(one.ready ? 'settings.ready' : 'settings.unready'))),
  h('p', { class: 'muted' }, one.name === 'quote' ? t('settings.quote') : [one.url ? [h('code', {}, one.url), ' · '] : null, t('settings.wire', { wire: one.wire })]));
}

function catalogue(models) {
  const rows = h('tbody', {});
  const count = h('p', { class: 'muted', role: 'status' });
  const draw = (words) => {
    const found = models.filter((model) => model.name.toLowerCase().includes(words.toLowerCase()));
    put(count, t('settings.models.count', { n: found.length }));
    put(rows, found.map((model) => h('tr', {}, h('td', {}, h('code', {}, model.name)), digits(model.window ? number(model.window) : '–'), digits(dollars(model.input_dollars)), digits(dollars(model.output_dollars)))));
  };
  draw('');
  const field = h('input', { class: 'field', type: 'search', placeholder: t('settings.models.find'), 'aria-label': t('settings.models.find'), on: { input: () => draw(field.value.trim()) } });
  const head = ['model', 'window', 'input', 'output'].map((name, i) => h('th', { scope: 'col', class: i ? 'digits' : null }, t(`settings.column.${name}`)));
  return h('section', { class: 'stack' }, h('h2', {}, t('settings.models.known')), h('div', { class: 'row' }, field, count),
    h('div', { class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': t('settings.models.known') }, h('table', { class: 'table' }, h('caption', { class: 'hidden' }, t('settings.models.known')), h('thead', {}, h('tr', {}, head)), rows)));
}

const digits = (text) => h('td', { class: 'digits' }, text);
