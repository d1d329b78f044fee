// How awake a topic is: a word and a shape, so that nobody has to tell colours apart.
import { h, svg } from '../dom.js';
import { locale, t } from '../i18n.js';

const STATES = ['active', 'dormant', 'archived', 'divided'];
const SHAPES = {
  active: { d: 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z', isFull: true },
  dormant: { d: 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z' },
  archived: { d: 'M3.5 4h9v8h-9zM3.5 6.5h9' },
  divided: { d: 'M8 2.5v4M8 6.5 4 10v3M8 6.5l4 3.5v3' },
};

/** The shape of a state. */
export function shape(state) {
  const { d, isFull } = SHAPES[state] ?? SHAPES.dormant;
  return svg('svg', { class: `icon state state-${state}${isFull ? ' full' : ''}`, viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true', focusable: 'false' }, svg('path', { d }));
}

/** Shape and word. */
export const badge = (state) => h('span', { class: 'state-badge', title: t(`topics.state.${state}.about`) }, shape(state), t(`topics.state.${state}`));

/** A score, from 0 to 1; a dash where there is none. */
export const score = (value) => (value === null || value === undefined ? '–' : new Intl.NumberFormat(locale(), { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value));

/** Buttons that show all topics or those of one state; `choose(state or null)`. */
export function stateFilter(topics, wanted, choose) {
  const count = (state) => topics.filter((topic) => topic.state === state).length;
  const one = (state, n, label) => h('button', { class: 'button small filter', type: 'button', 'aria-pressed': String(wanted === state), on: { click: () => choose(state) } },
    state ? shape(state) : null, label, h('span', { class: 'muted digits' }, String(n)));
  return [one(null, topics.length, t('topics.all')), ...STATES.filter(count).map((state) => one(state, count(state), t(`topics.state.${state}`)))];
}
