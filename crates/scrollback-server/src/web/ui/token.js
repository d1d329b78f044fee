// The token of this tab: kept in sessionStorage, asked for when the server wants one.
import { h } from './dom.js';
import { dialog } from './dialog.js';
import { t } from './i18n.js';
import { trouble } from './notice.js';

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
  asking ??= open(tried).finally(() => { asking = null; });
  return asking;
}

// Whoever has tried one is told what came of it: the same empty question again would look as if nothing had happened.
function open(tried) {
  return new Promise((resolve) => {
    const field = h('input', { class: 'field wide', type: 'password', autocomplete: 'off', name: 'token', placeholder: 'sb_…', 'aria-label': t('token.field'), 'aria-invalid': tried ? 'true' : null });
    const box = dialog(t('token.title'), [tried ? trouble({ detail: t('token.unknown') }) : null, h('p', {}, t('token.why')), field], [
      { label: t('token.use'), primary: true, act: () => use(field, tried) },
    ]);
    const before = token();
    box.addEventListener('close', () => resolve(Boolean(token()) && token() !== before));
    field.focus();
  });
}

// The same one again would be refused again: the question stays.
function use(field, tried) {
  const said = field.value.trim();
  if (said && said === tried) {
    field.select();
    return false;
  }
  return keepToken(said);
}
