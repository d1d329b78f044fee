// A turn that is under way: the question, what is recalled, the words as they come, and at the end what it took.
// It goes on when its chat is left, and is found again where it belongs.
import { stream } from '../api.js';
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { trouble } from '../notice.js';
import { toast } from '../toast.js';
import { go, replaceAddress, sessionHref } from '../route.js';
import { moveDraft } from './drafts.js';
import { liveThinking } from './parts.js';
import { liveText } from './livetext.js';
import { statusLine } from './status.js';

// Those whose end nobody has seen yet: { seen, draft, control, session, branch, chat, isOver }.
const turns = new Set();
const isSeen = (turn) => turn.chat.log.node.isConnected;

/** Makes what runs turns in a chat: { run(said, draft), takeUp(), tidy(), stop(), isRunning() }. */
export function makeTurn(chat) {
  const voice = chat.log.node.appendChild(h('p', { class: 'hidden', 'aria-live': 'polite' }));
  const { place, log, composer } = chat;
  let shown = null;

  function show(turn) {
    shown = Object.assign(turn, { chat, voice });
    composer.setRunning(true);
    put(composer.status);
    voice.textContent = t('answering');
    log.clearTail();
    log.say(turn.seen.node);
    forgetQuestion(turn);
  }

  /** Says something; `draft` is what goes back to the field if nobody takes it. */
  async function run(said, draft) {
    const turn = { seen: view(said), draft, control: new AbortController(), session: place.id, branch: null, isOver: false };
    turns.add(turn);
    show(turn);
    await Promise.allSettled([log.toEnd(), place.about]);
    Object.assign(turn, { session: place.id, branch: numbered(place.branch) });
    const body = { session: place.session, branch: turn.branch, stream: true, ...said };
    try {
      await stream('/api/chat', { method: 'POST', body, signal: turn.control.signal }, (event) => hear(turn, event));
    } catch (error) {
      if (error.name === 'AbortError') turn.seen.tell(h('p', { class: 'muted' }, turn.session ? t('stopped') : t('stopped.new')));
      else turn.seen.fail(error);
      if (error.session && !turn.session) settleDown(turn, { session: error.session, branch: 0 });
    }
    turn.isOver = true;
    await end(turn);
  }

  /** Shows the turn that is under way here, or that ended while nobody looked. */
  async function takeUp() {
    const here = numbered(place.branch);
    const turn = [...turns].find((one) => one.session === place.id && (one.branch ?? here) === here);
    if (!turn) return;
    if (turn.isMoved) composer.focus();
    turn.isMoved = false;
    show(turn);
    if (turn.isOver) await end(turn);
  }

  return { run, takeUp, tidy: () => shown && tidy(shown), stop: () => shown?.control.abort(), isRunning: () => Boolean(shown && !shown.isOver) };
}

const numbered = (branch) => (branch === null ? null : Number(branch));

function hear(turn, event) {
  turn.seen.take(event);
  // A question that was asked before has its new answer on a branch that begins with it.
  if (event.name === 'turn' || (event.name === 'done' && event.data.message)) settleDown(turn, event.data);
}

// Where a turn belongs is known when it has begun: a new chat is a session now, words said anew make a branch. Who looks on goes along.
function settleDown(turn, { session, branch }) {
  const isNew = !turn.session;
  const before = turn.branch;
  const isMoved = isNew || before !== branch;
  if (isNew) moveDraft(null, session);
  Object.assign(turn, { session, branch });
  forgetQuestion(turn);
  if (!isMoved || !isSeen(turn)) return;
  turn.isMoved = true;
  // An address without a branch means the newest, which is another one now: whoever goes back finds what they left.
  if (!isNew) replaceAddress(turn.chat.place.href('chat', { branch: before }));
  go(sessionHref(session, 'chat', { branch: isNew ? null : branch }), { quietly: isNew });
}

