// A held result, line by line, some hundred at a time; or the lines that hold some words.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { moment } from '../format.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';

const LINES = 200;
const LONG = 1000;
// A word that begins no further than this before the end of a piece is not cut.
const WORD = 200;

/** The viewer of a hold; `back` leads to the list, where there is no room for both. */
export function makeLines(hold, place, back) {
  const body = h('div', { class: 'lines-body' });
  const foot = h('div', { class: 'lines-foot row' });
  const field = h('input', { class: 'field', type: 'search', dir: 'auto', placeholder: t('holds.search'), 'aria-label': t('holds.search') });
  const form = h('form', { class: 'lines-search row', role: 'search', on: { submit: (event) => { event.preventDefault(); if (field.value.trim()) look(field.value.trim()); else read(1); } } }, field, h('button', { class: 'button', type: 'submit' }, icon('search'), t('holds.find')));
  let age = 0;

  async function ask(query, drawn) {
    const mine = age += 1;
    if (!body.childNodes.length) put(body, waiting());
    try {
      const answer = await get(place.api(`holds/${hold.id}`), query);
      if (mine === age) drawn(answer);
    } catch (error) {
      if (mine === age) put(body, trouble(error, () => ask(query, drawn)));
    }
  }

  const read = (from, mark) => ask({ from_line: from, lines: LINES }, (answer) => {
    const lines = piecesOf(answer.text).map((text, index) => ({ number: answer.from_line + index, text }));
    show(lines, mark);
    const last = answer.from_line + lines.length - 1;
    put(foot, h('span', { class: 'muted' }, t('holds.lines', { from: Math.min(answer.from_line, answer.lines), to: last, all: answer.lines })), turn('holds.back', from > 1, Math.max(1, from - LINES)), turn('holds.on', answer.more, from + LINES));
  });

  const look = (words) => ask({ words }, (answer) => {
    show(answer.text.split('\n').map(numbered), null, words.split(/\s+/).filter(Boolean));
    put(foot, h('span', { class: 'muted' }, t('holds.found', { words })), h('button', { class: 'button small', type: 'button', on: { click: () => { field.value = ''; read(1); } } }, t('holds.all')));
  });

  const turn = (words, isThere, from) => h('button', { class: 'button small', type: 'button', disabled: !isThere, on: { click: () => read(from) } }, t(words));

  function show(lines, mark, words) {
    const row = ({ number, text }) => h('div', { class: number === mark ? 'line is-found' : 'line', dataset: number ? { line: number } : {} },
      words && number ? h('button', { class: 'line-number link', type: 'button', 'aria-label': t('holds.line', { n: number }), on: { click: () => read(Math.max(1, number - 20), number) } }, number) : h('span', { class: 'line-number', 'aria-hidden': 'true' }, number ?? ''),
      h('span', { class: 'line-text' }, words ? marked(text, words) : text.replace(/\r?\n$/, '')));
    put(body, h('div', { class: 'lines', tabindex: '0', role: 'region', 'aria-label': t('holds.of', { id: hold.id }) }, lines.map(row)));
    body.querySelector('.is-found')?.scrollIntoView({ block: 'center' });
  }

  read(1);
  return h('section', { class: 'lines-view' }, lineHead(hold, place, back), form, body, foot);
}

function lineHead(hold, place, back) {
  return h('header', { class: 'lines-head' },
    h('button', { class: 'button small plain lines-back', type: 'button', on: { click: back } }, icon('left'), t('holds.list')),
    h('h2', {}, h('span', { class: 'id' }, hold.id), ' ', hold.tool ? h('code', {}, hold.tool) : null),
    h('p', { class: 'view-facts muted' }, h('a', { href: place.href('chat', { at: `m${hold.id.slice(1)}` }) }, t('window.message', { id: `m${hold.id.slice(1)}` })), hold.at ? h('span', {}, moment(hold.at)) : null, hold.chars ? h('span', {}, t('holds.chars', { n: hold.chars })) : null, hold.tokens ? h('span', {}, t('tokens', { n: hold.tokens })) : null),
    hold.query ? h('pre', { class: 'lines-query', tabindex: '0', 'aria-label': t('holds.query') }, hold.query) : null,
    hold.erased ? h('p', { class: 'notice' }, icon('about'), h('span', {}, t('holds.erased'))) : null);
}

/** The lines of a text as the server counts them: with their ends, and long ones in several. */
export function piecesOf(text) {
  return (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).flatMap(inPieces);
}

function inPieces(line) {
  const [chars, end, pieces] = [[...line], /(\r?\n)?$/.exec(line)[0].length, []];
  let at = 0;
  while (chars.length - end - at > LONG) {
    const next = at + betweenWords(chars.slice(at, at + LONG));
    pieces.push(chars.slice(at, next).join(''));
    at = next;
  }
  return [...pieces, chars.slice(at).join('')];
}

function betweenWords(chars) {
  const last = chars.findLastIndex((char) => !/[\p{Alphabetic}\p{N}]/u.test(char));
  return last < LONG - WORD ? LONG : last + 1;
}

function numbered(line) {
  const found = /^(\d+): ?(.*)$/s.exec(line);
  return found ? { number: Number(found[1]), text: found[2] } : { number: null, text: line };
}

function marked(text, words) {
  const any = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'giu');
  return text.split(any).map((part, index) => (index % 2 ? h('mark', {}, part) : part));
}
