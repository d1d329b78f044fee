// The topics as a tree: arrows move, right and left open and close, Enter chooses. One item at a time can be tabbed to.
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { tokens } from '../format.js';
import { t } from '../i18n.js';
import { spark } from '../plot.js';
import { score, shape } from './state.js';

/** Makes it: { node, draw(topics, state), select(id), selected(), first(), focus() }; `choose(id)` when one is chosen. */
export function makeTree(choose) {
  const closed = new Set();
  const node = h('ul', { class: 'tree', role: 'tree', 'aria-label': t('topics.tree'), on: { keydown: keys, click: clicked } });
  let chosen = null;
  let shown = [];

  const items = () => [...node.children];
  const itemOf = (id) => items().find((item) => item.dataset.id === id);
  const here = () => items().find((item) => item.tabIndex === 0);
  const levelOf = (item) => Number(item.getAttribute('aria-level'));

  function draw(topics, state) {
    shown = branches(topics, state);
    redraw();
  }

  // Parts stand after what they are parts of, and what is closed has none: each item is read out by itself.
  function redraw() {
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    put(node, flat(shown, 1));
    mark();
    if (focused) moveTo(itemOf(focused) ?? here());
  }

  function flat(list, level) {
    return list.flatMap((branch, index) => [drawItem(branch, level, index, list.length), ...(closed.has(branch.topic.id) ? [] : flat(branch.parts, level + 1))]);
  }

  function drawItem({ topic, parts }, level, index, count) {
    const item = h('li', { role: 'treeitem', tabindex: '-1', dataset: { id: topic.id }, 'aria-level': level, 'aria-posinset': index + 1, 'aria-setsize': count,
      'aria-expanded': parts.length ? String(!closed.has(topic.id)) : null, 'aria-description': topic.average === null ? null : `${t('topics.score')} ${score(topic.average)}` }, row(topic, parts.length));
    item.style.setProperty('--level', level - 1);
    return item;
  }

  // What is chosen is in sight: whatever it is a part of is opened.
  function select(id) {
    chosen = id;
    const above = (list) => list.some(({ topic, parts }) => topic.id === id || (above(parts) && (closed.delete(topic.id), true)));
    above(shown);
    redraw();
  }

  function mark() {
    for (const item of items()) item.setAttribute('aria-selected', String(item.dataset.id === chosen));
    moveTo(itemOf(chosen) ?? items()[0], { isFocused: false });
  }

  function moveTo(item, { isFocused = true } = {}) {
    if (!item) return;
    for (const other of items()) other.tabIndex = -1;
    item.tabIndex = 0;
    if (isFocused) item.focus();
  }

  function turn(item, isOpen) {
    if (isOpen) closed.delete(item.dataset.id);
    else closed.add(item.dataset.id);
    redraw();
  }

  function clicked(event) {
    const item = event.target.closest('[role=treeitem]');
    if (!item) return;
    moveTo(item);
    if (event.target.closest('.twist')) turn(item, item.getAttribute('aria-expanded') === 'false');
    else choose(item.dataset.id);
  }

  function keys(event) {
    const item = event.target.closest('[role=treeitem]');
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = items();
    const at = all.indexOf(item);
    const isOpen = item.getAttribute('aria-expanded');
    const acts = {
      ArrowDown: () => moveTo(all[at + 1]),
      ArrowUp: () => moveTo(all[at - 1]),
      Home: () => moveTo(all[0]),
      End: () => moveTo(all.at(-1)),
      ArrowRight: () => { if (isOpen === 'false') turn(item, true); else if (isOpen) moveTo(all[at + 1]); },
      ArrowLeft: () => { if (isOpen === 'true') turn(item, false); else moveTo(all.slice(0, at).findLast((other) => levelOf(other) < levelOf(item))); },
      Enter: () => choose(item.dataset.id),
      ' ': () => choose(item.dataset.id),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  return { node, draw, select, selected: () => chosen, first: () => items()[0]?.dataset.id, focus: () => here()?.focus() };
}

// Those that are awake first, then by score, then the newest; a topic with parts counts as its best part does.
// A topic whose part is shown is shown too.
function branches(topics, state) {
  const known = new Set(topics.map((topic) => topic.id));
  const own = (topic) => (topic.state === 'active' ? 2 : 0) + (topic.average ?? 0);
  const branch = (topic) => {
    const parts = under(topic.id);
    return { topic, parts, rank: Math.max(own(topic), ...parts.map((part) => part.rank)) };
  };
  const under = (id) => topics.filter((topic) => (known.has(topic.parent) ? topic.parent : null) === id).map(branch)
    .filter(({ topic, parts }) => !state || parts.length || topic.state === state)
    .sort((a, b) => b.rank - a.rank || b.topic.last.localeCompare(a.topic.last));
  return under(null);
}

function row(topic, parts) {
  const size = topic.state === 'divided' ? [h('span', {}, t('topics.parts', { n: parts }))] : [h('span', {}, t('messages', { n: topic.messages })), h('span', {}, tokens(topic.tokens))];
  return h('div', { class: 'tree-row' }, parts ? h('span', { class: 'twist', 'aria-hidden': 'true' }, icon('right')) : null, shape(topic.state),
    h('span', { class: 'tree-text' }, h('span', { class: 'tree-name', dir: 'auto' }, topic.name || t('untitled')), h('span', { class: 'tree-facts' }, h('span', {}, t(`topics.state.${topic.state}`)), size)),
    topic.average === null ? null : h('span', { class: 'tree-score' }, h('strong', { class: 'digits' }, score(topic.average)), topic.scores.length > 1 ? lately(topic.scores) : null));
}

// For the eye alone: the number beside it says it.
function lately(scores) {
  const node = spark({ label: t('topics.scores', { n: scores.length }), values: scores, kind: 'topics', top: 1 });
  node.setAttribute('aria-hidden', 'true');
  return node;
}
