// The left side: new chat, search, import, the sessions (newest first, paged), settings, theme, language.
import { h, put, putAgain } from './dom.js';
import { icon } from './icons.js';
import { get } from './api.js';
import { ago, number } from './format.js';
import { language, languages, setLanguage, t } from './i18n.js';
import { menuButton } from './menu.js';
import { nextTheme, setTheme, theme } from './theme.js';
import { listen } from './live.js';
import { afterPause } from './pace.js';
import { called, doubled } from './names.js';
import { go, screenHref, sessionHref } from './route.js';
import { trouble } from './notice.js';
import { isComposing, showKeys } from './keys.js';

const COUNT = 40;
const MOST = 500;

/** Builds it: { node, mark(route), leave() }; `shut` closes it where it is a drawer. */
export function sidebar(shut) {
  const list = h('ul', { class: 'sessions' });
  const foot = h('div', { class: 'sessions-foot' });
  const state = { words: '', next: null, route: {}, asked: 0, before: Promise.resolve(), list, foot };
  const themes = themeButton();
  const node = h('nav', { class: 'sidebar', id: 'sidebar', 'aria-label': t('sidebar') },
    h('div', { class: 'side-head' }, h('a', { class: 'brand', href: '#/' }, icon('fold'), t('name')),
      h('button', { class: 'icon-button side-shut', type: 'button', 'aria-label': t('close'), on: { click: shut } }, icon('close'))),
    h('div', { class: 'side-tools' }, searchField(state), h('div', { class: 'side-links' },
      sideLink('#/new', 'plus', t('new')), sideLink('#/import', 'import', t('import')))),
    h('h2', { class: 'side-title', id: 'sessions-title' }, t('sessions')),
    h('div', { class: 'side-scroll' }, list, foot),
    h('div', { class: 'side-foot' }, h('a', { class: 'side-link grow', href: '#/settings' }, icon('settings'), t('settings')),
      keysButton(), themes.node, languageButton()));
  list.setAttribute('aria-labelledby', 'sessions-title');
  load(state);
  const refresh = afterPause(() => load(state), 800);
  const deaf = listen((event) => { if (['turn', 'reply', 'import', 'erased', 'again'].includes(event.name)) refresh.ask(); });
  const leave = () => [deaf, refresh.cancel, themes.leave].forEach((end) => end());
  return { node, leave, mark: (route) => { state.route = route; mark(state, node); } };
}

const sideLink = (href, name, text) => h('a', { class: 'side-link', href }, icon(name), text);

function searchField(state) {
  const find = afterPause(() => { state.words = field.value.trim(); load(state, { isNew: true }); }, 200);
  const field = h('input', { class: 'field wide', id: 'search', type: 'search', dir: 'auto', placeholder: t('search.field'), 'aria-label': t('search.label'), autocomplete: 'off',
    on: {
      input: find.ask,
      keydown: (event) => {
        if (isComposing(event)) return;
        if (event.key === 'Enter' && field.value.trim()) go(screenHref('search', { words: field.value.trim() }));
        if (event.key === 'Escape') field.blur();
      },
    } });
  return h('div', { class: 'search-box' }, icon('search'), field, h('kbd', {}, '/'));
}

// Fetches as many rows as are shown, or the next ones after a cursor, when whoever asked before has theirs; other words begin anew at once.
function load(state, { cursor, isNew = false } = {}) {
  if (isNew) Object.assign(state, { asked: state.asked + 1, before: Promise.resolve() });
  const mine = state.asked;
  state.before = state.before.then(() => (mine === state.asked ? fill(state, mine, { cursor, isNew }) : null));
}

