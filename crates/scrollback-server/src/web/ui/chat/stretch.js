// The stretch of a session that is in the page: messages in their order, without gaps, at most MOST of them.
// What leaves on one side is fetched again when it is needed. Everything under notes stands as one card,
// unless its originals are asked for; then the card follows the last of them.
import { get } from '../api.js';
import { h, put } from '../dom.js';

const COUNT = 50;
const MOST = 300;

/** Makes it for a list; `draw` is { message(message), fold() }; `keep(change)` makes a change and holds the scroll position. */
export function makeStretch(place, list, draw, keep) {
  const state = { items: [], start: false, end: false, folded: null, isOpen: false, isLoaded: false };
  let card = null;
  let age = 0;
  let loading = null;

  const fetchPage = (query) => get(place.api('messages'), { branch: place.branch, count: COUNT, render: 'html', ...query });
  const foldItem = () => ({ id: 'fold', isFold: true, node: card ??= h('li', { class: 'fold-item' }, draw.fold()) });
  const item = (message) => ({ id: message.id, message, node: h('li', { id: message.id, class: message.folded ? 'message-item under' : 'message-item' }, draw.message(message)) });
  const has = (id) => state.items.some((one) => one.id === id);

  function itemsOf(page) {
    const items = [];
    for (const message of page.messages) {
      if (!message.folded || state.isOpen) items.push(item(message));
      if (message.folded && (state.isOpen ? message.id === state.folded?.[1] : !items.at(-1)?.isFold)) items.push(foldItem());
    }
    return items;
  }

  // Two answers may overlap, and one may come after everything was fetched anew, or after the edge it belongs to has left:
  // none of them may do harm.
  async function extend(edge, query, put) {
    const mine = age;
    const page = await fetchPage(query);
    if (mine !== age) return loading;
    if (edge && !has(edge.id)) return null;
    const items = itemsOf(page).filter((one) => !has(one.id));
    keep(() => put(page, items));
    return null;
  }

  // Who asks for everything anew while it is being fetched waits for the last who asked.
  async function fetchAnew(at, opens) {
    const mine = age += 1;
    const page = await fetchPage(at ? { around: at } : {});
    if (mine !== age) return loading;
    if (!page.folded || String(page.folded) !== String(state.folded)) card = null;
    const isUnder = page.messages.find((message) => message.id === at)?.folded;
    state.isOpen = Boolean(page.folded) && (state.isOpen || Boolean(opens && isUnder));
    Object.assign(state, { folded: page.folded, start: page.start, end: page.end, isLoaded: true });
    state.items = itemsOf(page);
    put(list, state.items.map((one) => one.node));
    return null;
  }

  const loaded = () => loading?.catch(() => {});

  const dropLast = () => {
    state.items.pop().node.remove();
    state.end = false;
  };
  const dropFirst = () => {
    state.items.shift().node.remove();
    state.start = false;
  };

  return {
    state, has,
    nodeOf: (id) => state.items.find((one) => one.id === id)?.node ?? null,
    card: () => card,
    /** Fetches the newest messages, or those around one; opens the fold if that one is in it and `opens` says so. */
    load(at, opens) {
      loading = fetchAnew(at, opens);
      return loading;
    },
    /** Fetches what is before the first. */
    async older() {
      await loaded();
      const first = state.items[0];
      if (first) await extend(first, { before: first.isFold ? state.folded[0] : first.id }, (page, items) => {
        state.start = page.start || !page.messages.length;
        state.items.unshift(...items);
        list.prepend(...items.map((one) => one.node));
        while (state.items.length > MOST) dropLast();
      });
    },
    /** Fetches what is after the last. */
    async newer() {
      await loaded();
      const last = state.items.at(-1);
      await extend(last, last ? { after: last.isFold ? state.folded[1] : last.id } : {}, (page, items) => {
        state.end = page.end || !page.messages.length;
        state.items.push(...items);
        list.append(...items.map((one) => one.node));
        while (state.items.length > MOST || (state.isOpen && state.items[0]?.isFold)) dropFirst();
      });
    },
    /** Takes away the card and what is before it, so that the originals can be paged in. False if nothing is after it. */
    cutBeforeCard() {
      const at = state.items.findIndex((one) => one.isFold);
      if (at < 0 || at === state.items.length - 1) return false;
      for (const one of state.items.splice(0, at + 1)) one.node.remove();
      state.start = false;
      return true;
    },
    forget() {
      age += 1;
      loading = null;
    },
  };
}
