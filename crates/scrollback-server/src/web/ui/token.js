// The token of this tab: kept in sessionStorage, asked for when the server wants one.
import { forgetDrafts } from './chat/drafts.js';
import { h } from './dom.js';
import { dialog } from './dialog.js';
import { t } from './i18n.js';
import { trouble } from './notice.js';

const NAME = 'scrollback.token';
const TENANT = 'scrollback.tenant';
let asking = null;

/** The token that is kept, if any. */
export const token = () => sessionStorage.getItem(NAME);

/** Forgets it, and whose it was. */
export function forgetToken() {
  sessionStorage.removeItem(NAME);
  sessionStorage.removeItem(TENANT);
}

/** Asks for a token, once for all who wait; true if another one than `tried` is there now. */
export async function askToken(tried) {
  if (!asking && token() !== tried) return true;
  asking ??= open(tried).then(isTheirs).finally(() => { asking = null; });
  return asking;
}

// Whose token it is. What somebody else wrote, read or asked for in this tab is none of theirs: nothing of it goes on.
async function isTheirs(isNew) {
  const answer = isNew && await fetch('/api/me', { headers: { authorization: `Bearer ${token()}` }, cache: 'no-store' }).catch(() => null);
  if (!answer?.ok) return isNew;
  const [before, { tenant }] = [sessionStorage.getItem(TENANT), await answer.json()];
  sessionStorage.setItem(TENANT, tenant);
  if (before === null || before === tenant) return true;
  forgetDrafts();
  location.reload();
  return new Promise(() => {});
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
  if (said) sessionStorage.setItem(NAME, said);
  else sessionStorage.removeItem(NAME);
  return true;
}
