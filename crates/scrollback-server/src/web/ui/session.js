// The head of a session: its title, how long it is, strategy, branch, fold and export, and the tabs.
import { h, put, putAgain } from './dom.js';
import { icon } from './icons.js';
import { get } from './api.js';
import { apart, moment } from './format.js';
import { t } from './i18n.js';
import { menuButton } from './menu.js';
import { nowhere, trouble } from './notice.js';
import { erase, fold, leaveErased, save, setStrategy } from './actions.js';
import { screenHref } from './route.js';
import { tabs } from './screens/index.js';

/** Builds it: { node, show(place, screen) }. It stays while one goes from tab to tab, so that nobody loses their place in it. */
export function sessionHead() {
  const title = h('h1', { class: 'session-name', dir: 'auto' }, '\u00a0');
  const facts = h('p', { class: 'session-facts' }, '\u00a0');
  const [branch, strategy] = [slot(), slot()];
  const wrong = h('div', {});
  const here = { place: null, screen: null };
  const search = h('a', { class: 'icon-button', title: t('search.here'), 'aria-label': t('search.here') }, icon('search'));
  const tools = h('div', { class: 'session-tools', hidden: true }, branch.node, strategy.node, h('div', { class: 'button-group' }, search, foldButtons(here), exportMenu(here), eraseButton(here)));
  const top = h('div', { class: 'session-top' }, h('div', { class: 'session-titles' }, title, facts), tools);
  const bar = tabBar();
  const node = h('header', { class: 'session-head' }, top, wrong, bar.node);

  function draw(about) {
    put(wrong);
    top.hidden = bar.node.hidden = false;
    document.title = `${apart(about.title || t('untitled'))} · ${t('name')}`;
    put(title, about.title || t('untitled'));
    title.title = about.title ?? '';
    put(facts, h('span', {}, t('messages', { n: about.messages })), h('span', {}, moment(about.last)), about.declared ? h('code', {}, about.declared) : null);
    search.href = screenHref('search', { session: about.id });
    tools.hidden = false;
    branch.draw([about.branches, about.branch], () => branchPicker(here, about));
    strategy.draw([about.strategy, about.layout], () => strategyPicker(here, about));
  }

  function show(place, screen) {
    Object.assign(here, { place, screen });
    bar.mark(place, screen);
    const isHere = () => here.place === place;
    place.onAbout((about) => { if (isHere()) draw(about); });
    place.live((event) => {
      if (!isHere()) return;
      if (event.name === 'erased') leaveErased(place);
      if (event.name === 'controls') place.changed().catch(() => {});
    });
    place.about.catch((error) => { if (isHere()) lost(error); });
  }

  // Of a session that is not there, nothing can be opened.
  function lost(error) {
    const isNowhere = error.status === 404;
    top.hidden = bar.node.hidden = isNowhere;
    if (isNowhere) document.title = t('name');
    put(wrong, isNowhere ? nowhere(t('session.nowhere'), h('p', {}, t('session.nowhere.why')), h('p', {}, h('a', { class: 'button', href: '#/' }, t('home'))))
      : trouble(error, () => dispatchEvent(new HashChangeEvent('hashchange'))));
  }
  return { node, show };
}

// A live event fetches the session again; what it has not changed is left alone.
function slot() {
  const node = h('div', {});
  let drawn = null;
  const draw = (state, make) => {
    const now = JSON.stringify(state);
    if (now === drawn) return;
    drawn = now;
    putAgain(node, make());
  };
  return { node, draw };
}

function tabBar() {
  const links = new Map(tabs.map((name) => [name, h('a', {}, t(`tab.${name}`))]));
  const node = h('nav', { class: 'tabs', 'aria-label': t('tabs') }, h('ul', {}, [...links.values()].map((link) => h('li', {}, link))));
  const mark = (place, screen) => {
    for (const [name, link] of links) {
      link.href = place.href(name);
      if (name === screen) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    requestAnimationFrame(() => {
      const here = links.get(screen);
      if (here && node.scrollWidth > node.clientWidth) node.scrollLeft = here.offsetLeft - 24;
    });
  };
  return { node, mark };
}

function branchPicker(here, about) {
  if (about.branches.length < 2) return null;
  const choose = (event) => here.place.go(here.place.href(here.screen, { branch: event.target.value }));
  return h('label', { class: 'picker' }, icon('branch'), h('span', { class: 'hidden' }, t('branch')),
    h('select', { class: 'select', title: t('branch'), on: { change: choose } }, about.branches.map((branch) =>
      h('option', { value: branch.id, selected: branch.id === about.branch }, branchName(branch)))));
}

/** What a branch is called: its number, where it leaves, how long it is. */
export function branchName(branch) {
  const place = branch.fork ? t('branch.leaves', { id: branch.id, fork: branch.fork }) : t('branch.first', { id: branch.id });
  return `${place} · ${t('messages', { n: branch.messages })}`;
}

function strategyPicker(here, about) {
  const select = h('select', { class: 'select', title: t('strategy'), on: { change } });
  const chosen = about.strategy ?? 'default';
  // What was refused is not shown as chosen.
  async function change() {
    if (!(await setStrategy(here.place, select.value))) select.value = chosen;
  }
  const usual = about.layout?.split('@')[0];
  const options = (names) => put(select, h('option', { value: 'default', selected: chosen === 'default' }, chosen === 'default' ? t('strategy.usual', { name: usual }) : t('strategy.default')),
    names.map((name) => h('option', { value: name, selected: chosen === name }, name)));
  options(chosen === 'default' ? [] : [chosen]);
  get('/api/settings').then((settings) => options(settings.strategies.map((strategy) => strategy.name)), () => {});
  return h('label', { class: 'picker' }, h('span', { class: 'picker-name' }, t('strategy')), select);
}

function foldButtons(here) {
  const one = (what, name) => h('button', { class: 'icon-button', type: 'button', title: t(`${what}.hint`), 'aria-label': t(what), on: { click: () => fold(here.place, what) } }, icon(name));
  return h('div', { class: 'button-group', role: 'group', 'aria-label': t('fold') }, one('compress', 'fold'), one('undo', 'undo'), one('redo', 'redo'));
}

const eraseButton = (here) => h('button', { class: 'icon-button', type: 'button', title: t('erase.hint'), 'aria-label': t('erase.hint'),
  on: { click: async () => erase(await here.place.about) } }, icon('erase'));

const exportMenu = (here) => menuButton(t('export'), 'export', () => ['jsonl', 'markdown', 'openai']
  .map((format) => ({ label: t(`export.${format}`), icon: 'export', act: () => save(here.place, format) })));
