// Keys: ? help, / search, n new chat, g then a letter for the tabs. Never while someone is typing.
import { h } from './dom.js';
import { dialog } from './dialog.js';
import { t } from './i18n.js';
import { go, readRoute, sessionHref } from './route.js';

const TABS = { c: 'chat', w: 'window', t: 'topics', a: 'artifacts', o: 'contents', k: 'kept', h: 'holds', l: 'ledger' };
let isAfterG = false;

/** Begins to listen. */
export function listenToKeys() {
  addEventListener('keydown', (event) => {
    if (isComposing(event) || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open], .menu')) return;
    if (take(event.key)) event.preventDefault();
  });
}

function take(key) {
  const route = readRoute(location.hash);
  if (isAfterG) {
    isAfterG = false;
    if (!TABS[key] || !route.session) return false;
    go(sessionHref(route.session, TABS[key], { branch: route.query.branch }));
    return true;
  }
  if (key === 'g') return wait();
  if (key === '?') return showKeys();
  if (key === '/') return focusOn('#search');
  if (key === 'n') { go('/new'); return true; }
  if (key === 'i') return focusOn('.composer-box > textarea');
  return false;
}

function wait() {
  isAfterG = true;
  setTimeout(() => { isAfterG = false; }, 1200);
  return true;
}

function focusOn(selector) {
  const field = document.querySelector(selector);
  field?.focus();
  return Boolean(field);
}

/** Whether a key belongs to an input method; keyCode 229 is how some browsers say so. */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

const isTyping = (node) => node instanceof HTMLElement && (node.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName));

/** Shows which keys there are. */
export function showKeys() {
  const rows = [['?', t('keys.help')], ['/', t('keys.search')], ['n', t('new')], ['i', t('keys.write')], ['Esc', t('keys.close')],
    ...Object.entries(TABS).map(([key, name]) => [`g ${key}`, t('keys.tab', { tab: t(`tab.${name}`) })])];
  dialog(t('keys.title'), h('dl', { class: 'keys' }, rows.map(([key, what]) => h('div', {}, h('dt', {}, key.split(' ').map((one) => h('kbd', {}, one))), h('dd', {}, what)))));
  return true;
}
