// The card that stands for everything under notes: how much it is, its pages, and the way to the originals.
import { fold, tell } from '../actions.js';
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';
import { noteRow, redrawNote } from './note.js';

const AT_ONCE = 50;

/** The card; what it counts is fetched after it stands. */
export function makeFoldCard(chat) {
  const { place, log } = chat;
  const title = h('span', { class: 'grow' });
  const body = h('div', { class: 'fold-body' });
  const inPlace = h('button', { class: 'button small', type: 'button', on: { click: turnOriginals } });
  const box = h('details', { class: 'fold-card' }, h('summary', {}, icon('right'), icon('fold'), title), body);
  const foot = h('div', { class: 'fold-foot row' }, inPlace,
    h('button', { class: 'button small plain', type: 'button', on: { click: () => fold(place, 'undo') } }, icon('undo'), t('undo')),
    h('a', { class: 'push', href: place.href('contents') }, t('tab.contents')));
  const range = () => (log.folded() ?? ['', '']);
  let rows = [];

  function drawButton() {
    put(inPlace, icon(log.isOpen() ? 'fold' : 'open'), t(log.isOpen() ? 'fold.hide' : 'fold.show'));
  }

  async function turnOriginals() {
    inPlace.disabled = true;
    await tell(() => log.setOpen(!log.isOpen()));
    inPlace.disabled = false;
    drawButton();
  }

  async function count() {
    const [from, to] = range();
    put(title, t('fold.range', { from, to }));
    try {
      const notes = await fetchNotes(place);
      put(title, h('strong', {}, howMuch(notes)), h('span', { class: 'muted' }, `${t('fold.tokens', { original: notes.original, tokens: notes.tokens })} · ${from}–${to}`));
      return notes;
    } catch {
      return null; // its range stands there already
    }
  }

  // A note may have other words now, such as after an edit that was undone: who reads in it is not disturbed.
  chat.redrawNotes = async () => {
    const notes = await count();
    if (!notes || !rows.length) return;
    if (!rows.every((row, at) => redrawNote(row, notes.list[at]))) begin(notes);
  };

  async function open() {
    if (!box.open || rows.length) return;
    put(body, waiting());
    try {
      begin(await fetchNotes(place));
    } catch (error) {
      put(body, trouble(error, open));
    }
  }

  function begin(notes) {
    rows = [];
    put(body);
    more(notes);
  }

  function more(notes) {
    body.querySelector('.fold-more')?.remove();
    const next = notes.list.slice(rows.length, rows.length + AT_ONCE).map((note) => noteRow(note, chat));
    body.append(...next);
    rows.push(...next);
    if (rows.length < notes.list.length) body.append(h('button', { class: 'button small fold-more', type: 'button', on: { click: () => more(notes) } }, t('more')));
    else if (notes.unlisted) body.append(h('p', { class: 'muted fold-more' }, t('fold.unlisted', { n: notes.unlisted })));
  }

  box.addEventListener('toggle', open);
  queueMicrotask(() => { drawButton(); count(); });
  return h('section', { class: 'fold', 'aria-label': t('fold.label') }, box, foot);
}

// Messages and notes are counted each by itself: there may be one of either.
function howMuch({ isPages, messages, list }) {
  const folded = t('fold.only', { n: messages });
  if (isPages) return t('fold.pages', { folded, listed: t('fold.listed', { n: list.length }) });
  return list.length ? t('fold.notes', { messages: t('messages', { n: messages }), notes: t('contents.notes', { n: list.length }) }) : folded;
}

/** What stands for the folded stretch, in one shape for pages, summaries and artifacts. */
async function fetchNotes(place) {
  const contents = await get(place.api('contents'), { branch: place.branch });
  const counts = { tokens: contents.tokens, original: contents.original_tokens, unlisted: contents.unlisted ?? 0 };
  if (contents.pages.length) {
    const list = contents.pages.map((page) => ({ name: String(page.page), shown: `#${page.page}`, page: page.page, title: page.title, lines: page.lines, by: page.by, messages: page.messages, covers: page.covers }));
    return { ...counts, isPages: true, list, messages: sum(list) + counts.unlisted };
  }
  const { notes } = await get(place.api('notes'), { branch: place.branch });
  const list = notes.map((note) => ({ ...note, shown: note.name, page: null, lines: [] }));
  // A message may be a source of several documents.
  const most = contents.covers ? number(contents.covers[1]) - number(contents.covers[0]) + 1 : 0;
  return { ...counts, isPages: false, list, messages: Math.max(counts.unlisted, Math.min(most, sum(list))) };
}

const number = (id) => Number(id.slice(1));

const sum = (list) => list.reduce((all, note) => all + (note.messages ?? 0), 0);
