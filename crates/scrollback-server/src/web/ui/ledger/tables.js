// The calls of a session, newest first, and what the helper model was asked.
import { h } from '../dom.js';
import { dollars, moment, number, percent } from '../format.js';
import { t } from '../i18n.js';

/** The table of calls; `all` is how many there are. */
export function callTable(calls, all, place) {
  const heads = ['view', 'at', 'model', 'in', 'cached', 'out', 'cost', 'without', 'time'];
  const firstNumber = 3;
  const price = prices(calls);
  const label = t('ledger.listed', { n: calls.length, all });
  return h('section', { class: 'ledger-part' }, h('h2', {}, label), scrolls(label, h('table', { class: 'table' },
    h('thead', {}, h('tr', {}, heads.map((name, index) => h('th', { scope: 'col', class: index >= firstNumber ? 'digits' : null }, t(`ledger.head.${name}`))))),
    h('tbody', {}, calls.map((call) => row(call, price, place))))));
}

// All prices of a table have as many digits, so that they can be compared.
function prices(calls) {
  const most = Math.max(0, ...calls.flatMap((call) => [call.cost ?? 0, call.without_cost ?? 0]));
  const digits = most >= 1 ? 3 : 5;
  const write = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value) => (value === null ? '–' : write.format(value));
}

function row(call, price, place) {
  const digits = (...children) => h('td', { class: 'digits' }, ...children);
  return h('tr', { dataset: { view: call.view, input: call.input, read: call.read } },
    h('td', {}, h('a', { class: 'id', href: place.href('window', { view: call.view }) }, call.view)), h('td', { class: 'nowrap' }, moment(call.at)),
    h('td', { class: 'nowrap' }, h('code', {}, call.model), h('span', { class: 'muted' }, ` ${call.upstream}`)),
    digits(number(call.input)), digits(call.input ? percent((100 * call.read) / call.input) : '–'), digits(number(call.output)),
    digits(price(call.cost)), digits(price(call.without_cost)), digits(t('ledger.millis', { n: call.millis })));
}

/** What the helper was asked, task by task. */
export function taskTable(tasks) {
  const label = t('ledger.tasks');
  const head = h('h2', {}, label);
  if (!tasks.length) return h('section', { class: 'ledger-part' }, head, h('p', { class: 'muted' }, t('ledger.tasks.none')));
  return h('section', { class: 'ledger-part' }, head, scrolls(label, h('table', { class: 'table' },
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('ledger.head.task')), ['questions', 'in', 'out', 'cost'].map((name) => h('th', { scope: 'col', class: 'digits' }, t(`ledger.head.${name}`))))),
    h('tbody', {}, tasks.map((task) => h('tr', { dataset: { task: task.task } }, h('td', {}, h('code', {}, task.task)), [...[task.questions, task.input_tokens, task.output_tokens].map(number), task.unpriced === task.questions ? '–' : dollars(task.cost)].map((value) => h('td', { class: 'digits' }, value))))))));
}

const scrolls = (label, table) => h('div', { class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': label }, table);
