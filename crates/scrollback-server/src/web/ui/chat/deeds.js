// What can be done with a message: pin, leave out, ask why it is shown, branch, say it anew, copy, see its JSON.
import { copy, tell } from '../actions.js';
import { get } from '../api.js';
import { dialog } from '../dialog.js';
import { h, put, replaceAgain } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { speakerOf } from './speaker.js';
import { standingWhy, standingWord } from './standing.js';

/** The entries of a message's menu; `extra` is the place under it for what they tell. */
export function messageMenu(message, chat, extra) {
  const { id } = message;
  return [
    { label: t(message.pinned ? 'unpin' : 'pin'), icon: 'pin', act: () => chat.setPinned(id, !message.pinned) },
    { label: t(message.excluded ? 'include' : 'exclude'), icon: 'hide', act: () => chat.setExcluded(id, !message.excluded) },
    { label: t('why'), icon: 'why', act: () => showWhy(message, chat, extra) },
    chat.composer ? { label: t('branch.from'), icon: 'branch', act: () => chat.composer.answerAfter(id) } : null,
    chat.composer && speakerOf(message) === 'user' ? { label: t('edit.resend'), icon: 'edit', act: () => sayAnew(message, chat) } : null,
    { label: t('copy'), icon: 'copy', act: () => copyMessage(message, chat) },
    { label: t('raw'), icon: 'code', act: () => showRaw(message, chat) },
  ];
}

// The words of a message, without its form.
function plainText(message) {
  return message.parts.map((part) => part.text ?? part.arguments ?? part.json ?? part.name ?? '').filter(Boolean).join('\n\n');
}

const whole = (message, chat) => tell(() => get(chat.place.api(`messages/${message.id}`), { branch: chat.place.branch, render: 'html' }));

// Lists cut long texts: who takes the words elsewhere takes all of them.
const uncut = (message, chat) => (message.parts.some((part) => part.cut) ? whole(message, chat) : message);

/** Copies the words of a message. */
export async function copyMessage(message, chat) {
  const all = await uncut(message, chat);
  if (all) await copy(plainText(all));
}

/** Fetches a message that was cut in the list, and draws it whole. */
export async function showWhole(message, chat, button) {
  const answer = await whole(message, chat);
  if (answer) replaceAgain(button.closest('article'), chat.draw(answer));
}

async function showWhy(message, chat, extra) {
  const answer = await whole(message, chat);
  if (!answer) return;
  const shut = h('button', { class: 'icon-button small', type: 'button', 'aria-label': t('close'), on: { click: () => put(extra) } }, icon('close'));
  put(extra, h('div', { class: 'notice', role: 'status' }, icon('why'), h('span', { class: 'grow' }, h('strong', {}, standingWord(answer.standing.word)), ' · ', standingWhy(answer.standing, answer.tokens)), shut));
}

async function showRaw(message, chat) {
  const answer = await whole(message, chat);
  if (!answer) return;
  const pre = h('pre', { class: 'raw', tabindex: '0' }, h('code', {}, pretty(answer.raw)));
  dialog(t('raw.of', { id: message.id }), pre, [{ label: t('raw.copy'), act: () => { copy(answer.raw); return false; } }, { label: t('close'), primary: true }], { wide: true });
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// An edited message goes where the old one stands: after the one before it, as a branch.
async function sayAnew(message, chat) {
  const before = await tell(() => get(chat.place.api('messages'), { branch: chat.place.branch, before: message.id, count: 1 }));
  const all = before && await uncut(message, chat);
  if (!all) return;
  const text = all.parts.filter((part) => part.kind === 'text').map((part) => part.text).join('\n\n');
  chat.composer.answerAfter(before.messages.at(-1)?.id ?? 'start', { text, instead: message.id, without: wordless(all) });
}

// What a message has beside its words, which alone can be sent from here: { image: 2, file: 1 }, or null.
function wordless(message) {
  const kinds = {};
  for (const { kind } of message.parts) {
    const name = ['image', 'file'].includes(kind) ? kind : 'other';
    if (kind !== 'text') kinds[name] = (kinds[name] ?? 0) + 1;
  }
  return Object.keys(kinds).length ? kinds : null;
}

