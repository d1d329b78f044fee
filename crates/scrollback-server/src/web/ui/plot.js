// Small plots: lines, stacked bars, and sparks to stand in a line of text. Columns are drawn oldest first; colours come
// from the kinds of the window (css class kind-…), and names and numbers always stand beside them.
import { h, put, svg } from './dom.js';
import { number } from './format.js';
import { t } from './i18n.js';

/**
 * Lines. All three plots take one object and give one node:
 *   label    what the plot shows, in words: its title
 *   columns  [{ name, more }]: one per step along the plot; `more` is said beside the name in the read-out
 *   series   [{ name, kind, values }]: one value per column, null where there is none; `kind` is one of
 *            picture.js KINDS, or tools, accent, good, quiet
 *   write    how a value is written (format.js), default number; `tick` the same for the scale, where it should be shorter
 *   top      the value at the top; default a round one above the largest
 *   limit    { name, value }: a line across
 *   pick     called with the index of a column that is clicked, or at which Enter is pressed
 * The legend tells the values of the column under the pointer or the arrow keys, else of the last one.
 */
export const lines = (said) => plot(said, drawLine, Math.max);

/** Stacked bars: the series stand on each other in the order they are given. Takes what `lines` takes. */
export const stacks = (said) => plot(said, drawBars, (a, b) => a + b);

/** A tiny line for a place in a text: spark({ label, values, kind, top }). */
export function spark({ label, values, kind = 'accent', top }) {
  const highest = top || Math.max(...values.map((value) => value ?? 0), 1e-9);
  const shown = values.map((value) => value ?? null);
  return svg('svg', { class: `spark kind-${kind}`, viewBox: `0 0 ${Math.max(1, values.length)} 1`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    svg('path', { class: 'plot-line', d: linePath(shown, highest) }));
}

function plot(said, draw, join) {
  const { label, columns, series, write = number, tick = write } = said;
  const top = said.top || round(Math.max(said.limit?.value ?? 0, ...columns.map((_, index) => series.reduce((all, one) => join(all, one.values[index] ?? 0), 0))));
  const told = h('ul', { class: 'legend plot-legend' });
  const where = h('p', { class: 'plot-where' });
  const cursor = h('div', { class: 'plot-cursor', hidden: true });
  const area = h('div', { class: 'plot-area' }, grid(),
    svg('svg', { class: 'plot-drawing', viewBox: `0 0 ${Math.max(1, columns.length)} 1`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, draw(series, columns.length, top)),
    said.limit ? limitLine(said.limit, top, write) : null, cursor);
  follow(area, cursor, said, (index) => {
    const column = columns[index];
    put(where, h('strong', {}, column?.name ?? ''), column?.more ? ` ${column.more}` : '');
    put(told, series.map((one) => h('li', { dataset: { series: one.kind } }, h('span', { class: `swatch kind-${one.kind}`, 'aria-hidden': 'true' }),
      h('span', { class: 'grow' }, one.name), h('span', { class: 'digits' }, written(one.values[index], write)))));
  });
  return h('figure', { class: 'plot' }, h('figcaption', {}, h('p', { class: 'plot-title' }, label), h('p', { class: 'hidden' }, describe(said, write))),
    h('div', { class: 'plot-frame' }, scale(top, tick), area), ends(columns), where, told);
}

const written = (value, write) => (value === null || value === undefined ? '–' : write(value));

/** The plot in sentences: from where to where, and each series' least, most and last. */
function describe({ columns, series }, write) {
  if (!columns.length) return t('plot.none');
  const of = (one) => {
    const values = one.values.filter((value) => value !== null && value !== undefined);
    return values.length ? t('plot.series', { name: one.name, least: write(Math.min(...values)), most: write(Math.max(...values)), last: write(values.at(-1)) }) : t('plot.without', { name: one.name });
  };
  return [t('plot.columns', { n: columns.length, from: columns[0].name, to: columns.at(-1).name }), ...series.map(of)].join(' ');
}

// The column under the pointer or the keys is told; without either, the last.
function follow(area, cursor, { label, columns, series, pick, write = number }, tell) {
  const last = columns.length - 1;
  let at = last;
  const words = () => `${columns[at]?.name ?? ''}: ${series.map((one) => `${one.name} ${written(one.values[at], write)}`).join(', ')}`;
  const to = (index, isShown) => {
    at = Math.min(last, Math.max(0, index));
    cursor.hidden = !isShown;
    cursor.style.left = `${(100 * at) / Math.max(1, columns.length)}%`;
    cursor.style.width = `${100 / Math.max(1, columns.length)}%`;
    area.setAttribute('aria-valuenow', String(at + 1));
    area.setAttribute('aria-valuetext', words());
    tell(at);
  };
  const under = (event) => Math.floor(((event.clientX - area.getBoundingClientRect().left) / area.clientWidth) * columns.length);
  const keys = { ArrowLeft: () => at - 1, ArrowRight: () => at + 1, PageUp: () => at - 10, PageDown: () => at + 10, Home: () => 0, End: () => last };
  if (columns.length) {
    for (const [name, value] of Object.entries({ role: 'slider', tabindex: '0', 'aria-label': label, 'aria-valuemin': '1', 'aria-valuemax': String(columns.length) })) area.setAttribute(name, value);
    area.addEventListener('pointermove', (event) => to(under(event), true));
    area.addEventListener('pointerleave', () => to(last, false));
    area.addEventListener('blur', () => to(last, false));
    area.addEventListener('click', (event) => pick?.(Math.min(last, Math.max(0, under(event)))));
    area.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') pick?.(at);
      if (!keys[event.key]) return;
      event.preventDefault();
      to(keys[event.key](), true);
    });
  }
  if (pick) area.classList.add('plot-picks');
  to(last, false);
}

