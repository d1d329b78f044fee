// The versions of an artifact: who wrote each and from what; and what changed between any two.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { moment } from '../format.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';
import { messageLinks } from '../split.js';
import { diffWords, drawDiff } from './diff.js';

/** The section of them. */
export function artifactVersions(artifact, screen) {
  const { versions } = screen;
  return h('section', { class: 'record-part versions' }, h('h3', {}, t('artifacts.versions', { n: versions.length })),
    h('ol', { class: 'version-list' }, [...versions].reverse().map((version) => row(version, artifact, screen))),
    numbers(versions).length > 1 ? compare(artifact, screen) : h('p', { class: 'muted' }, t('artifacts.versions.single')));
}

// Branches may each have a version of the same number; they are compared as this branch has them.
const numbers = (versions) => [...new Set(versions.map((version) => version.version))];

function row(version, artifact, screen) {
  const isHere = version.version === artifact.version;
  const name = t('artifacts.version', { n: version.version });
  return h('li', { class: isHere ? 'version here' : 'version' },
    h('div', { class: 'row' }, isHere ? h('strong', { 'aria-current': 'true' }, name) : h('button', { class: 'button small plain', type: 'button', on: { click: () => screen.read(version.version) } }, name),
      h('span', { class: 'chip' }, t(`artifacts.by.${version.by}`)), version.branch ? h('span', { class: 'chip' }, t('branch.first', { id: version.branch })) : null, h('time', { class: 'muted', datetime: version.at }, moment(version.at))),
    h('p', { class: 'document-sources' }, h('span', { class: 'muted' }, t(version.added.length ? 'artifacts.added' : 'artifacts.added.none')), messageLinks(screen.place, version.added, 8)));
}

function compare(artifact, { place, versions }) {
  const all = numbers(versions);
  const said = h('p', { class: 'muted small-text', 'aria-live': 'polite' });
  const result = h('div', {});
  const picker = (name, chosen) => h('select', { class: 'select', name, on: { change: draw } }, all.map((number) => h('option', { value: number, selected: number === chosen }, t('artifacts.version', { n: number }))));
  const at = all.indexOf(artifact.version);
  const to = picker('to', all[Math.max(1, at)]);
  const from = picker('from', all[Math.max(1, at) - 1]);

  let age = 0;

  async function draw() {
    const mine = age += 1;
    put(result, waiting());
    try {
      const answer = await get(place.api(`artifacts/${artifact.id}/diff`), { branch: place.branch, from: from.value, to: to.value });
      if (mine !== age) return;
      put(said, diffWords(answer.changes));
      put(result, drawDiff(answer.changes));
    } catch (error) {
      if (mine === age) put(result, trouble(error, draw));
    }
  }

  draw();
  return h('div', { class: 'compare' }, h('div', { class: 'row' }, h('strong', {}, t('artifacts.compare')),
    h('label', { class: 'picker' }, t('artifacts.from'), from), h('label', { class: 'picker' }, t('artifacts.to'), to)), said, result);
}
