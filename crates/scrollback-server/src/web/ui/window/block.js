// One block, opened: what it is, why it is there, the messages it stands for, and its text, word for word.
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { percent, tokens } from '../format.js';
import { t } from '../i18n.js';
import { kindOf, nameOf, wholeOf, whyOf } from './kinds.js';

/** What is read out when it is opened. */
export const blockWords = (block) => `${nameOf(block)}, ${tokens(block.tokens)}. ${whyOf(block)}`;

/** The card of a block; `text` is what it says, null while it is fetched. */
export function blockCard(view, block, mark, text, place) {
  const kind = kindOf(block);
  return h('section', { class: 'block-card', 'aria-label': nameOf(block), dataset: { open: kind, tokens: block.tokens } },
    h('header', { class: 'block-head' }, h('span', { class: `swatch kind-${kind}`, 'aria-hidden': 'true' }), h('h3', { class: 'grow' }, nameOf(block)), mark ? h('span', { class: 'chip accent' }, t(`window.${mark}`)) : null),
    h('p', { class: 'block-size' }, h('strong', { class: 'digits' }, tokens(block.tokens)), h('span', { class: 'muted' }, t('window.share', { share: percent((100 * block.tokens) / wholeOf(view)) }))),
    h('p', {}, h('span', { class: 'muted' }, `${t('window.why')} `), whyOf(block)),
    links(view, block, place),
    kind === 'recalled' && !block.message ? recalls(view, place) : said(block, text));
}

function links(view, block, place) {
  const to = (screen, query, words, name) => h('a', { class: 'chip', href: place.href(screen, query) }, icon(name), words);
  const [first, last] = block.covers ?? [];
  const isRange = first && first !== last;
  return h('div', { class: 'row block-links' },
    block.message ? to('chat', { at: block.message }, t('window.message', { id: block.message }), 'right') : null,
    isRange ? [to('chat', { at: first }, t('window.from', { id: first }), 'right'), to('chat', { at: last }, t('window.to', { id: last }), 'right'), h('span', { class: 'muted' }, t('window.stands', { first, last }))] : null,
    kindOf(block) === 'held' && block.message ? to('holds', { hold: block.message.replace('m', 'h') }, t('window.original'), 'hold') : null,
    kindOf(block) === 'contents' ? to(screenOf(view), {}, t(`tab.${screenOf(view)}`), 'page') : null,
    kindOf(block) === 'topics' ? to('topics', {}, t('tab.topics'), 'page') : null);
}

const screenOf = (view) => ({ topics: 'topics', artifacts: 'artifacts' }[view.layout.split('@')[0]] ?? 'contents');

// What the model asked for on the way; a page is named by its first message.
function recalls(view, place) {
  const at = (asked) => /^recall_page\((\d+)\)/.exec(asked)?.[1];
  return h('ul', { class: 'turn-events' }, view.recalls.map((asked) => h('li', {}, icon('recall'), at(asked) ? h('a', { href: place.href('chat', { at: `m${at(asked)}` }) }, h('code', {}, asked)) : h('code', {}, asked))));
}

function said(block, text) {
  if (text === null) return h('p', { class: 'muted' }, t('waiting'));
  if (!text) return h('p', { class: 'muted' }, t('window.wordless'));
  return h('pre', { class: 'block-text', tabindex: '0', 'aria-label': t('window.text') }, text);
}

/** What stands there until a block is chosen. */
export const howToRead = () => h('div', { class: 'block-card' }, h('h3', {}, t('window.read')), h('p', {}, t('window.hint')), h('p', { class: 'muted' }, t('window.read.size')),
  h('p', { class: 'row muted' }, t('window.read.marks'), ...['new', 'changed'].map((mark) => h('span', { class: 'mark-name' }, h('i', { class: `piece-mark is-${mark}` }), t(`window.${mark}`)))));
