// The ledger: what calls of models were made of and cost, and what they would have cost without folding.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { t } from '../i18n.js';
import { empty, trouble } from '../notice.js';
import { callTable, taskTable } from '../ledger/tables.js';
import { plots } from '../ledger/plots.js';
import { totals } from '../ledger/totals.js';

const COUNT = 60;
const ROWS = 25;
const LEAST_GAP = 400;

export async function show(root, place) {
  const state = { page: null, calls: [], next: null, rows: ROWS };
  const top = h('div', { class: 'ledger-top' });
  const more = h('button', { class: 'button', type: 'button', on: { click: older } }, t('ledger.older'));
  const wrong = h('div', {});
  const fetchPage = (cursor) => get(place.api('ledger'), { count: COUNT, cursor, totals: 'true' });

  function draw() {
    const { page, calls } = state;
    more.hidden = !state.next && state.rows >= calls.length;
    if (!page.totals.calls) return put(root, nothing(place));
    put(top, totals(page.totals), plots(page.totals, calls, place));
    return put(root, top, taskTable(page.tasks), callTable(calls.slice(0, state.rows), page.totals.calls, place), more, wrong);
  }

  async function older() {
    state.rows += ROWS * 2;
    if (state.rows <= state.calls.length || !state.next) return draw();
    more.disabled = true;
    try {
      const page = await fetchPage(state.next);
      state.calls.push(...page.calls);
      state.next = page.next;
      draw();
    } catch (error) {
      put(wrong, trouble(error, older));
    }
    more.disabled = false;
    return null;
  }

  // Older calls that were fetched stay; the newest page takes the place of what it overlaps.
  async function refresh() {
    const page = await fetchPage();
    const known = state.page ? state.calls.findIndex((call) => call.view === page.calls.at(-1)?.view) : -1;
    const rest = known < 0 ? [] : state.calls.slice(known).filter((call) => call.view !== page.calls.at(-1).view);
    Object.assign(state, { page, calls: [...page.calls, ...rest], next: rest.length ? state.next : page.next });
    draw();
  }

  let isDue = null;
  place.live((event) => {
    if (!['reply', 'again'].includes(event.name) || isDue) return;
    isDue = setTimeout(() => { isDue = null; refresh().catch(() => {}); }, LEAST_GAP);
  });
  place.onLeave(() => clearTimeout(isDue));
  await refresh();
}

const nothing = (place) => empty(t('ledger.none'), h('p', {}, t('ledger.none.text')), h('a', { class: 'button', href: place.href('chat') }, t('tab.chat')));
