// A list beside what is chosen from it; on narrow screens one at a time, with a way back to the list.
import { h, put } from './dom.js';
import { icon } from './icons.js';
import { t } from './i18n.js';
import { afterPause } from './pace.js';

const PAUSE = 700;
const NEWS = ['turn', 'fold', 'topics', 'again'];

/** Builds it: { node, detail(name, …children), isChosen() }; `back` is called when the list is wanted again. */
export function split(list, label, back) {
  const body = h('div', { class: 'split-body' });
  const detail = h('section', { class: 'split-detail', 'aria-label': label, tabindex: '-1' },
    h('button', { class: 'button small split-back', type: 'button', on: { click: () => { node.classList.remove('chosen'); back(); } } }, icon('undo'), t('records.back')), body);
  const node = h('div', { class: 'split' }, h('div', { class: 'split-list' }, list), detail);
  return {
    node,
    show(...children) {
      put(body, children);
      node.classList.add('chosen');
      detail.scrollTop = 0;
    },
    say(...children) {
      put(body, children);
    },
  };
}

/** Writes what is chosen into the address, as a step one can go back from. */
export function remember(href) {
  if (href !== location.hash) history.pushState(null, '', href);
}

/** A link to a message in the chat. */
export const messageLink = (place, id) => h('a', { class: 'chip source', href: place.href('chat', { at: id }), title: t('records.open', { id }) }, id);

/** Links to messages, the first of them at once. */
export function messageLinks(place, ids, most = 12) {
  const node = h('span', { class: 'sources' }, ids.slice(0, most).map((id) => messageLink(place, id)));
  const rest = ids.slice(most);
  if (!rest.length) return node;
  const more = h('button', { class: 'button small plain', type: 'button', on: { click: () => more.replaceWith(...rest.map((id) => messageLink(place, id))) } }, t('records.more', { n: rest.length }));
  node.append(more);
  return node;
}

/** What stands where a session's strategy makes no such thing: why, and a button that changes it. */
export function otherStrategy(title, text, label, act) {
  return h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title), h('p', {}, text), act ? h('button', { class: 'button primary', type: 'button', on: { click: act } }, label) : null);
}

/** Says that there is nothing yet, and shows what there is once something has come: `nothing(about)`, `fetch()`, `show(found)`. */
export function untilThere(root, place, { nothing, fetch, show }) {
  let isThere = false;
  let layout = null;
  const later = afterPause(async () => {
    const found = await fetch().catch(() => []);
    if (isThere || !found.length || !root.isConnected) return;
    isThere = true;
    await show(found);
  }, PAUSE);
  place.onLeave(later.cancel);
  place.onAbout((about) => {
    if (isThere) return;
    put(root, nothing(about));
    if (layout && layout !== about.layout) later.ask();
    layout = about.layout;
  });
  place.live((event) => { if (!isThere && NEWS.includes(event.name)) later.ask(); });
}
