// Topics: what a conversation is about, as a tree; the chosen one with its brief, its scores, what happened to it, its messages.
import { setStrategy } from '../actions.js';
import { get } from '../api.js';
import { h, put, putAgain } from '../dom.js';
import { t } from '../i18n.js';
import { trouble, waiting } from '../notice.js';
import { afterPause } from '../pace.js';
import { otherStrategy, remember, split, untilThere } from '../split.js';
import { makeHistory } from '../topics/history.js';
import { stateFilter } from '../topics/state.js';
import { drawTopic } from '../topics/topic.js';
import { makeTree } from '../topics/tree.js';

const PAUSE = 700;

export async function show(root, place) {
  const fetch = async () => (await get(place.api('topics'), { branch: place.branch })).topics;
  const topics = await fetch();
  if (topics.length) return showAll(root, place, topics);
  return untilThere(root, place, { nothing: (about) => nothing(place, about), fetch, show: (found) => showAll(root, place, found) });
}

async function showAll(root, place, first) {
  let topics = first;
  const history = makeHistory(place);
  const tree = makeTree(choose);
  const filter = h('div', { class: 'row filters', role: 'group', 'aria-label': t('topics.filter') });
  const halves = split([filter, tree.node], t('topics.chosen'), () => { remember(place.href('topics')); tree.focus(); });
  let wanted = null;
  const later = afterPause(refresh, PAUSE);
  place.onLeave(later.cancel);
  place.live((event) => { if (['turn', 'fold', 'topics', 'again'].includes(event.name)) later.ask(); });
  draw();
  put(root, halves.node);
  const asked = topics.find((topic) => topic.id === place.query.topic);
  if (asked) await open(asked.id);
  else if (matchMedia('(min-width: 861px)').matches) await open(tree.first(), { isQuiet: true });

  function draw() {
    putAgain(filter, stateFilter(topics, wanted, (state) => { wanted = state; draw(); }));
    tree.draw(topics, wanted);
  }

  function choose(id) {
    remember(place.href('topics', { topic: id }));
    return open(id);
  }

  async function open(id, { isQuiet = false } = {}) {
    tree.select(id);
    const fill = isQuiet ? halves.say : halves.show;
    fill(waiting());
    try {
      const topic = await get(place.api(`topics/${id}`), { branch: place.branch });
      if (tree.selected() === id) fill(drawTopic(topic, { place, history, choose, topics: () => topics }));
    } catch (error) {
      if (tree.selected() === id) fill(trouble(error, () => open(id, { isQuiet })));
    }
  }

  // What is being read stays; the tree tells what is new.
  async function refresh() {
    const answer = await get(place.api('topics'), { branch: place.branch }).catch(() => null);
    if (!answer?.topics.length) return;
    ({ topics } = answer);
    history.forget();
    draw();
  }
}

function nothing(place, about) {
  const [strategy] = (about.layout ?? '').split('@');
  if (strategy === 'topics') return otherStrategy(t('topics.none'), t('topics.none.yet'));
  return otherStrategy(t('topics.none'), t('topics.none.strategy', { strategy }), t('topics.use'), () => setStrategy(place, 'topics'));
}