// The nodes of a turn, and what each event does to them.
function view(said) {
  const events = h('ul', { class: 'turn-events' });
  const thoughts = liveThinking();
  const thinking = h('div', {});
  const words = liveText();
  const spinner = h('p', { class: 'waiting' }, h('span', { class: 'spinner' }), t('answering'));
  const node = h('div', { class: 'turn' },
    h('article', { class: 'message role-user' }, h('header', { class: 'message-head' }, h('span', { class: 'role' }, t('role.user'))), h('div', { class: 'message-body markdown' }, h('p', { class: 'plain', dir: 'auto' }, said.message))),
    h('article', { class: 'message role-assistant', 'aria-busy': 'true' }, h('header', { class: 'message-head' }, h('span', { class: 'role' }, t('role.assistant'))), events, thinking, words.node, spinner));
  const line = (name, text) => events.append(h('li', {}, icon(name), text));
  const seen = { node, words, said: said.message, turn: null, done: null, error: null, told: [] };
  const acts = {
    turn(data) {
      seen.turn = data;
      if (data.folded) line('fold', t('turn.folded', { from: data.covers?.[0] ?? '', to: data.covers?.[1] ?? '' }));
    },
    recall: (data) => line('recall', h('code', {}, data.asked)),
    thinking(data) {
      thoughts.add(data.text);
      if (!thoughts.node.isConnected) thinking.append(thoughts.node);
    },
    text(data) {
      spinner.remove();
      words.add(data.text);
    },
    done: (data) => { seen.done = data; },
    error: (data) => { seen.fail(data); },
  };
  seen.take = ({ name, data }) => acts[name]?.(data);
  seen.tell = (told) => {
    seen.told.push(told);
    node.append(told);
  };
  seen.fail = (error) => { seen.error = error; };
  return seen;
}

// Where nobody looks it waits, and its end is told to whoever comes back.
async function end(turn) {
  if (!isSeen(turn)) return;
  const { seen, chat } = turn;
  turns.delete(turn);
  chat.composer.setRunning(false);
  seen.words.end();
  seen.node.querySelector('.waiting')?.remove();
  turn.voice.textContent = seen.error ? '' : seen.words.text().slice(0, 600);
  if (seen.error) seen.tell(trouble(seen.error));
  if (!seen.turn && !seen.done) chat.composer.giveBack(turn.draft);
  if (chat.place.session) await settle(turn);
}

// Who was refused is not told which message theirs is: it is the last, if that is what they said, perhaps cut.
function questionOf({ seen, chat: { log } }) {
  const last = log.last();
  const part = last?.role === 'user' ? last.parts[0] : null;
  const isTheirs = part?.cut ? seen.said.startsWith(part.text) : part?.text === seen.said;
  return seen.turn?.question ?? (part && isTheirs ? last.id : undefined);
}

// A question that is in the log by now is not told twice.
function forgetQuestion(turn) {
  const { seen, chat } = turn;
  if (chat.log.has(questionOf(turn))) seen.node.querySelector('.role-user')?.remove();
}

// What is kept by now needs no second place; why it ends there is told until the next turn, and so are words that nobody kept.
function tidy(turn) {
  const { seen, chat: { log } } = turn;
  const question = questionOf(turn);
  const isAnswered = seen.done ? log.has(seen.done.message) : log.has(question) && log.last().id !== question;
  if (turn.isOver && isAnswered) seen.node.replaceWith(...seen.told);
  else forgetQuestion(turn);
}

// The words on the way are replaced by the messages as they are kept; until those are there, they stay.
async function settle(turn) {
  const { seen, chat } = turn;
  if (seen.turn?.folded || seen.done?.folded) await chat.log.reload().catch(() => {});
  else await chat.log.catchUp();
  tidy(turn);
  chat.turn.tidy();
  const view = await chat.panel.refresh();
  if (seen.done && !chat.turn.isRunning()) put(chat.composer.status, statusLine(seen.done, view, seen.turn));
  for (const words of seen.done?.notices ?? []) toast(words);
  await chat.place.changed().catch(() => {});
}
