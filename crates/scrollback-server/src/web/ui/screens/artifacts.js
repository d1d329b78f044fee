// Artifacts: documents that older messages were worked into. The list, the chosen one with its sources, its versions and changes.
import { setStrategy } from '../actions.js';
import { get } from '../api.js';
import { drawDocument } from '../artifacts/document.js';
import { artifactVersions } from '../artifacts/versions.js';
import { h, put, putAgain } from '../dom.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';
import { otherStrategy, remember, split, untilThere } from '../split.js';

export async function show(root, place) {
  const fetch = async () => (await get(place.api('artifacts'), { branch: place.branch })).artifacts;
  const artifacts = await fetch();
  if (artifacts.length || place.query.artifact) return showAll(root, place, artifacts);
  return untilThere(root, place, { nothing: (about) => nothing(place, about), fetch, show: (found) => showAll(root, place, found) });
}

async function showAll(root, place, first) {
  let artifacts = first;
  const list = h('ul', { class: 'record-list', 'aria-label': t('artifacts.list') });
  const halves = split(list, t('artifacts.chosen'), () => { remember(place.href('artifacts')); list.querySelector('a')?.focus(); });
  let chosen = place.query.artifact ?? null;
  let age = 0;
  // The documents are those of the layout that counts: with another strategy there are others, or none.
  let layout = (await place.about).layout;
  place.onAbout((about) => {
    if (about.layout !== layout) refresh();
    layout = about.layout;
  });
  place.live((event) => { if (['turn', 'fold', 'again'].includes(event.name)) refresh(); });
  put(root, halves.node);
  draw();
  if (chosen) await open(chosen, { version: place.query.version });
  else if (matchMedia('(min-width: 861px)').matches) await open(artifacts[0].id, { isQuiet: true });
  return null;

  function draw() {
    putAgain(list, artifacts.map((artifact) => h('li', {}, row(artifact))));
  }

  function row(artifact) {
    const href = place.href('artifacts', { artifact: artifact.id });
    const choose = (event) => { event.preventDefault(); remember(href); open(artifact.id, {}); };
    return h('a', { class: 'record-row', href, 'aria-current': artifact.id === chosen ? 'true' : null, on: { click: choose } },
      h('span', { class: 'record-name', dir: 'auto' }, artifact.title || t('untitled')),
      h('span', { class: 'record-facts' }, h('span', { class: 'id' }, artifact.id), h('span', {}, t('artifacts.version', { n: artifact.version })), h('span', {}, t('artifacts.sections', { n: artifact.sections.length })), h('span', {}, t('messages', { n: artifact.sources.length }))));
  }

  async function open(id, { version = null, isQuiet = false }) {
    const mine = age += 1;
    chosen = id;
    draw();
    const fill = isQuiet ? halves.say : halves.show;
    fill(waiting());
    try {
      const [artifact, { versions }] = await Promise.all([get(place.api(`artifacts/${id}`), { branch: place.branch, version, render: 'html' }), get(place.api(`artifacts/${id}/versions`), { branch: place.branch })]);
      if (mine !== age) return;
      const screen = { place, versions, isListed: artifacts.some((one) => one.id === id), edited: async () => { await refresh(); await open(id, {}); }, read: (number) => { remember(place.href('artifacts', { artifact: id, version: number })); return open(id, { version: number }); } };
      fill(drawDocument(artifact, screen), artifactVersions(artifact, screen));
    } catch (error) {
      if (mine === age) fill(trouble(error, () => open(id, { version, isQuiet })));
    }
  }

  async function refresh() {
    const answer = await get(place.api('artifacts'), { branch: place.branch }).catch(() => null);
    if (!answer) return;
    ({ artifacts } = answer);
    draw();
  }
}

function nothing(place, about) {
  const [strategy] = (about.layout ?? '').split('@');
  if (strategy === 'artifacts') return otherStrategy(t('artifacts.none'), t('artifacts.none.yet'));
  return otherStrategy(t('artifacts.none'), t('artifacts.none.strategy', { strategy }), t('artifacts.use'), () => setStrategy(place, 'artifacts'));
}
