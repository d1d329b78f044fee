// The window as a page that fills up: blocks stand in it like words in lines, every one as large as what it costs.
// Nothing is rounded up but what would be too small to point at.
import { h, put } from '../dom.js';
import { number, percent } from '../format.js';
import { t } from '../i18n.js';
import { kindOf, nameOf, wholeOf, whyOf } from './kinds.js';
import { lineOf } from './line.js';

const ROWS = 24;
const LEAST = 0.004;

/** Draws the page of a view: { node, choose(index) }; `marks` says of a block 'new', 'changed' or nothing; `open(index)` shows one. */
export function makePage(view, marks, open) {
  const whole = wholeOf(view);
  const pieces = piecesOf(view, marks, whole);
  const node = h('div', { class: 'page', role: 'listbox', tabindex: '0', 'aria-label': t('window.picture', { view: view.view }) });
  put(node, flow(pieces, whole / ROWS).map((row) => h('div', { class: 'page-row', role: 'none' }, row.map((part) => segment(part, whole / ROWS)))));
  const last = view.blocks.length - 1;
  let at = -1;

  function choose(index) {
    at = index;
    for (const one of node.querySelectorAll('[data-piece]')) {
      const isIt = one.dataset.piece === String(index);
      one.classList.toggle('is-chosen', isIt);
      if (one.hasAttribute('aria-selected')) one.setAttribute('aria-selected', String(isIt));
    }
    if (index >= 0) node.setAttribute('aria-activedescendant', `block-${index}`);
    else node.removeAttribute('aria-activedescendant');
  }

  const to = (index) => open(Math.min(last, Math.max(0, index)));
  const keys = { ArrowLeft: () => at - 1, ArrowUp: () => at - 1, ArrowRight: () => at + 1, ArrowDown: () => at + 1, Home: () => 0, End: () => last, Enter: () => Math.max(0, at), ' ': () => Math.max(0, at) };
  node.addEventListener('click', (event) => {
    const piece = event.target.closest('[data-piece]')?.dataset.piece;
    if (piece !== undefined) to(Number(piece));
  });
  node.addEventListener('keydown', (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    to(keys[event.key]());
  });
  return { node, choose };
}

function piecesOf(view, marks, whole) {
  const blocks = view.blocks.map((block, index) => ({ index, kind: kindOf(block), tokens: block.tokens, name: nameOf(block), line: lineOf(block), mark: marks(block),
    words: [`${nameOf(block)} · ${lineOf(block)}`, t('tokens', { n: block.tokens }), percent((100 * block.tokens) / whole), whyOf(block), marks(block) && t(`window.${marks(block)}`)].filter(Boolean).join(', ') }));
  const free = { kind: 'free', tokens: Math.max(0, view.budget - view.tokens), name: t('window.free') };
  const reserve = { kind: 'reserve', tokens: Math.max(0, (view.limit ?? view.budget) - Math.max(view.budget, view.tokens)), name: t('window.reserve') };
  return [...blocks, free, reserve].filter((piece) => piece.tokens > 0);
}

/** Cuts pieces into rows of so many tokens: [[{ piece, tokens, isFirst, hasName }]]. Slivers at the end of a row are left to their neighbours. */
export function flow(pieces, perRow) {
  const rows = [[]];
  let room = perRow;
  for (const piece of pieces) {
    let rest = piece.tokens;
    const parts = [];
    while (rest > 1e-6) {
      const tokens = Math.min(rest, room);
      const isSliver = tokens < perRow * LEAST && tokens < piece.tokens;
      if (!isSliver) { parts.push({ piece, tokens, isFirst: !parts.length }); rows.at(-1).push(parts.at(-1)); }
      rest -= tokens;
      room -= tokens;
      if (room <= 1e-6) { rows.push([]); room = perRow; }
    }
    name(parts);
  }
  return rows.filter((row) => row.length);
}

// The name of a piece stands where there is room: at its beginning, or in the line after.
function name([first, second]) {
  if (!first) return;
  const isBetter = second && second.tokens > 2 * first.tokens;
  (isBetter ? second : first).hasName = true;
}

function segment({ piece, tokens, isFirst, hasName }, perRow) {
  const isBlock = piece.index !== undefined;
  const isWide = tokens > perRow * 0.06;
  const data = { kind: piece.kind, ...(isBlock ? { piece: piece.index } : {}), ...(isFirst ? { tokens: piece.tokens } : {}) };
  const roles = isBlock && isFirst ? { role: 'option', id: `block-${piece.index}`, 'aria-selected': 'false', 'aria-label': piece.words } : { 'aria-hidden': 'true' };
  const node = h('div', { class: `piece kind-${piece.kind}${isFirst ? ' is-first' : ''}`, title: isBlock ? `${piece.name} · ${number(piece.tokens)}` : `${piece.name}: ${number(piece.tokens)}`, dataset: data, ...roles },
    hasName && isWide ? h('span', { class: 'piece-name' }, isBlock ? `${piece.name} · ${piece.line}` : `${piece.name} ${number(piece.tokens)}`) : null,
    isFirst && piece.mark ? h('i', { class: `piece-mark is-${piece.mark}` }) : null);
  node.style.flexGrow = String(tokens);
  return node;
}
