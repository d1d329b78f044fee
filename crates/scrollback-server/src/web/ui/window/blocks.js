// All blocks of a window as a table: what, why, how much, and what changed.
import { h } from '../dom.js';
import { number, percent } from '../format.js';
import { t } from '../i18n.js';
import { kindOf, nameOf, wholeOf, whyOf } from './kinds.js';
import { lineOf } from './line.js';

const AT_ONCE = 100;

/** The table: { node, choose(index) }; `open(index)` shows a block. */
export function makeBlocks(view, marks, open) {
  const whole = wholeOf(view);
  const body = h('tbody', {});
  const more = h('button', { class: 'button small', type: 'button', on: { click: () => add() } }, t('more'));
  let shown = 0;

  function add() {
    const next = view.blocks.slice(shown, shown + AT_ONCE);
    body.append(...next.map((block, offset) => row(block, shown + offset)));
    shown += next.length;
    more.hidden = shown >= view.blocks.length;
  }

  function row(block, index) {
    const mark = marks(block);
    return h('tr', { dataset: { block: index, kind: kindOf(block), tokens: block.tokens, mark: mark ?? '', message: block.message ?? '' }, on: { click: () => open(index) } },
      h('td', { class: 'blocks-name' }, h('span', { class: `swatch kind-${kindOf(block)}`, 'aria-hidden': 'true' }), h('button', { class: 'link', type: 'button' }, nameOf(block)), mark ? h('span', { class: 'chip accent' }, t(`window.${mark}`)) : null),
      h('td', { class: 'blocks-line', dir: 'auto' }, lineOf(block)), h('td', { class: 'blocks-why muted' }, whyOf(block)),
      h('td', { class: 'digits' }, number(block.tokens)), h('td', { class: 'digits muted' }, percent((100 * block.tokens) / whole)));
  }

  add();
  const heads = ['window.block', 'window.begins', 'window.why'].map((key) => h('th', { scope: 'col' }, t(key)));
  const node = h('section', { class: 'blocks' }, h('h2', {}, t('window.blocks', { n: view.blocks.length })),
    h('div', { class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': t('window.blocks', { n: view.blocks.length }) }, h('table', { class: 'table blocks-table' }, h('thead', {}, h('tr', {}, heads, h('th', { scope: 'col', class: 'digits' }, t('window.tokens')), h('th', { scope: 'col', class: 'digits' }, '%'))), body)), more);
  return { node, choose: (index) => { for (const one of body.children) one.classList.toggle('is-chosen', one.dataset.block === String(index)); } };
}
