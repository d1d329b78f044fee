// Search: messages by their words, in all sessions or one, between days, by role. The address says what is searched for.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { t } from '../i18n.js';
import { empty, trouble, waiting } from '../notice.js';
import { replaceAddress, screenHref } from '../route.js';
import { drawHits } from '../search/hits.js';
import { searchForm } from '../search/form.js';

const PAUSE = 300;
const STEP = 20;
const MOST = 100;

export async function show(root, place) {
  const results = h('div', { class: 'results' });
  const told = h('p', { class: 'muted results-count', role: 'status' });
  const form = searchForm(place.query, changed);
  let count = place.spot?.count ?? STEP;
  let running = new AbortController();
  let timer = null;
  place.onLeave(() => { clearTimeout(timer); running.abort(); });
  place.ownSpot = () => ({ count });
  put(root, h('div', { class: 'search' }, h('h1', {}, t('search.title')), form.node, told, results));
  if (!place.query.words) form.focus();
  await search();

  // While somebody types the address follows without a step of its own, so that “back” leaves the search.
  function changed({ isTyping }) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      replaceAddress(screenHref('search', form.said()));
      count = STEP;
      search();
    }, isTyping ? PAUSE : 0);
  }

  async function search() {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const said = form.said();
    put(told);
    if (!said.words) return put(results, begin());
    const late = setTimeout(() => put(results, waiting()), PAUSE);
    try {
      const { found } = await get('/api/search', { ...said, ...times(said), count }, { signal });
      if (!signal.aborted) draw(found, said);
    } catch (error) {
      if (!signal.aborted) put(results, trouble(error, search));
    } finally {
      clearTimeout(late);
    }
    return null;
  }

  function draw(found, said) {
    put(told, found.length ? t(found.length >= count ? 'search.first' : 'search.found', { n: found.length }) : null);
    if (!found.length) return put(results, nothing(said));
    put(results, drawHits(found), found.length >= count && count < MOST ? more() : null);
    return null;
  }

  // Hoisted like the others: the first search runs before this line is reached.
  function more() {
    const ask = () => { count = Math.min(MOST, count * 2 + STEP); search(); };
    return h('button', { class: 'button', type: 'button', on: { click: ask } }, t('more'));
  }
}

// Days are the reader's own; the server counts in UTC unless it is told a time. A field takes years of more digits than there are days for.
const LAST = '9998-12-31';
const counted = (day) => (day.length > LAST.length || day > LAST ? LAST : day);
const times = ({ from, to }) => ({ from: from && new Date(`${counted(from)}T00:00:00`).toISOString(), to: to && new Date(`${counted(to)}T23:59:59.999`).toISOString() });

const begin = () => empty(t('search.begin'), h('p', {}, t('search.begin.text')));

function nothing(said) {
  const isNarrow = said.session || said.from || said.to || said.role;
  return empty(t('search.nothing', { words: said.words }), h('p', {}, t(isNarrow ? 'search.nothing.narrow' : 'search.nothing.text')));
}
