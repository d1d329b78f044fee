// What happened to topics: read newest first, some hundred at a time, and told for one topic in the reader's language.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { moment } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';
import { score, shape } from './state.js';

const COUNT = 500;
const SHOWN = 8;

/** What is read of the history of a session, shared by its topics: { read(), more(), hasMore(), forget() }. */
export function makeHistory(place) {
  let events = [];
  let next = null;
  let isFresh = false;
  const take = async (cursor) => {
    const page = await get(place.api('topics/events'), { count: COUNT, cursor });
    events = [...(cursor ? events : []), ...page.events];
    next = page.next;
    isFresh ||= !cursor;
    return events;
  };
  // What is forgotten is read anew for the next topic; whoever looks further back goes on from where they are.
  return { read: async () => (isFresh ? events : take()), more: () => take(next), hasMore: () => next !== null, forget: () => { isFresh = false; } };
}

/** When a topic woke and slept, and what else became of it. */
export function topicEvents(topic, { history }) {
  const list = h('ol', { class: 'events' });
  const foot = h('div', {});
  let shown = SHOWN;
  const own = (events) => events.filter((event) => event.kind !== 'scored' && event.topics.includes(topic.id));
  const button = (label, act) => h('button', { class: 'button small', type: 'button', on: { click: act } }, label);

  async function draw(read) {
    put(foot, waiting());
    try {
      const events = own(await read());
      put(list, events.slice(0, shown).map((event) => drawEvent(event, topic)));
      const rest = events.length - shown;
      if (rest > 0) put(foot, button(t('topics.events.more', { n: rest }), () => { shown = Infinity; draw(history.read); }));
      else put(foot, history.hasMore() ? button(t('topics.events.older'), () => draw(history.more)) : events.length ? null : h('p', { class: 'muted' }, t('topics.events.none')));
    } catch (error) {
      put(foot, trouble(error, () => draw(read)));
    }
  }

  draw(history.read);
  return h('section', { class: 'record-part' }, h('h3', {}, t('topics.events')), list, foot);
}

function drawEvent(event, topic) {
  const mark = event.change ? shape(event.change.became) : icon(ICONS[event.kind] ?? 'about');
  return h('li', {}, mark, h('span', { class: 'grow' }, sentence(event, topic)), h('time', { class: 'muted', datetime: event.at }, moment(event.at)));
}

const ICONS = { sorted: 'import', cue: 'recall', activated: 'recall', divided: 'branch', merged: 'branch', reviewed: 'check', archived: 'hold', imported: 'import' };

function sentence(event, topic) {
  if (event.change) return t(`topics.became.${event.change.why}`, { score: score(event.change.average) });
  const [first, ...rest] = event.topics;
  const isOther = ['merged', 'divided'].includes(event.kind) && first !== topic.id;
  const others = isOther ? first : rest.join(', ');
  const key = `topics.event.${event.kind}${isOther ? '.other' : ''}`;
  const words = t(key, { n: event.messages ?? 0, others });
  return words === key ? event.text : words;
}
