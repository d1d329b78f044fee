// The messages of a topic, word for word, some at a time, each with its way into the chat.
import { get } from '../api.js';
import { drawPart } from '../chat/parts.js';
import { roleName } from '../chat/message.js';
import { h, put } from '../dom.js';
import { moment, tokens } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';

const COUNT = 10;

/** The section of them; they are fetched as they are asked for. */
export function topicMessages(topic, place) {
  const list = h('div', { class: 'said-list' });
  const foot = h('div', {});
  let at = 0;

  async function more() {
    put(foot, waiting());
    try {
      const ids = topic.members.slice(at, at + COUNT);
      const messages = await Promise.all(ids.map((id) => get(place.api(`messages/${id}`), { branch: place.branch, render: 'html' })));
      at += ids.length;
      list.append(...messages.map((message) => drawSaid(message, place)));
      put(foot, at < topic.members.length ? h('button', { class: 'button', type: 'button', on: { click: more } }, t('topics.messages.more', { n: topic.members.length - at })) : null);
    } catch (error) {
      put(foot, trouble(error, more));
    }
  }

  if (topic.members.length) more();
  else put(foot, h('p', { class: 'muted' }, t('topics.messages.none')));
  return h('section', { class: 'record-part' }, h('h3', {}, t('topics.messages.title', { n: topic.members.length })), list, foot);
}

function drawSaid(message, place) {
  const chat = { place, draw: (whole) => drawSaid(whole, place) };
  return h('article', { class: `message said role-${message.role}`, 'aria-label': `${roleName(message.role)} ${message.id}` },
    h('header', { class: 'message-head' }, h('span', { class: 'role' }, roleName(message.role)), h('span', { class: 'id' }, message.id), h('time', { datetime: message.at }, moment(message.at)), h('span', {}, tokens(message.tokens)),
      h('a', { class: 'push', href: place.href('chat', { at: message.id }), 'aria-label': t('records.open', { id: message.id }) }, icon('right'), h('span', {}, t('tab.chat')))),
    h('div', { class: 'message-body' }, message.parts.map((part) => drawPart(part, message, chat))));
}