async function fill(state, mine, { cursor, isNew }) {
  const shown = cursor || isNew ? COUNT : Math.max(COUNT, state.list.childElementCount);
  try {
    const answer = await fetchRows(shown, cursor, state.words);
    if (mine !== state.asked) return;
    // Two clicks may ask for the same, and what is new moves all others on.
    const known = new Set(cursor ? [...state.list.querySelectorAll('[data-id]')].map((link) => link.dataset.id) : []);
    const rows = answer.sessions.filter((session) => !known.has(session.id)).map((session) => row(session, state));
    if (cursor) append(state, rows);
    else putAgain(state.list, rows);
    tellApart(state.list);
    putAgain(state.foot, foot(state, answer));
  } catch (error) {
    if (mine === state.asked) put(state.foot, trouble(error, () => load(state)));
  }
}

// The server tells so many at once and no more.
async function fetchRows(count, cursor, q) {
  const page = await get('/api/sessions', { count: Math.min(MOST, count), cursor, q });
  if (count <= MOST || !page.next) return page;
  const rest = await fetchRows(count - MOST, page.next, q);
  const known = new Set(page.sessions.map((session) => session.id));
  return { sessions: [...page.sessions, ...rest.sessions.filter((session) => !known.has(session.id))], next: rest.next };
}

// Whoever asked for more goes on with the first that came.
function append(state, rows) {
  state.list.append(...rows);
  if (state.foot.contains(document.activeElement)) rows[0]?.querySelector('a').focus({ preventScroll: true });
}

function foot(state, answer) {
  if (answer.next) return h('button', { class: 'button small wide', type: 'button', on: { click: () => load(state, { cursor: answer.next }) } }, t('more'));
  if (state.words) return h('a', { class: 'side-link', href: screenHref('search', { words: state.words }) }, icon('search'), t('search.inside', { words: state.words }));
  return state.list.childNodes.length ? null : h('p', { class: 'muted pad' }, t('sessions.none'));
}

function row(session, state) {
  const isHere = Boolean(state.route.session) && [session.id, session.declared].includes(state.route.session);
  return h('li', {}, h('a', { class: 'session-row', href: sessionHref(session.id), dataset: { id: session.id, declared: session.declared ?? '' }, 'aria-current': isHere ? 'page' : null },
    h('span', { class: 'session-title', dir: 'auto' }, session.title || t('untitled')),
    h('span', { class: 'session-more' }, h('span', {}, t('messages', { n: session.messages })), h('bdi', { class: 'session-called', hidden: true }, called(session)), session.branches > 1 ? h('span', {}, icon('branch'), number(session.branches)) : null,
      h('span', { class: 'push' }, ago(session.last)))));
}

// Of all that are shown by now, those that look alike say what they are called.
function tellApart(list) {
  const titles = [...list.querySelectorAll('.session-title')].map((node) => node.textContent);
  const alike = doubled(titles);
  [...list.querySelectorAll('.session-called')].forEach((node, at) => { node.hidden = !alike.has(titles[at]); });
}

function mark({ route }, node) {
  for (const link of node.querySelectorAll('a[href]')) {
    const isHere = link.dataset.id ? [link.dataset.id, link.dataset.declared].includes(route.session) && Boolean(route.session) : link.getAttribute('href') === `#/${route.screen}`;
    if (isHere) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

const keysButton = () => h('button', { class: 'icon-button', type: 'button', title: t('keys.title'), 'aria-label': t('keys.title'), on: { click: showKeys } }, icon('keyboard'));

function themeButton() {
  const names = { auto: 'auto', light: 'sun', dark: 'moon' };
  const button = h('button', { class: 'icon-button', type: 'button', on: { click: () => setTheme(nextTheme()) } });
  const draw = () => {
    const label = t('theme.is', { theme: t(`theme.${theme()}`) });
    button.title = label;
    button.setAttribute('aria-label', label);
    put(button, icon(names[theme()]));
  };
  draw();
  addEventListener('theme', draw);
  return { node: button, leave: () => removeEventListener('theme', draw) };
}

const languageButton = () => menuButton(t('language'), 'language', () => Object.entries(languages)
  .map(([name, label]) => ({ label, checked: name === language(), act: () => setLanguage(name) })));
