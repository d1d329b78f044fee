// The contents page: as the model reads it, and as a list of pages or notes that can be opened and edited.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { day, percent } from '../format.js';
import { t } from '../i18n.js';
import { empty } from '../notice.js';
import { noteRow } from '../chat/note.js';
import { makeReader } from '../chat/reader.js';

const AT_ONCE = 100;

export async function show(root, place) {
  const reader = makeReader(place, root);
  let seen = null;
  const draw = async () => {
    const contents = await get(place.api('contents'), { branch: place.branch });
    const { notes } = contents.pages.length ? { notes: contents.pages.map(ofPage) } : await get(place.api('notes'), { branch: place.branch });
    // An edit is told as a fold too; what stays the same is not drawn anew under a reader's eyes.
    const now = JSON.stringify([contents, notes]);
    if (now === seen) return;
    seen = now;
    keepOpen(root, () => put(root, contents.covers ? [head(contents, place), body(contents, notes, reader)] : nothing(place)));
  };
  // Who is writing in a dialog comes back to the button it was opened with.
  const later = () => { if (document.querySelector('dialog[open]')) setTimeout(later, 200); else if (root.isConnected) draw().catch(() => {}); };
  await draw();
  place.live((event) => { if (['fold', 'turn', 'reply', 'again'].includes(event.name)) later(); });
}

// Draws anew; notes that were open stay open, and focus stays at its note.
function keepOpen(root, change) {
  const nameOf = (node) => node?.closest('[data-note]')?.dataset.note;
  const open = [...root.querySelectorAll('.note[open]')].map(nameOf);
  const focused = root.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  change();
  for (const row of root.querySelectorAll('[data-note]')) {
    if (open.includes(row.dataset.note)) row.querySelector('.note').open = true;
    if (row.dataset.note === focused) row.querySelector('.icon-button')?.focus({ preventScroll: true });
  }
}

const nothing = (place) => empty(t('contents.none'), h('p', {}, t('contents.none.text')), h('a', { class: 'button', href: place.href('chat') }, t('tab.chat')));

const ofPage = (page) => ({ ...page, name: String(page.page), shown: `#${page.page}` });

function head(contents, place) {
  const [from, to] = contents.covers;
  const share = percent((100 * contents.tokens) / Math.max(1, contents.original_tokens));
  return h('header', { class: 'contents-head', dataset: { tokens: contents.tokens, original: contents.original_tokens } },
    h('p', { class: 'view-full' }, h('strong', {}, share), h('span', { class: 'muted' }, t('fold.tokens', { original: contents.original_tokens, tokens: contents.tokens }))),
    h('p', { class: 'view-facts muted' }, h('a', { href: place.href('chat', { at: from }) }, t('fold.range', { from, to })), h('code', {}, contents.layout)));
}

function body(contents, notes, reader) {
  return h('div', { class: 'contents-parts' },
    h('section', { class: 'contents-list' }, notes.length ? h('h2', {}, t(contents.pages.length ? 'contents.pages' : 'contents.notes', { n: notes.length })) : null, unlisted(contents, reader.place), rows(contents, notes, reader)),
    h('section', { class: 'contents-text' }, h('h2', {}, t('contents.text')), h('pre', { class: 'block-text', tabindex: '0', 'aria-label': t('contents.text'), dataset: { contents: true } }, contents.text)));
}

function rows(contents, notes, reader) {
  if (!notes.length) return elsewhere(contents, reader.place);
  const list = h('ol', { class: 'contents-rows' });
  const more = h('button', { class: 'button small', type: 'button', on: { click: () => add() } }, t('more'));
  let shown = 0;
  function add() {
    const next = notes.slice(shown, shown + AT_ONCE);
    list.append(...next.map((note) => row(note, reader)));
    shown += next.length;
    more.hidden = shown >= notes.length;
  }
  add();
  if (notes.length === 1) list.querySelector('.note').open = true;
  return [list, more];
}

function row(note, reader) {
  const whole = { shown: note.name, page: null, lines: [], ...note };
  return h('li', { class: 'contents-row', dataset: { note: note.name } }, noteRow(whole, reader), h('p', { class: 'contents-facts' }, facts(note, reader.place)), kept(note, reader.place));
}

// What a summary quotes, and what it leaves out: it says so itself.
function kept(note, place) {
  const chips = (words, key, chip) => (words?.length ? h('details', { class: 'contents-more discloses' }, h('summary', {}, icon('right'), t(key, { n: words.length })), h('ul', {}, words.map((word) => h('li', { class: 'chip' }, chip(word))))) : null);
  return [chips(note.quotes, 'contents.quotes', (id) => h('a', { href: place.href('chat', { at: id }) }, id)), chips(note.lost, 'contents.lost', (word) => word)];
}

function facts(note, place) {
  const [from, to] = note.covers ?? [];
  const [first, last] = (note.at ?? []).map(day);
  return [from ? h('a', { href: place.href('chat', { at: from }) }, icon('right'), from === to ? from : `${from}–${to}`) : null,
    first ? h('span', {}, first === last ? first : `${first} – ${last}`) : null,
    note.recalls ? h('span', {}, t('status.recalls', { n: note.recalls })) : null,
    note.version ? h('span', {}, t('contents.version', { n: note.version })) : null,
    note.kind === 'artifact' ? h('a', { href: place.href('artifacts', { artifact: note.name }) }, t('tab.artifacts')) : null];
}

function unlisted(contents, place) {
  if (!contents.unlisted || !contents.pages.length) return null;
  return h('p', { class: 'notice' }, icon('about'), h('span', { class: 'grow' }, t('contents.unlisted', { n: contents.unlisted }), ' ', h('a', { href: place.href('chat', { at: contents.covers[0] }) }, t('contents.unlisted.open'))));
}

// With topics, nothing is told in pages: what is folded is sorted, and found by what it is about.
function elsewhere(contents, place) {
  const isTopics = contents.layout.startsWith('topics');
  return h('div', { class: 'card stack' }, h('p', {}, t(isTopics ? 'contents.topics' : 'contents.bare')), isTopics ? h('p', {}, h('a', { class: 'button', href: place.href('topics') }, t('tab.topics'))) : null);
}
