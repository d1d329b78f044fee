// The parts of a message: text, thinking, calls, results, images, files, and what we do not know, as JSON.
import { h, html } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { dressCode } from './code.js';
import { showWhole } from './deeds.js';
import { holdChip } from './hold.js';

const LINES = 12;

/** The node of a part. */
export function drawPart(part, message, chat) {
  const draw = { text, thinking, call, result, image, file }[part.kind] ?? other;
  return draw(part, message, chat);
}

function text(part, message, chat) {
  const body = h('div', { class: 'markdown' });
  if (part.html === undefined) body.append(h('p', { class: 'plain', dir: 'auto' }, part.text));
  else dressCode(html(body, part.html));
  return part.cut ? h('div', {}, body, cut(part, message, chat)) : body;
}

// Lists leave out the rest of what is long; nothing of it is out of reach.
const cut = (part, message, chat) => (part.cut ? h('button', { class: 'button small', type: 'button', on: { click: (event) => showWhole(message, chat, event.currentTarget) } }, t('cut')) : null);

/** Reasoning, folded away. */
export function thinking(part, message, chat) {
  return h('details', { class: 'block thinking' }, h('summary', {}, icon('thought'), h('span', {}, t('thinking')), h('span', { class: 'preview', dir: 'auto' }, oneLine(part.text))),
    h('div', { class: 'block-body plain', dir: 'auto' }, part.text), cut(part, message, chat));
}

/** Reasoning that goes on: { node, add(piece) }. It is one node, so that it stays open while it is read. */
export function liveThinking() {
  const node = thinking({ text: '' });
  const [preview, body] = [node.querySelector('.preview'), node.querySelector('.block-body')];
  let text = '';
  const add = (piece) => {
    text += piece;
    preview.textContent = oneLine(text);
    body.append(piece);
  };
  return { node, add };
}

function call(part, message, chat) {
  return h('details', { class: 'block call' },
    h('summary', {}, icon('tool'), h('code', { class: 'tool-name' }, part.name), h('span', { class: 'preview mono' }, oneLine(part.arguments))),
    h('pre', { class: 'block-body', tabindex: '0' }, h('code', {}, pretty(part.arguments))), cut(part, message, chat));
}

function result(part, message, chat) {
  const name = part.name ? h('code', { class: 'tool-name' }, part.name) : t('result');
  if (message.held) return h('div', { class: 'block result' }, h('div', { class: 'block-line' }, icon('hold'), name), holdChip(message.held, part.chars, chat));
  const lines = (part.text ?? '').split('\n');
  const pre = h('pre', { class: 'block-body', tabindex: '0' }, h('code', {}, part.text));
  const more = cut(part, message, chat);
  if (lines.length <= LINES) return h('div', { class: 'block result' }, h('div', { class: 'block-line' }, icon('result'), name), pre, more);
  const head = lines.slice(0, 3).join('\n');
  const box = h('details', { class: 'block result' },
    h('summary', {}, icon('result'), name, h('span', { class: 'preview' }, t('result.lines', { n: lines.length, chars: part.chars ?? part.text.length }))), pre, more);
  return h('div', { class: 'long-result' }, box, h('pre', { class: 'peek', 'aria-hidden': 'true' }, h('code', {}, `${head}\n…`)));
}

function image(part, message, chat) {
  if (part.url?.startsWith('data:image/')) return h('img', { class: 'picture', src: part.url, alt: t('image'), loading: 'lazy' });
  const link = /^https?:/.test(part.url ?? '') ? h('a', { href: part.url, target: '_blank', rel: 'noopener noreferrer nofollow' }, part.url) : h('bdi', {}, part.name ?? t('image'));
  return h('p', { class: 'attachment' }, icon('image'), link, part.mime ? h('span', { class: 'muted' }, part.mime) : null, cut(part, message, chat));
}

const file = (part) => h('p', { class: 'attachment' }, icon('page'), h('bdi', {}, part.name ?? t('file')));

function other(part, message, chat) {
  return h('details', { class: 'block' }, h('summary', {}, icon('code'), h('span', {}, t('other')), h('span', { class: 'preview mono' }, oneLine(part.json))),
    h('pre', { class: 'block-body', tabindex: '0' }, h('code', {}, pretty(part.json ?? JSON.stringify(part)))), cut(part, message, chat));
}

const oneLine = (words) => (words ?? '').slice(0, 160).replace(/\s+/g, ' ');

function pretty(words) {
  try {
    return JSON.stringify(JSON.parse(words), null, 2);
  } catch {
    return words ?? '';
  }
}
