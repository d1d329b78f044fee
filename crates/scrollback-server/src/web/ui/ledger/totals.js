// The few numbers that tell whether it is worth it. What is not known is not made up.
import { h } from '../dom.js';
import { dollars, number, percent } from '../format.js';
import { t } from '../i18n.js';
import { note } from '../notice.js';

/** The totals of a session. */
export function totals(sums) {
  const isPriced = sums.unpriced < sums.calls;
  const saved = sums.without_cost - sums.cost;
  const helper = isPriced && sums.helper_cost ? ` · ${t('ledger.helper', { cost: dollars(sums.helper_cost) })}` : '';
  return [h('dl', { class: 'totals' },
    total('cost', t('ledger.cost'), isPriced ? dollars(sums.cost) : '–', t('ledger.input', { n: sums.input }) + helper),
    total('without', t('ledger.without'), isPriced && sums.without_cost ? dollars(sums.without_cost) : '–', t('ledger.input', { n: sums.without_input })),
    total('saved', t('ledger.saved'), isPriced && sums.without_cost ? percent(sums.saved_percent) : '–', isPriced && sums.without_cost ? dollars(saved) : t('ledger.tokens.less', { n: sums.without_input - sums.input })),
    total('cached', t('ledger.cached'), percent(sums.cached_percent), t('ledger.read', { n: sums.read })),
    total('calls', t('ledger.calls'), number(sums.calls), t('ledger.output', { n: sums.output }))),
  sums.unpriced ? note(t(isPriced ? 'ledger.unpriced' : 'ledger.unpriced.all', { n: sums.unpriced })) : null,
  isPriced && sums.helper_unpriced ? note(t('ledger.helper.unpriced', { n: sums.helper_unpriced })) : null];
}

const total = (name, words, value, more) => h('div', { class: 'total', dataset: { total: name } }, h('dt', {}, words), h('dd', {}, h('strong', {}, value), h('span', { class: 'muted' }, more)));
