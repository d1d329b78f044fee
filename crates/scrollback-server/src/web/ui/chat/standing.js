// How a message stands in a window, in the reader's language, of the parts that the server tells: its own sentence is
// in English, and names commands.
import { moment } from '../format.js';
import { t } from '../i18n.js';

/** In a word. */
export const standingWord = (word) => known(`standing.${name(word)}`) ?? word;

/** Why it does; `standing` as the server tells it, of a message of so many tokens. */
export function standingWhy({ word, why, parts }, tokens) {
  const notes = (parts.notes ?? []).map(({ note, section }) => (section ? `${note} § ${section}` : note)).join(t('standing.and'));
  const under = [
    parts.fold ? t('standing.fold', { fold: parts.fold, at: moment(parts.folded_at) }) : '',
    parts.topic ? t('standing.topic', { topic: parts.topic, name: parts.topic_name }) : '',
  ].join('');
  const said = known(`standing.why.${reason(word, parts)}`, { tokens, notes, under, page: String(parts.page), branch: parts.branch, reason: t(`window.why.${parts.reason}`) });
  if (said === null) return why;
  return notes && ['kept', 'left out'].includes(word) ? `${said}${t('standing.within', { notes })}` : said;
}

function reason(word, { kept, branch }) {
  if (word === 'kept') return `kept.${kept}`;
  if (word === 'elsewhere') return branch === undefined ? 'beside' : 'elsewhere';
  return name(word);
}

const name = (word) => word.replaceAll(' ', '_');

function known(key, values) {
  const words = t(key, values);
  return words === key ? null : words;
}
