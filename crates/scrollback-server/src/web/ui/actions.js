// What a person does to a session, and the words that tell what came of it.
import { del, file, post, put } from './api.js';
import { confirm } from './dialog.js';
import { h } from './dom.js';
import { t } from './i18n.js';
import { toast } from './toast.js';
import { words } from './notice.js';
import { go } from './route.js';
import { freeDraft } from './chat/drafts.js';

// Sessions that this page is erasing: it hears of that twice.
const erasing = new Set();

/** Does something and tells its result; a problem is told, and `null` comes back. */
export async function tell(act, say) {
  try {
    const answer = await act();
    if (say) toast(say(answer));
    return answer;
  } catch (error) {
    toast(words(error), 'bad');
    return null;
  }
}

/** Compress, undo or redo: `what` is the route's name. */
export async function fold(place, what) {
  // Where there is nothing to go to, nothing is changed.
  const nothing = (error) => { if (error.code !== 'not_found') throw error; return { changed: false }; };
  const answer = await tell(() => post(place.api(what), undefined, { branch: place.branch }).catch(nothing), (done) => foldWords(what, done));
  if (answer) await place.changed();
  return answer;
}

/** What a fold did, as a sentence. */
export function foldWords(what, done) {
  if (!done.changed) return t(`${what}.nothing`);
  if (done.folded) return t('folded.now', { n: done.folded, tokens: done.tokens ?? 0, note: done.note_tokens ?? 0 });
  if (done.opened) return t('opened.now', { n: done.opened });
  return t(`${what}.done`);
}

/** Chooses the strategy of a session; 'default' is that of the settings. */
export async function setStrategy(place, strategy) {
  const answer = await tell(() => put(place.api('strategy'), { strategy }, { branch: place.branch }), (done) => t('strategy.now', { layout: done.layout }));
  await place.changed();
  return answer;
}

/** Pins a message or lets go of it. */
export async function setPinned(place, message, isPinned) {
  const answer = await tell(() => decide(place, `pins/${message}`, isPinned), () => t(isPinned ? 'pin.done' : 'unpin.done', { message }));
  if (answer) await place.changed();
  return answer;
}

/** Leaves a message out of every window, or shows it again. */
export async function setExcluded(place, message, isExcluded) {
  const say = (done) => t(isExcluded ? 'exclude.done' : 'include.done', { messages: done.messages?.join(', ') ?? message })
    + (done.told?.length ? ` ${t('exclude.told', { notes: done.told.map((told) => told.note).join(', ') })}` : '');
  const answer = await tell(() => decide(place, `excluded/${message}`, isExcluded), say);
  if (answer) await place.changed();
  return answer;
}

/** Takes a rule up again, or lets go of it. */
export async function setRule(place, rule, isHeld) {
  const answer = await tell(() => decide(place, `rules/${rule}`, isHeld), () => t(isHeld ? 'rule.restored' : 'rule.dropped', { rule }));
  if (answer) await place.changed();
  return answer;
}

// Decides something about the branch that is shown.
function decide(place, what, isSo) {
  const [path, query] = [place.api(what), { branch: place.branch }];
  return isSo ? put(path, undefined, query) : del(path, query);
}

/** Erases the session for good, if that is meant. */
export async function erase(about) {
  const title = about.title || t('untitled');
  const isMeant = await confirm(t('erase.title'), t('erase.text', { title, n: about.messages }), t('erase'), { danger: true });
  if (!isMeant) return;
  erasing.add(about.id);
  const done = await tell(() => del(`/api/sessions/${about.id}`), (answer) => t('erase.done', { title, n: answer.erased }));
  erasing.delete(about.id);
  if (done) go('#/', { quietly: true });
}

/** Goes elsewhere when somebody else erased the session that is shown. */
export function leaveErased(place) {
  if (erasing.has(place.id)) return;
  freeDraft(place.id);
  toast(t('erase.elsewhere'));
  go('#/', { quietly: true });
}

/** Saves the session as a file: everything as it came with all its branches, otherwise the branch that is shown. */
export async function save(place, format) {
  const branch = format === 'jsonl' ? null : place.branch;
  const got = await tell(() => file(place.api('export'), { format, branch }));
  if (got) saveBlob(got.blob, got.name);
}

/** Saves bytes as a file. */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copies text and says so. */
export const copy = (text, said = t('copied')) => tell(() => (navigator.clipboard ? navigator.clipboard.writeText(text) : copyByHand(text)), () => said);

// Pages that are not served from this machine or by HTTPS have no clipboard of their own. An open dialog lets nothing else be selected.
function copyByHand(text) {
  const before = document.activeElement;
  const field = ([...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body).appendChild(h('textarea', { class: 'hidden', value: text }));
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  before?.focus();
  if (!isCopied) throw new Error(t('copied.not'));
}
