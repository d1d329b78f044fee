// A note of the fold: its words, which can be edited, and the originals it stands for.
import { tell } from '../actions.js';
import { get, put as send, tagOf } from '../api.js';
import { dialog } from '../dialog.js';
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';
import { drawMessage } from './message.js';

const drawn = new WeakMap();

/** A row of the card: title and lines, and what opens under them. */
export function noteRow(note, chat) {
  const originals = h('div', { class: 'note-originals' });
  const title = h('span', { class: 'note-title', dir: 'auto' });
  const lines = h('ul', { class: 'note-lines' });
  const by = h('span', { class: 'note-by muted' });
  const draw = (now) => {
    put(title, now.title || t('untitled'));
    put(lines, (now.lines ?? []).map((line) => h('li', { dir: 'auto' }, line)));
    put(by, `${t('messages', { n: note.messages ?? 0 })}${now.by ? ` · ${t(`by.${now.by}`)}` : ''}`);
  };
  const edited = (answer) => {
    const [first, ...rest] = (answer.text ?? '').split('\n');
    draw({ title: answer.title || first, lines: note.page === null ? [] : rest.filter(Boolean), by: answer.by });
  };
  draw(note);
  const edit = h('button', { class: 'icon-button small', type: 'button', title: t('note.edit'), 'aria-label': t('note.edit.of', { note: note.shown }), on: { click: () => editNote(note, chat, edited) } }, icon('edit'));
  const box = h('details', { class: 'note' }, h('summary', {}, icon('right'), h('span', { class: 'id' }, note.shown), title, by), originals);
  box.addEventListener('toggle', () => { if (box.open && !originals.childNodes.length) showOriginals(note, chat, originals); });
  const row = h('div', { class: 'note-row' }, h('div', { class: 'grow' }, box, lines), edit);
  drawn.set(row, { name: note.name, draw });
  return row;
}

/** Gives a row the words its note has now; false if it is the row of another. */
export function redrawNote(row, note) {
  const { name, draw } = drawn.get(row);
  if (name === note?.name) draw(note);
  return name === note?.name;
}

async function showOriginals(note, chat, node) {
  put(node, waiting());
  try {
    if (note.page === null) return put(node, h('pre', { class: 'note-text', tabindex: '0' }, await noteText(note, chat)));
    const page = await get(chat.place.api(`pages/${note.page}`), { branch: chat.place.branch, render: 'html' });
    return put(node, page.messages.map((message) => h('div', { class: 'message-item under' }, drawMessage(message, chat))));
  } catch (error) {
    return put(node, trouble(error, () => showOriginals(note, chat, node)));
  }
}

const route = (note, chat) => chat.place.api(`notes/${encodeURIComponent(note.name.replace('#', ''))}`);

const noteText = async (note, chat) => (await get(route(note, chat), { branch: chat.place.branch })).text;

/** Lets a person put a note in their own words; `edited(answer)` when they have. What it says otherwise by then is shown first. */
export async function editNote(note, chat, edited) {
  const [path, query] = [route(note, chat), { branch: chat.place.branch }];
  const text = await tell(() => noteText(note, chat));
  if (text === null) return;
  let seen = tagOf(path, query);
  const field = h('textarea', { class: 'field wide', rows: 10, dir: 'auto', 'aria-label': t('note.text'), value: text });
  const wrong = h('div', {});
  const save = async () => {
    try {
      edited(await send(path, { text: field.value }, query, seen));
      return true;
    } catch (error) {
      const now = error.code === 'changed' ? await tell(() => noteText(note, chat)) : null;
      if (now === null) put(wrong, trouble(error));
      else put(wrong, trouble({ detail: t('note.changed') }), h('pre', { class: 'note-text', tabindex: '0' }, now));
      seen = tagOf(path, query);
      return false;
    }
  };
  dialog(t('note.edit.of', { note: note.shown }), [h('p', { class: 'muted' }, t('note.hint')), field, wrong], [{ label: t('cancel') }, { label: t('save'), primary: true, act: save }], { wide: true });
}
