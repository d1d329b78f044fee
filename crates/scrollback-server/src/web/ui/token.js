// The token of this tab: kept in sessionStorage, asked for when the server wants one.
import { h } from './dom.js';
import { dialog } from './dialog.js';
import { t } from './i18n.js';

const NAME = 'scrollback.token';
let asking = null;

/** The token that is kept, if any. */
export const token = () => sessionStorage.getItem(NAME);

/** Keeps a token, or forgets it when there is none. */
export function keepToken(text) {
  if (text) sessionStorage.setItem(NAME, text);
  else sessionStorage.removeItem(NAME);
}

/** Asks for a token, once for all who wait; true if another one than `tried` is there now. */
export async function askToken(tried) {
  if (token() !== tried) return true;
  asking ??= open().finally(() => { asking = null; });
  return asking;
}

function open() {
  return new Promise((resolve) => {
    const field = h('input', { class: 'field wide', type: 'password', autocomplete: 'off', name: 'token', placeholder: 'sb_…', 'aria-label': t('token.field') });
    const box = dialog(t('token.title'), [h('p', {}, t('token.why')), field], [
      { label: t('token.use'), primary: true, act: () => keepToken(field.value.trim()) },
    ]);
    const before = token();
    box.addEventListener('close', () => resolve(Boolean(token()) && token() !== before));
    field.focus();
  });
}