function drawBars(series, count, top) {
  const base = new Array(count).fill(0);
  const side = count > 160 ? 0 : 0.1;
  return series.map((one) => {
    const rects = one.values.map((value, index) => {
      if (!value) return '';
      base[index] += value;
      return `M${index + side} ${1 - base[index] / top}h${1 - 2 * side}v${value / top}h${2 * side - 1}z`;
    });
    return svg('path', { class: `plot-fill kind-${one.kind}`, d: rects.join('') });
  });
}

const drawLine = (series, count, top) => series.map((one) => svg('path', { class: `plot-line kind-${one.kind}`, d: linePath(one.values, top) }));

// A value between two gaps is a stroke of no length, which round ends make a dot.
function linePath(values, top) {
  let isOn = false;
  return values.map((value, index) => {
    if (value === null || value === undefined) { isOn = false; return ''; }
    const step = `${isOn ? 'L' : 'M'}${index + 0.5} ${1 - Math.min(1, value / top)}${isOn ? '' : 'h0'}`;
    isOn = true;
    return step;
  }).join('');
}

const TICKS = [0, 0.5, 1];

const grid = () => TICKS.map((share) => placed(h('div', { class: 'plot-rule' }), share));

const scale = (top, write) => h('div', { class: 'plot-scale', 'aria-hidden': 'true' }, TICKS.map((share) => placed(h('span', {}, write(top * share)), share)));

const limitLine = (limit, top, write) => placed(h('div', { class: 'plot-limit' }, h('span', {}, `${limit.name} ${write(limit.value)}`)), Math.min(1, limit.value / top));

const ends = (columns) => h('div', { class: 'plot-ends', 'aria-hidden': 'true' }, h('span', {}, columns[0]?.name ?? ''), columns.length > 1 ? h('span', {}, columns.at(-1).name) : null);

function placed(node, share) {
  node.style.bottom = `${100 * share}%`;
  return node;
}

// 1, 2, 4, 5 or 10 times a power of ten, so that the half is round as well.
function round(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 4, 5, 6, 8, 10].find((step) => step * power >= value * 0.999999);
}
