// Who asks, and how this page looks to them.
import { forgetDrafts } from '../chat/drafts.js';
import { h, put } from '../dom.js';
import { language, languages, setLanguage, t } from '../i18n.js';
import { setTheme, theme } from '../theme.js';
import { forgetToken, token } from '../token.js';

/** Shows it. */
export async function showYou(body, { me, onLeave }) {
  // The sidebar has a button for it too.
  const follow = () => { body.querySelector(`[name=theme][value=${theme()}]`).checked = true; };
  addEventListener('theme', follow);
  onLeave(() => removeEventListener('theme', follow));
  put(body, h('section', { class: 'card stack' }, h('h2', {}, t('settings.look')),
    choices(t('language'), 'language', languages, language(), setLanguage),
    choices(t('settings.theme'), 'theme', { auto: t('theme.auto'), light: t('theme.light'), dark: t('theme.dark') }, theme(), setTheme)),
  h('section', { class: 'card stack' }, h('h2', {}, t('settings.me')), facts(me), token() ? forget() : null));
}

function choices(title, name, options, chosen, choose) {
  return h('fieldset', { class: 'choices' }, h('legend', {}, title), h('div', { class: 'choice-row' }, Object.entries(options).map(([value, label]) =>
    h('label', { class: 'choice' }, h('input', { type: 'radio', name, value, checked: value === chosen, on: { change: () => choose(value) } }), label))));
}

function facts(me) {
  const rows = [['tenant', h('code', {}, me.tenant), t('settings.me.tenant.about')],
    ['from', me.token ? t('settings.me.token', { name: me.token }) : t(me.local ? 'settings.me.local' : 'settings.me.elsewhere'), null],
    ['may', t(me.admin ? 'settings.me.admin' : 'settings.me.reader'), null],
    ['version', h('code', {}, me.version), null]];
  return h('dl', { class: 'pairs' }, rows.map(([name, value, about]) => h('div', {}, h('dt', {}, t(`settings.me.${name}`)), h('dd', {}, value, about ? h('span', { class: 'muted' }, about) : null))));
}

function forget() {
  // The page has the sessions, the events and the words of whoever had the token in mind: nothing of that is left to the next.
  const gone = () => { forgetToken(); forgetDrafts(); location.reload(); };
  return h('p', {}, h('button', { class: 'button', type: 'button', on: { click: gone } }, t('settings.forget')));
}
