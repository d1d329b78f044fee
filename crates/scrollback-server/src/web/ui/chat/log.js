// The log of a session, to scroll through: pages come in near the edges, and what a reader sees stays in its place.
import { clear, h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';
import { followEnd, keepPlace } from './scroll.js';
import { makeStretch } from './stretch.js';

const NEAR = 900;

/** Makes it; `draw` is { message(message), fold() }, which give nodes. */
export function makeLog(place, draw) {
  const head = h('div', { class: 'log-head' });
  const list = h('ol', { class: 'messages' });
  const tail = h('div', { class: 'log-tail' });
  const jump = h('button', { class: 'button jump', type: 'button', hidden: true, on: { click: () => log.toEnd() } }, icon('down'), t('chat.newest'));
  const node = h('div', { class: 'log', role: 'region', tabindex: '0', 'aria-label': t('chat.log') }, head, list, tail);
  const stretch = makeStretch(place, list, draw, (change) => keepPlace(node, list, change));
  const { state } = stretch;
  let isBusy = false;

  const rest = () => node.scrollHeight - node.scrollTop - node.clientHeight;
  const isAtEnd = (slack = 60) => state.end && rest() < slack;
  const end = followEnd(node, [list, tail], () => !place.session || isAtEnd(40));

  function drawHead(error) {
    if (error) put(head, trouble(error, () => { drawHead(); check(); }));
    else if (isBusy) put(head, waiting());
    else put(head, state.start && state.items.length ? h('p', { class: 'log-start' }, t('chat.start')) : null);
  }

  // Fetches what is near the edges of what is seen, one page at a time, until there is enough.
  async function check() {
    jump.hidden = !state.isLoaded || isAtEnd(400);
    if (isBusy || !state.items.length) return;
    const wantsOlder = !state.start && node.scrollTop < NEAR;
    if (!wantsOlder && (state.end || rest() > NEAR)) return;
    isBusy = true;
    let wrong;
    await (wantsOlder ? stretch.older() : stretch.newer()).catch((error) => { wrong = error; });
    isBusy = false;
    drawHead(wrong);
    if (!wrong && node.isConnected) check();
  }

  function show(at) {
    const found = stretch.nodeOf(at) ?? stretch.card();
    end.release();
    found?.scrollIntoView({ block: 'center' });
    return found;
  }

  const log = {
    node: h('div', { class: 'log-box' }, node, jump),
    folded: () => state.folded,
    isLoaded: () => state.isLoaded,
    isOpen: () => state.isOpen,
    has: stretch.has,
    /** The newest message in the list. */
    last: () => state.items.findLast((one) => one.message)?.message ?? null,
    /** Shows the newest messages, or those around a message, which is marked. */
    async load(at) {
      await stretch.load(at, true);
      drawHead();
      if (at) show(at)?.classList.add('found');
      else end.stick();
      check();
    },
    /** Where the reader is: the first message in sight and how far down it is, or neither at the end. */
    spot() {
      if (end.follows()) return { message: null };
      const top = node.getBoundingClientRect().top;
      const first = state.items.find((one) => one.message && one.node.getBoundingClientRect().bottom > top + 1);
      return { message: first?.id ?? null, below: first ? first.node.getBoundingClientRect().top - top : 0 };
    },
    /** Goes back to where a reader was. */
    async goBack({ message, below }) {
      if (!message) return log.load();
      await stretch.load(message, true);
      drawHead();
      const found = show(message);
      if (found) node.scrollTop += found.getBoundingClientRect().top - node.getBoundingClientRect().top - below;
      return check();
    },
    /** Fetches what is loaded again, for instance after a fold, and stays where the reader is. */
    async reload() {
      const seen = log.spot().message ?? undefined;
      await stretch.load(seen, false);
      drawHead();
      if (seen) show(seen);
      else end.stick();
      check();
    },
    /** Fetches what has been said since, if the end is in the list. */
    async catchUp() {
      if (state.end || !state.items.length) await stretch.newer().catch(drawHead);
      check();
    },
    /** Shows the originals of what is under notes in their place, or the card alone. */
    async setOpen(isOpen) {
      end.release();
      state.isOpen = isOpen;
      const card = stretch.card();
      const before = card.getBoundingClientRect().top;
      if (isOpen && stretch.cutBeforeCard()) await stretch.older().catch(drawHead);
      else await stretch.load(isOpen ? state.folded[1] : undefined, false).catch((error) => {
        state.isOpen = !isOpen;
        throw error;
      });
      node.scrollTop += card.getBoundingClientRect().top - before;
      drawHead();
      check();
    },
    /** Puts something under the messages: a turn that is under way, or words where nothing is yet. */
    say(child) {
      tail.append(child);
      end.stick();
    },
    clearTail: () => clear(tail),
    /** Goes to the newest message. */
    async toEnd() {
      if (place.session && !state.end) await log.load();
      end.stick();
    },
    leave() {
      stretch.forget();
      end.leave();
    },
  };

  node.addEventListener('scroll', () => requestAnimationFrame(check), { passive: true });
  return log;
}
