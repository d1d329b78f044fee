// A window as a bar: what it is made of, against what it may cost. Colours are never alone: names and numbers stand beside them.
import { h } from './dom.js';
import { number, percent } from './format.js';
import { t } from './i18n.js';

/** The kinds of what stands in a window, in the order of the window. */
export const KINDS = ['instructions', 'contents', 'kept', 'topics', 'recalled', 'open', 'held', 'reasoning', 'current'];

/** The stacked bar of a view; `height` in pixels. */
export function bar(view, { height = 16 } = {}) {
  const whole = Math.max(view.budget || 0, view.tokens || 0, 1);
  const node = h('div', { class: 'bar', role: 'img', 'aria-label': describe(view) }, parts(view).map(([kind, tokens]) => piece(kind, tokens, whole)));
  node.style.height = `${height}px`;
  return node;
}

/** Names, numbers and colours of what is in a view. */
export function legend(view) {
  return h('ul', { class: 'legend' }, parts(view).map(([kind, tokens]) => h('li', {},
    h('span', { class: `swatch kind-${kind}`, 'aria-hidden': 'true' }), h('span', { class: 'grow' }, t(`kind.${kind}`)), h('span', { class: 'digits' }, number(tokens)))));
}

/** The bar as a sentence. */
export function describe(view) {
  const list = parts(view).map(([kind, tokens]) => `${t(`kind.${kind}`)} ${number(tokens)}`).join(', ');
  return `${t('window.of', { tokens: view.tokens ?? 0, budget: view.budget ?? 0 })}: ${list}`;
}

/** How full a window is, in percent. */
export const share = (view) => percent((100 * (view.tokens ?? 0)) / Math.max(1, view.budget ?? 0));

function parts(view) {
  return KINDS.map((kind) => [kind, view.kinds?.[kind] ?? 0]).filter(([, tokens]) => tokens > 0);
}

function piece(kind, tokens, whole) {
  const node = h('span', { class: `bar-piece kind-${kind}`, title: `${t(`kind.${kind}`)}: ${number(tokens)}` });
  node.style.width = `${(100 * tokens) / whole}%`;
  return node;
}
