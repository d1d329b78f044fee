// A document: title, summary, and its sections, each with the messages it was made from.
import { saveBlob } from '../actions.js';
import { editNote } from '../chat/note.js';
import { dressCode } from '../chat/code.js';
import { h, html } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { messageLinks } from '../split.js';

/** The document; `screen` is { place, versions, isListed, edited(), read(version) }. */
export function drawDocument(artifact, screen) {
  const newest = screen.versions.at(-1)?.version;
  return h('article', { class: 'document' }, head(artifact, screen, newest),
    newest && artifact.version < newest ? earlier(artifact, newest, screen) : null,
    artifact.summary ? h('p', { class: 'document-summary', dir: 'auto' }, artifact.summary) : null,
    artifact.parts.map((part) => section(part, screen.place)));
}

function head(artifact, screen, newest) {
  const edited = () => screen.edited();
  const edit = () => editNote({ name: artifact.id, shown: artifact.id }, { place: screen.place }, edited);
  const canEdit = screen.isListed && artifact.version >= newest;
  return h('header', { class: 'record-head' },
    h('div', { class: 'row' }, h('span', { class: 'id' }, artifact.id), h('span', { class: 'chip' }, t('artifacts.version', { n: artifact.version })), h('span', { class: 'chip' }, t(`artifacts.by.${artifact.by}`)),
      h('span', { class: 'push row' }, h('button', { class: 'button small', type: 'button', on: { click: () => saveBlob(new Blob([artifact.markdown], { type: 'text/markdown' }), `${artifact.id}.md`) } }, icon('export'), 'Markdown'),
        canEdit ? h('button', { class: 'button small', type: 'button', on: { click: edit } }, icon('edit'), t('artifacts.edit')) : null)),
    h('h2', { class: 'record-title', dir: 'auto' }, artifact.title || t('untitled')));
}

const earlier = (artifact, newest, screen) => h('div', { class: 'notice' }, icon('about'), h('span', { class: 'grow' }, t('artifacts.earlier', { n: artifact.version, newest })),
  h('button', { class: 'button small', type: 'button', on: { click: () => screen.read(null) } }, t('artifacts.newest')));

function section(part, place) {
  const body = h('div', { class: 'markdown' });
  return h('section', { class: 'document-section' }, h('h3', { dir: 'auto' }, part.heading), dressCode(html(body, part.html)),
    part.sources.length ? h('p', { class: 'document-sources' }, h('span', { class: 'muted' }, t('artifacts.sources')), messageLinks(place, part.sources)) : null);
}
