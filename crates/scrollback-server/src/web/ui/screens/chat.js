// The chat: the log of a session, what the model answers as it comes, and the field to write in.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { t } from '../i18n.js';
import { makeComposer } from '../chat/composer.js';
import { makeLog } from '../chat/log.js';
import { makePanel } from '../chat/panel.js';
import { makeTurn } from '../chat/turn.js';
import { drawMarks, drawMessage } from '../chat/message.js';
import { makeFoldCard } from '../chat/fold.js';
import { setExcluded, setPinned } from '../actions.js';

export async function show(root, place) {
  root.classList.add('screen-chat');
  const chat = { place, draw: (message) => drawMessage(message, chat) };
  chat.log = makeLog(place, { message: chat.draw, fold: () => makeFoldCard(chat) });
  chat.panel = makePanel(place);
  chat.composer = makeComposer(chat);
  chat.turn = makeTurn(chat);
  chat.setPinned = async (id, isPinned) => mark(chat, await setPinned(place, id, isPinned));
  chat.setExcluded = async (id, isExcluded) => mark(chat, await setExcluded(place, id, isExcluded));
  put(root, h('section', { class: 'chat', 'aria-label': t('tab.chat') }, chat.log.node, chat.composer.node), chat.panel.node);
  chat.composer.takeUp();
  if (!place.session) return begin(chat);
  place.live((event) => hear(chat, event));
  place.onLeave(() => chat.log.leave());
  // The branch and what the session is called are known from here on.
  await place.about;
  chat.composer.takeUp();
  if (!(await loadLog(chat))) return;
  place.onAbout((about) => refold(chat, about.folded));
  await Promise.all([chat.panel.refresh(), chat.turn.takeUp()]);
}

// Whoever is led to a message that is on another branch goes there; false if so.
async function loadLog({ place, log }) {
  const { at } = place.query;
  place.ownSpot = log.spot;
  try {
    if (!place.spot || !(await log.goBack(place.spot).then(() => true, () => false))) await log.load(at);
  } catch (error) {
    const isElsewhere = at && error.status === 404;
    const { branch } = isElsewhere ? await get(place.api(`messages/${encodeURIComponent(at)}`)) : {};
    if ((branch ?? null) === null || branch === Number(place.branch)) throw error;
    if (log.node.isConnected) place.go(place.href('chat', { branch, at }), { quietly: true });
    return false;
  }
  return true;
}

function begin(chat) {
  chat.log.say(h('div', { class: 'chat-begin' }, h('h1', {}, t('new')), h('p', { class: 'muted' }, t('new.text'))));
  chat.composer.focus();
  return chat.turn.takeUp();
}

function mark(chat, answer) {
  if (answer) drawMarks(chat.log.node, answer, chat);
}

// Our own turn tells its story itself; what others do is fetched when it is told.
function hear(chat, event) {
  if (event.name === 'fold' && !refold(chat, event.data.covers)) chat.redrawNotes?.();
  if (event.name === 'controls' || event.name === 'again') remark(chat).catch(() => {});
  if (chat.turn.isRunning()) return;
  if (event.name === 'reply' || event.name === 'turn' || event.name === 'again') {
    // What was stopped is kept a moment later.
    chat.log.catchUp().then(chat.turn.tidy);
    chat.panel.refresh();
    chat.place.changed().catch(() => {});
  }
  if (event.name === 'turn' && event.data.folded) refold(chat, event.data.covers);
}

// Others pin and leave out messages, too.
async function remark(chat) {
  const { pinned, excluded } = await get(chat.place.api('controls'), { branch: chat.place.branch });
  const ids = (lines) => lines.map((line) => line.message);
  mark(chat, { pinned: ids(pinned), excluded: ids(excluded) });
}

// Fetches the log anew where another stretch of it is folded now; false if it is the same one.
function refold(chat, covers) {
  if (!chat.log.isLoaded() || chat.folding === String(covers) || String(covers ?? '') === String(chat.log.folded() ?? '')) return false;
  chat.folding = String(covers);
  chat.log.reload().catch(() => {}).finally(() => { chat.folding = undefined; });
  chat.panel.refresh();
  return true;
}
