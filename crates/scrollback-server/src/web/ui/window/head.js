// The head of a window: which one, how full, when and how it was laid out, and what it is compared with.
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { dollars, moment } from '../format.js';
import { t } from '../i18n.js';
import { share } from '../picture.js';

/** The head of a view; `go(by)` leads to those before and after it. */
export function viewHead(view, place, go) {
  const step = (by, name, words) => h('button', { class: 'icon-button', type: 'button', title: words, 'aria-label': words, dataset: { focus: name }, on: { click: () => go(by) } }, icon(name));
  return h('header', { class: 'view-head', dataset: { view: view.view, tokens: view.tokens, budget: view.budget, limit: view.limit ?? '' } },
    h('div', { class: 'view-title' }, step(-1, 'left', t('window.before')), h('h2', { class: 'id' }, view.view), step(1, 'right', t('window.after'))),
    h('p', { class: 'view-full' }, h('strong', {}, share(view)), h('span', { class: 'muted' }, t('window.of', { tokens: view.tokens, budget: view.budget }))),
    h('p', { class: 'view-facts muted' }, h('span', {}, moment(view.at)), h('a', { href: place.href('chat', { at: view.head }) }, t('window.answers', { id: view.head })), h('code', {}, view.layout),
      view.cost === null || view.cost === undefined ? null : h('span', {}, dollars(view.cost))));
}

/** The choice of what a view is compared with; `other` is the one that was chosen. */
export function compareWith(view, other, views, compare) {
  const choices = views.list.filter((one) => one.view !== view.view).reverse();
  if (!choices.length) return null;
  const select = h('select', { class: 'select', dataset: { focus: 'compare' }, on: { change: () => compare(select.value) } },
    h('option', { value: '', selected: !other }, t('window.compare.none')),
    choices.map((one) => h('option', { value: one.view, selected: one.view === other }, one.view)));
  return h('label', { class: 'picker view-compare' }, h('span', {}, t('window.compare')), select);
}
