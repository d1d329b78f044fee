// The ledger as plots: tokens by kind, what came from a cache, and what it cost with and without us.
import { h } from '../dom.js';
import { dollars, moment, percent, short } from '../format.js';
import { t } from '../i18n.js';
import { KINDS } from '../picture.js';
import { lines, stacks } from '../plot.js';

const MADE = ['tools', ...KINDS.filter((kind) => kind !== 'reasoning')];

/** The plots of some calls, newest first as they are listed. */
export function plots(sums, listed, place) {
  const calls = [...listed].reverse();
  const columns = calls.map((call) => ({ name: call.view, more: `${moment(call.at)} · ${call.model}` }));
  const pick = (index) => place.go(place.href('window', { view: calls[index].view }));
  const kinds = MADE.filter((kind) => calls.some((call) => call.tokens[kind]));
  const made = kinds.map((kind) => ({ name: t(`kind.${kind}`), kind, values: calls.map((call) => call.tokens[kind] ?? 0) }));
  const cached = { name: t('ledger.cached'), kind: 'good', values: calls.map((call) => (call.input ? (100 * call.read) / call.input : null)) };
  const priced = calls.some((call) => call.cost !== null);
  return h('div', { class: 'ledger-plots' },
    h('div', { class: 'card wide' }, stacks({ label: t('ledger.plot.kinds'), columns, series: made, tick: short, pick })),
    h('div', { class: priced ? 'card' : 'card wide' }, lines({ label: t('ledger.plot.cached'), columns, series: [cached], top: 100, write: percent, pick })),
    priced ? h('div', { class: 'card' }, lines({ label: t('ledger.plot.cost'), columns, series: costs(sums, calls), write: dollars, pick })) : null);
}

// Calls that are not listed here were before these, as if the helper had been paid by then: both lines end at the totals.
function costs(sums, calls) {
  const line = (name, kind, key, total) => {
    let all = total - calls.reduce((sum, call) => sum + (call[key] ?? 0), 0);
    return { name, kind, values: calls.map((call) => Math.max(0, all += call[key] ?? 0)) };
  };
  return [line(t('ledger.with'), 'accent', 'cost', sums.cost), line(t('ledger.without'), 'quiet', 'without_cost', sums.without_cost)];
}
