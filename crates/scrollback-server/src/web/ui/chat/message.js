// One message: who, when, how much, what can be done with it, and its parts.
import { copy } from '../actions.js';
import { h, put, replaceAgain } from '../dom.js';
import { ago, moment, time, tokens } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { copyMessage, messageMenu } from './deeds.js';
import { menuButton } from '../menu.js';
import { drawPart } from './parts.js';
import { speakerOf } from './speaker.js';

const ROLES = ['user', 'assistant', 'tool', 'system', 'developer'];

const drawn = new WeakMap();

/** The node of a message. */
export function drawMessage(message, chat) {
  const extra = h('div', { class: 'message-extra' });
  const speaker = speakerOf(message);
  const look = `message role-${ROLES.includes(speaker) ? speaker : 'other'}${message.excluded ? ' excluded' : ''}`;
  const node = h('article', { class: look, 'aria-label': `${roleName(speaker)} ${message.id}` },
    messageHead(message, chat, extra),
    h('div', { class: 'message-body' }, message.parts.map((part) => drawPart(part, message, chat))),
    extra, leaving(message, chat));
  drawn.set(node, message);
  return node;
}

/** Draws anew, wherever they stand under a node, the messages whose pin or exclusion has changed. */
export function drawMarks(root, { pinned, excluded }, chat) {
  for (const node of root.querySelectorAll('article.message')) {
    const message = drawn.get(node);
    if (!message) continue;
    const now = { pinned: pinned.includes(message.id), excluded: excluded.includes(message.id) };
    if (now.pinned !== message.pinned || now.excluded !== message.excluded) replaceAgain(node, drawMessage({ ...message, ...now }, chat));
  }
}

/** What a role is called. */
export const roleName = (role) => (ROLES.includes(role) ? t(`role.${role}`) : role);

function messageHead(message, chat, extra) {
  return h('header', { class: 'message-head' },
    h('span', { class: 'role' }, roleName(speakerOf(message))),
    h('button', { class: 'id id-button', type: 'button', title: t('copy.id'), 'aria-label': t('copy.id.of', { id: message.id }), on: { click: () => copy(message.id) } }, message.id),
    h('time', { datetime: message.at, title: moment(message.at) }, when(message.at)),
    h('span', {}, tokens(message.tokens)),
    badge(message.pinned, 'pin', t('pinned'), 'accent'), badge(message.excluded, 'hide', t('excluded')),
    message.origin === 'erased' ? h('span', { class: 'chip bad' }, t('erased')) : null,
    tools(message, chat, extra));
}

function when(at) {
  const short = ago(at);
  const clock = time(at);
  return short === clock ? clock : `${short}, ${clock}`;
}

const badge = (isSo, name, words, look = '') => (isSo ? h('span', { class: `chip ${look}` }, icon(name), words) : null);

function tools(message, chat, extra) {
  const quick = (name, words, act, pressed) => h('button', { class: 'icon-button small', type: 'button', title: words, 'aria-label': `${words} (${message.id})`, 'aria-pressed': pressed === undefined ? null : String(pressed), on: { click: act } }, icon(name));
  return h('div', { class: 'message-tools' },
    h('span', { class: 'quick' },
      quick('pin', t(message.pinned ? 'unpin' : 'pin'), () => chat.setPinned(message.id, !message.pinned), message.pinned),
      quick('copy', t('copy'), () => copyMessage(message, chat))),
    menuButton(t('message.menu', { id: message.id }), 'more', () => messageMenu(message, chat, extra), { look: 'icon-button small' }));
}

function leaving(message, chat) {
  if (!message.branches?.length) return null;
  const node = h('p', { class: 'leaving' });
  const link = (branch) => h('a', { class: 'chip', href: chat.place.href('chat', { branch }) }, icon('branch'), t('branch.here', { branch }));
  const here = () => h('span', { class: 'chip' }, icon('branch'), t('branch.this'));
  chat.place.about.then((about) => put(node, message.branches.map((branch) => (branch === about.branch ? here() : link(branch)))), () => {});
  return node;
}
