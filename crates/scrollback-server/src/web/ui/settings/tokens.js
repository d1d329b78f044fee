// Tokens, for admins: who else may ask, a new one (told once), one taken back.
import { copy, tell } from '../actions.js';
import { del, get, post } from '../api.js';
import { confirm, dialog } from '../dialog.js';
import { h, put } from '../dom.js';
import { moment } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { note, trouble } from '../notice.js';

/** Shows them. */
export async function showTokens(body) {
  const list = h('div', {});
  put(body, h('p', { class: 'lead' }, t('tokens.lead')), form(() => load(list)), list);
  await load(list);
}

async function load(list) {
  try {
    const { tokens } = await get('/api/tokens');
    put(list, tokens.length ? table(tokens, list) : note(t('tokens.none')));
  } catch (error) {
    put(list, trouble(error, () => load(list)));
  }
}

function table(tokens, list) {
  const row = (one) => h('tr', {}, h('td', {}, h('strong', {}, one.name), one.admin ? [' ', h('span', { class: 'chip accent' }, t('tokens.admin'))] : null), h('td', {}, h('code', {}, one.tenant)), h('td', {}, moment(one.created)),
    h('td', { class: 'align-right' }, h('button', { class: 'button small danger', type: 'button', 'aria-label': t('tokens.revoke.of', { name: one.name }), on: { click: () => revoke(one.name, list) } }, t('tokens.revoke'))));
  return h('div', { class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': t('settings.part.tokens') }, h('table', { class: 'table' }, h('caption', { class: 'hidden' }, t('settings.part.tokens')),
    h('thead', {}, h('tr', {}, ['name', 'tenant', 'created'].map((name) => h('th', { scope: 'col' }, t(`tokens.column.${name}`))), h('th', { scope: 'col' }, h('span', { class: 'hidden' }, t('tokens.column.act'))))), h('tbody', {}, tokens.map(row))));
}

async function revoke(name, list) {
  if (!(await confirm(t('tokens.revoke.of', { name }), t('tokens.revoke.text'), t('tokens.revoke'), { danger: true }))) return;
  if (await tell(() => del(`/api/tokens/${encodeURIComponent(name)}`), () => t('tokens.revoked', { name }))) load(list);
}

function form(made) {
  const name = h('input', { class: 'field', name: 'name', required: true, autocomplete: 'off', placeholder: t('tokens.name.hint') });
  const tenant = h('input', { class: 'field', name: 'tenant', autocomplete: 'off', placeholder: t('tokens.tenant.hint') });
  const admin = h('input', { type: 'checkbox', name: 'admin' });
  const wrong = h('div', {});
  const make = async (event) => {
    event.preventDefault();
    put(wrong);
    try {
      showOnce(await post('/api/tokens', { name: name.value.trim(), tenant: tenant.value.trim() || null, admin: admin.checked }));
      event.target.reset();
      made();
    } catch (error) {
      put(wrong, trouble(error));
    }
  };
  return h('form', { class: 'card token-form', on: { submit: make } }, h('h2', {}, t('tokens.new')),
    h('div', { class: 'token-fields' }, field('name', name), field('tenant', tenant),
      h('label', { class: 'check' }, admin, h('span', {}, t('tokens.admin.label'))), h('button', { class: 'button primary', type: 'submit' }, icon('plus'), t('tokens.make'))), wrong);
}

const field = (name, input) => h('label', { class: 'labelled' }, h('span', {}, t(`tokens.${name}`)), input);

function showOnce({ name, tenant, token }) {
  const value = h('input', { class: 'field wide mono', readonly: true, value: token, 'aria-label': t('tokens.made', { name }), on: { focus: () => value.select() } });
  dialog(t('tokens.made', { name }), [h('p', {}, t('tokens.once', { tenant })), value], [{ label: t('copy'), act: () => { copy(token); return false; } }, { label: t('tokens.kept'), primary: true }]);
  value.focus();
}
