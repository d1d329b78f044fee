// What was found, session by session in the order of the best message of each.
import { h } from '../dom.js';
import { moment } from '../format.js';
import { t } from '../i18n.js';
import { called, doubled } from '../names.js';
import { sessionHref } from '../route.js';
import { roleName } from '../chat/message.js';

/** The list of what was found. */
export function drawHits(found) {
  const groups = new Map();
  for (const hit of found) groups.set(hit.session, [...(groups.get(hit.session) ?? []), hit]);
  const all = [...groups.values()];
  const alike = doubled(all.map(([hit]) => hit.title));
  return h('div', { class: 'hit-groups' }, all.map((hits) => group(hits, alike)));
}

function group(hits, alike) {
  const [{ session, title, declared }] = hits;
  return h('section', { class: 'hit-group' },
    h('h2', { class: 'hit-title' }, h('a', { href: sessionHref(session), dir: 'auto' }, title || t('untitled')), alike.has(title) ? h('bdi', { class: 'id' }, called({ id: session, declared })) : null,
      h('span', { class: 'muted' }, t('search.hits', { n: hits.length }))),
    h('ul', { class: 'hits' }, hits.map((hit) => h('li', {}, drawHit(hit)))));
}

function drawHit(hit) {
  // What branches share is shown where the conversation goes on now.
  return h('a', { class: 'hit', href: sessionHref(hit.session, 'chat', { at: hit.message }) },
    h('span', { class: 'hit-head' }, h('strong', {}, roleName(hit.role)), h('span', { class: 'id' }, hit.message), h('time', { datetime: hit.at }, moment(hit.at))),
    h('span', { class: 'hit-text', dir: 'auto' }, hit.snippet.map((piece) => (piece.hit ? h('mark', {}, piece.text) : piece.text))));
}
