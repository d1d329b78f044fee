// The field to write in: it grows, Enter sends, Shift+Enter breaks the line; never while characters are being composed.
// Under a finger Enter breaks the line, since there is no Shift+Enter.
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { isComposing } from '../keys.js';
import { heed } from './commands.js';
import { draftOf, keepDraft } from './drafts.js';
import { makeOptions } from './options.js';
import { makeSuggestions } from './suggestions.js';
import { note, trouble } from '../notice.js';

const NOTHING = { after: null, instead: null, without: null, aside: '' };

/** Makes it: { node, focus(), takeUp(), giveBack(draft), answerAfter(id, …), setRunning(isRunning), status }. */
export function makeComposer(chat) {
  const options = makeOptions(chat.place, keep);
  const after = h('div', { class: 'composer-after' });
  const refusal = h('div', {});
  const status = h('div', { class: 'composer-status' });
  const field = h('textarea', { rows: 1, dir: 'auto', 'aria-label': t('composer'), placeholder: t('composer.hint'), enterkeyhint: isTouch() ? 'enter' : 'send', on: { input: changed, keydown: press } });
  const button = h('button', { class: 'button primary send', type: 'button', on: { click: () => (chat.turn.isRunning() ? chat.turn.stop() : submit()) } });
  // `aside` are words that were being written when another message was taken up to be said anew.
  const state = { ...NOTHING };
  const suggestions = makeSuggestions(field, fill);

  function keep() {
    keepDraft(chat.place.id, { ...state, text: field.value, ...options.beginning() });
  }

  function changed() {
    keep();
    put(refusal);
    grow();
  }

  function write(draft) {
    Object.assign(state, { after: draft.after, instead: draft.instead, without: draft.without, aside: draft.aside ?? '' });
    field.value = draft.text;
    put(after, state.after ? afterLines(state, () => composer.answerAfter(null)) : null);
    changed();
  }

  function grow() {
    field.style.height = 'auto';
    field.style.height = `${Math.min(field.scrollHeight, 240)}px`;
    suggestions.draw();
  }

  function fill(name) {
    field.value = name.replace(/ .*/, ' ');
    field.focus();
    changed();
  }

  function press(event) {
    if (isComposing(event) || suggestions.press(event)) return;
    if (event.key === 'Escape') return state.after ? composer.answerAfter(null) : field.blur();
    if (event.key !== 'Enter' || event.shiftKey || (isTouch() && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    if (!chat.turn.isRunning()) submit();
  }

  // What is refused stays in the field, to be put right.
  async function submit() {
    const said = field.value;
    if (!said.trim()) return;
    const draft = { ...state, text: said.trimEnd(), aside: '' };
    field.value = '';
    changed();
    const heeded = await heed(said, chat);
    if (heeded?.refused) return refuse(said, heeded.refused);
    if (heeded) return;
    write({ ...NOTHING, text: state.aside });
    // What a line is indented by is part of it.
    chat.turn.run({ message: said.replace(/^\s*\n/, '').trimEnd(), after: draft.after, ...options.chosen() }, draft);
  }

  function refuse(said, why) {
    field.value = said;
    changed();
    put(refusal, trouble({ detail: why }));
  }

  const composer = {
    node: h('div', { class: 'composer' }, options.notice, status, after, refusal, suggestions.node,
      h('div', { class: 'composer-box' }, field, h('div', { class: 'composer-row' }, options.node, button))),
    status,
    focus: () => field.focus(),
    /** Shows what was being written here when one left. */
    takeUp() {
      const kept = draftOf(chat.place.id);
      if (kept) options.takeUp(kept);
      if (kept && kept.text !== field.value) write({ ...kept, text: both(kept.text, field.value) });
    },
    /** Puts words back that could not be sent, before those that were written since; words for different places stay apart. */
    giveBack(draft) {
      if (draft.after) write({ ...draft, aside: both(field.value, state.aside) });
      else if (state.after) write({ ...state, text: field.value, aside: both(draft.text, state.aside) });
      else write({ ...state, text: both(draft.text, field.value) });
    },
    /** The next message answers after this one, as a branch; null for the end of the log. */
    answerAfter(id, { text, instead, without } = {}) {
      const aside = state.aside || (text === undefined ? '' : field.value);
      if (id) write({ text: text ?? field.value, after: id, instead: instead ?? null, without: without ?? null, aside });
      else write({ ...NOTHING, text: state.aside || field.value });
      if (id) field.focus();
    },
    setRunning(isRunning) {
      put(button, icon(isRunning ? 'stop' : 'send'), h('span', {}, t(isRunning ? 'stop' : 'send')));
      button.classList.toggle('primary', !isRunning);
    },
  };
  composer.setRunning(false);
  return composer;
}

const both = (...words) => words.filter(Boolean).join('\n\n');
const isTouch = () => matchMedia('(pointer: coarse)').matches;

function afterLines({ after, instead, without }, cancel) {
  const words = instead ? t('composer.instead', { id: instead }) : t('composer.after', { id: after });
  return [note(words, ' ', h('button', { class: 'button small plain', type: 'button', on: { click: cancel } }, t('cancel'))),
    without ? trouble({ detail: t('composer.without', { id: instead, what: listed(without) }) }) : null];
}

const listed = (kinds) => Object.entries(kinds).map(([kind, n]) => t(`without.${kind}`, { n })).join(t('without.and'));
