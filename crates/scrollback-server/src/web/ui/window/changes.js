// What differs between two windows: marks for blocks, a sentence, and what is gone.
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { number, tokens } from '../format.js';
import { t } from '../i18n.js';
import { identity, nameOf } from './kinds.js';
import { lineOf } from './line.js';

const AT_ONCE = 12;

/** Reads a diff: { mark(block), sentence, gone }. Without one nothing is marked. */
export function readChanges(diff) {
  if (!diff) return { mark: () => null, sentence: t('window.first'), gone: [] };
  const more = new Set(diff.more.map(identity));
  const less = new Set(diff.less.map(identity));
  const fresh = diff.more.filter((block) => !less.has(identity(block)));
  const gone = diff.less.filter((block) => !more.has(identity(block)));
  const changed = diff.more.length - fresh.length;
  const mark = (block) => (!more.has(identity(block)) ? null : less.has(identity(block)) ? 'changed' : 'new');
  return { mark, gone, sentence: sentence(diff, fresh, changed, gone) };
}

function sentence(diff, fresh, changed, gone) {
  const parts = [
    fresh.length ? t('window.said.new', { n: fresh.length, tokens: sum(fresh) }) : null,
    changed ? t('window.said.changed', { n: changed }) : null,
    gone.length ? t('window.said.gone', { n: gone.length, tokens: sum(gone) }) : null,
    t('window.said.same', { n: diff.same }),
  ].filter(Boolean).join(t('window.said.and'));
  const by = diff.tokens.to - diff.tokens.from;
  return t('window.said', { other: diff.from, parts, from: diff.tokens.from, to: diff.tokens.to, by: `${by < 0 ? '−' : '+'}${number(Math.abs(by))}` });
}

const sum = (blocks) => blocks.reduce((all, block) => all + block.tokens, 0);

/** What is gone, as a list one can open. */
export function goneList(gone, other, place) {
  if (!gone.length) return null;
  const row = (block) => h('li', { dataset: { gone: identity(block) } },
    block.message ? h('a', { href: place.href('chat', { at: block.message }) }, nameOf(block)) : h('span', {}, nameOf(block)),
    h('span', { class: 'gone-line' }, lineOf(block)), h('span', { class: 'digits muted' }, tokens(block.tokens)));
  const shown = gone.slice(0, AT_ONCE).map(row);
  const list = h('ul', { class: 'gone-list' }, shown);
  const all = gone.length > AT_ONCE ? h('button', { class: 'button small', type: 'button', on: { click: () => { list.append(...gone.slice(AT_ONCE).map(row)); all.remove(); } } }, t('more')) : null;
  return h('details', { class: 'gone discloses' }, h('summary', {}, icon('right'), t('window.gone', { n: gone.length, other })), list, all);
}
