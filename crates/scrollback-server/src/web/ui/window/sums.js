// What a window adds up to: a line for each kind, what is free, what is kept back, and the limit.
import { h } from '../dom.js';
import { number, percent } from '../format.js';
import { t } from '../i18n.js';
import { kindsOf, wholeOf } from './kinds.js';

/** The table of sums; every number is the API's own. */
export function sums(view) {
  const whole = wholeOf(view);
  const free = Math.max(0, view.budget - view.tokens);
  const reserve = view.limit ? Math.max(0, view.limit - Math.max(view.budget, view.tokens)) : 0;
  return h('table', { class: 'sums' }, h('caption', { class: 'hidden' }, t('window.sums')),
    h('thead', {}, h('tr', {}, h('td', {}), h('th', { scope: 'col', class: 'digits' }, t('window.tokens')), h('th', { scope: 'col', class: 'digits' }, t('window.oflimit')))), h('tbody', {},
    kindsOf(view).map(([kind, tokens]) => line(kind, t(`kind.${kind}`), tokens, whole)),
    line('total', t('window.total'), view.tokens, whole, 'sum'),
    line('free', t('window.free'), free, whole), reserve ? line('reserve', t('window.reserve'), reserve, whole) : null,
    view.limit ? line('limit', t('window.limit'), view.limit, whole, 'sum') : null));
}

function line(kind, name, tokens, whole, look = '') {
  return h('tr', { class: look, dataset: { kind, tokens } },
    h('th', { scope: 'row' }, h('span', { class: look ? 'swatch none' : `swatch kind-${kind}`, 'aria-hidden': 'true' }), name),
    h('td', { class: 'digits' }, number(tokens)), h('td', { class: 'digits muted' }, percent((100 * tokens) / whole)));
}
