// A topic: what it is about, how it was scored, what happened to it, and its messages.
import { tell, saveBlob } from '../actions.js';
import { get } from '../api.js';
import { h } from '../dom.js';
import { moment, number } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { lines } from '../plot.js';
import { topicEvents } from './history.js';
import { topicMessages } from './messages.js';
import { badge, score } from './state.js';

/** The nodes of a topic; `screen` is { place, history, choose(id), topics() }. */
export function drawTopic(topic, screen) {
  return [head(topic, screen), words(topic), scores(topic, screen.place), topicEvents(topic, screen), topicMessages(topic, screen.place)];
}

function head(topic, screen) {
  return h('header', { class: 'record-head' },
    h('div', { class: 'row' }, badge(topic.state), h('span', { class: 'id' }, topic.id),
      h('button', { class: 'button small push', type: 'button', on: { click: () => download(topic, screen.place) } }, icon('export'), t('topics.file'))),
    h('h2', { class: 'record-title', dir: 'auto' }, topic.name || t('untitled')), facts(topic, screen));
}

function facts(topic, screen) {
  const links = (ids) => ids.map((id) => topicLink(id, screen));
  const rows = [[t('topics.average'), h('strong', {}, score(topic.average))], [t('topics.messages'), number(topic.messages)], [t('topics.tokens'), number(topic.tokens)],
    topic.importance === null ? null : [t('topics.importance'), score(topic.importance)], [t('topics.first'), moment(topic.first)], [t('topics.last'), moment(topic.last)],
    topic.archived ? [t('topics.archived'), moment(topic.archived)] : null, topic.parent ? [t('topics.parent'), links([topic.parent])] : null,
    topic.refers.length ? [t('topics.refers'), h('span', { class: 'sources' }, links(topic.refers))] : null];
  return h('dl', { class: 'fact-grid' }, rows.filter(Boolean).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

function topicLink(id, { place, choose, topics }) {
  const known = topics().find((topic) => topic.id === id);
  const open = (event) => { event.preventDefault(); choose(id); };
  return h('a', { class: 'chip source', href: place.href('topics', { topic: id }), title: known?.name ?? id, on: { click: open } }, id);
}

function words({ brief, summary }) {
  return h('section', { class: 'record-part' }, h('h3', {}, t('topics.brief')), h('p', { class: 'plain', dir: 'auto' }, brief || h('span', { class: 'muted' }, t('topics.brief.none'))),
    summary ? [h('h3', {}, t('topics.summary')), h('p', { class: 'plain', dir: 'auto' }, summary)] : null);
}

function scores(topic, place) {
  if (topic.history.length < 2) return h('section', { class: 'record-part' }, h('h3', {}, t('topics.history')), h('p', { class: 'muted' }, t('topics.history.none')));
  const columns = topic.history.map((one) => ({ name: one.turn, more: moment(one.at) }));
  const series = [{ name: t('topics.score'), kind: 'topics', values: topic.history.map((one) => one.score) }];
  return h('section', { class: 'record-part' }, lines({ label: t('topics.history'), columns, series, write: score, top: 1, pick: (index) => place.go(place.href('chat', { at: columns[index].name })) }),
    h('p', { class: 'muted small-text' }, t('topics.history.about')));
}

async function download(topic, place) {
  const answer = await tell(() => get(place.api('topics/files'), { branch: place.branch }));
  const file = answer?.files.find((one) => one.path === topic.file);
  if (file) saveBlob(new Blob([file.text], { type: 'application/jsonl' }), topic.file.split('/').at(-1));
}
