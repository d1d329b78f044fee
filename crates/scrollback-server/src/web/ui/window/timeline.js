// The windows of a session side by side, each a column to scale against its limit. Older ones come in on the left.
import { h, put } from '../dom.js';
import { moment, number } from '../format.js';
import { t } from '../i18n.js';
import { kindsOf, wholeOf } from './kinds.js';

const NEAR = 240;
const SLACK = 64;

/** Makes it over `views`; `choose(name, isByKey)` is called for the one that is wanted, `compare(name)` with Shift. */
export function makeTimeline(views, { choose, compare, wrong }) {
  const list = h('div', { class: 'timeline-list', role: 'listbox', tabindex: '0', 'aria-label': t('window.timeline'), 'aria-orientation': 'horizontal' });
  const top = h('span', { class: 'timeline-top digits', 'aria-hidden': 'true' });
  const chosen = { view: null, other: null };
  let isBusy = false;

  function draw() {
    const whole = Math.max(...views.list.map(wholeOf));
    list.style.setProperty('--whole', String(whole));
    put(top, number(whole));
    put(list, views.list.map((view, index) => column(view, views.list[index - 1])));
    mark();
  }

  function mark() {
    for (const node of list.children) {
      node.setAttribute('aria-selected', String(node.dataset.view === chosen.view));
      node.classList.toggle('is-other', node.dataset.view === chosen.other);
    }
    const now = list.querySelector('[aria-selected="true"]');
    if (now) list.setAttribute('aria-activedescendant', now.id);
    else list.removeAttribute('aria-activedescendant');
    return now;
  }

  // Sideways only: whoever reads further down is left there.
  function reveal(node) {
    if (!node) return;
    const [box, at] = [list.getBoundingClientRect(), node.getBoundingClientRect()];
    list.scrollLeft += Math.min(0, at.left - box.left - SLACK) + Math.max(0, at.right - box.right + SLACK);
  }

  // What a reader sees stays in its place, whatever comes in on one side or leaves on the other.
  async function extend(fetchMore) {
    if (isBusy) return;
    isBusy = true;
    try {
      const edge = list.getBoundingClientRect().left;
      const anchor = [...list.children].find((node) => node.getBoundingClientRect().right > edge);
      if ((await fetchMore()).length) {
        const before = anchor?.getBoundingClientRect().left;
        draw();
        const after = list.querySelector(`[data-view="${anchor?.dataset.view}"]`);
        if (after) list.scrollLeft += after.getBoundingClientRect().left - before;
      }
    } catch (error) {
      wrong(error);
    }
    isBusy = false;
  }

  function check() {
    if (views.hasOlder && list.scrollLeft < NEAR) extend(views.older);
    else if (views.hasNewer && list.scrollWidth - list.scrollLeft - list.clientWidth < NEAR) extend(views.newer);
  }

  async function step(by) {
    const at = () => views.list.findIndex((view) => view.view === chosen.view);
    if (at() + by < 0) await extend(views.older);
    if (at() + by >= views.list.length && views.hasNewer) await extend(views.newer);
    const next = views.list[Math.min(views.list.length - 1, Math.max(0, at() + by))];
    if (next && next.view !== chosen.view) choose(next.view, true);
  }

  list.addEventListener('scroll', () => requestAnimationFrame(check), { passive: true });
  list.addEventListener('click', (event) => {
    const name = event.target.closest('[data-view]')?.dataset.view;
    if (name) (event.shiftKey ? compare : choose)(name, false);
  });
  list.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    step(Math.max(-views.list.length, Math.min(views.list.length, by)));
  });

  return {
    node: h('section', { class: 'timeline', 'aria-label': t('window.timeline') },
      h('header', { class: 'timeline-head' }, h('h2', {}, t('window.timeline')), marks()), h('div', { class: 'timeline-box' }, top, list)),
    draw, step,
    /** Marks the chosen window and the one it is compared with. */
    mark(view, other) {
      Object.assign(chosen, { view, other });
      reveal(mark());
      check();
    },
    toEnd: () => { list.scrollLeft = list.scrollWidth; },
    /** Fetches what was sent since; resolves to whether something was. */
    async catchUp() {
      const before = views.list.at(-1)?.view;
      if (!views.hasNewer) await extend(views.newer);
      return views.list.at(-1)?.view !== before;
    },
  };
}

const marks = () => h('p', { class: 'timeline-marks', 'aria-hidden': 'true' },
  h('span', {}, h('i', { class: 'mark-limit' }), t('window.limit')), h('span', {}, h('i', { class: 'mark-fold' }), t('window.mark.fold')), h('span', {}, h('i', { class: 'mark-recall' }), t('window.mark.recall')));

function column(view, before) {
  const isFold = Boolean(before && view.fold && (before.fold?.epoch !== view.fold.epoch || before.fold?.branch !== view.fold.branch));
  const words = [view.view, t('window.of', { tokens: view.tokens, budget: view.budget }), isFold ? t('window.folded') : null, view.recalls.length ? t('status.recalls', { n: view.recalls.length }) : null].filter(Boolean).join(', ');
  const data = { view: view.view, tokens: view.tokens, limit: view.limit ?? '', fold: isFold, recalls: view.recalls.length };
  return h('div', { class: isFold ? 'column is-fold' : 'column', id: `view-${view.view}`, role: 'option', 'aria-selected': 'false', 'aria-label': words, title: `${words} · ${moment(view.at)}`, dataset: data },
    h('span', { class: 'column-room' }, sized(h('span', { class: 'column-limit' }), wholeOf(view)),
      kindsOf(view).map(([kind, tokens]) => sized(h('span', { class: `column-part kind-${kind}` }), tokens))),
    h('span', { class: 'column-marks' }, view.recalls.length ? h('i', { class: 'mark-recall' }) : null));
}

function sized(node, tokens) {
  node.style.setProperty('--tokens', String(tokens));
  return node;
}

