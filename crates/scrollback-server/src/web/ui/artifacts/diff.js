// Lines of two versions: signs say which is in which, before any colour does. Long runs that are the same are folded.
import { h } from '../dom.js';
import { t } from '../i18n.js';

const AROUND = 2;
const SIGNS = { more: '+', less: '−', same: ' ' };

/** How much changed, as a sentence. */
export function diffWords(changes) {
  const count = (sign) => changes.filter((change) => change.sign === sign).length;
  return count('more') || count('less') ? t('artifacts.diff', { more: count('more'), less: count('less') }) : t('artifacts.diff.none');
}

/** The changes as lines; nothing where there are none. */
export function drawDiff(changes) {
  if (changes.every((change) => change.sign === 'same')) return null;
  return h('ul', { class: 'diff', tabindex: '0', 'aria-label': t('artifacts.compare') }, runs(changes).map((run) => (run.isFar ? gap(run.lines) : run.lines.map(line))));
}

const line = ({ sign, line: text }) => h('li', { class: `diff-line ${sign}` }, h('span', { class: 'diff-sign', 'aria-hidden': 'true' }, SIGNS[sign]),
  sign === 'same' ? null : h('span', { class: 'hidden' }, t(`artifacts.diff.${sign}`)), h('span', { class: 'diff-text', dir: 'auto' }, text || '\u00a0'));

function gap(lines) {
  const item = h('li', { class: 'diff-gap' }, h('button', { class: 'button small plain', type: 'button', on: { click: () => item.replaceWith(...lines.map(line)) } }, t('artifacts.diff.same', { n: lines.length })));
  return item;
}

// Lines near a change stay with it; the others are gathered.
function runs(changes) {
  const near = changes.map((_, at) => changes.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((change) => change.sign !== 'same'));
  const all = [];
  changes.forEach((change, at) => {
    if (all.at(-1)?.isFar === !near[at]) all.at(-1).lines.push(change);
    else all.push({ isFar: !near[at], lines: [change] });
  });
  return all;
}
