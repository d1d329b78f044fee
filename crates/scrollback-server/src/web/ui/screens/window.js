// The window as a picture: every block to scale against the limit, what changed since the window before, why each block
// is there; and all windows of the session along a line.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { empty, trouble } from '../notice.js';
import { replaceAddress } from '../route.js';
import { blockCard, blockWords, howToRead } from '../window/block.js';
import { makeBlocks } from '../window/blocks.js';
import { goneList, readChanges } from '../window/changes.js';
import { compareWith, viewHead } from '../window/head.js';
import { makePage } from '../window/page.js';
import { sums } from '../window/sums.js';
import { makeTimeline } from '../window/timeline.js';
import { makeViews } from '../window/views.js';

export async function show(root, place) {
  const views = makeViews(place);
  const wanted = place.query.view ?? await newestOfBranch(place);
  await views.load(wanted);
  const start = () => run(root, place, views, wanted, place.query.with);
  if (views.list.length) return start();
  put(root, nothing(place));
  let isBegun = false;
  place.live(async () => {
    if (isBegun) return;
    await views.load();
    if (!views.list.length || isBegun) return;
    isBegun = true;
    start();
  });
}

// Who looks at a branch begins with its newest window; the line shows all branches.
async function newestOfBranch(place) {
  if (!place.query.branch) return undefined;
  const { views } = await get(place.api('views'), { branch: place.branch, count: 1 });
  return views[0]?.view;
}

const nothing = (place) => empty(t('window.none'), h('p', {}, t('window.none.text')), h('a', { class: 'button', href: place.href('chat') }, t('tab.chat')));

function run(root, place, views, wanted, other) {
  const stage = h('div', { class: 'stage' });
  const state = { view: wanted ?? views.list.at(-1).view, other: other ?? null, isNewest: !wanted };
  const timeline = makeTimeline(views, { choose, compare, wrong: (error) => put(stage, trouble(error, () => draw())) });
  let age = 0;

  function remember(isQuiet) {
    const address = place.href('window', { view: state.isNewest ? null : state.view, with: state.other });
    if (isQuiet) replaceAddress(address);
    else history.pushState(null, '', address);
  }

  function choose(name, isByKey) {
    state.isNewest = !views.hasNewer && name === views.list.at(-1).view;
    if (state.other === name) state.other = null;
    state.view = name;
    remember(isByKey);
    timeline.mark(state.view, state.other);
    draw();
  }

  function compare(name) {
    state.other = name === state.view ? null : name || null;
    remember(true);
    draw();
  }

  // Whoever holds an arrow key down should not fetch every window on the way.
  async function draw() {
    const mine = age += 1;
    await new Promise((resolve) => { setTimeout(resolve, stage.childNodes.length ? 60 : 0); });
    if (mine !== age) return;
    try {
      const name = state.view;
      const against = state.other ?? (await views.before(name))?.view ?? null;
      const [view, diff] = await Promise.all([get(place.api(`views/${name}`)), against ? get(place.api(`views/${name}/diff`), { with: against }) : null]);
      if (mine !== age) return;
      timeline.draw();
      timeline.mark(name, against);
      const focused = stage.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
      put(stage, scene(view, diff));
      if (focused) stage.querySelector(`[data-focus="${focused}"]`)?.focus({ preventScroll: true });
    } catch (error) {
      if (mine === age) put(stage, trouble(error, () => draw()));
    }
  }

  function scene(view, diff) {
    const changes = readChanges(diff);
    const card = h('div', { class: 'block-place' }, howToRead());
    const voice = h('p', { class: 'hidden', 'aria-live': 'polite' });
    const open = (index) => { page.choose(index); blocks.choose(index); put(voice, blockWords(view.blocks[index])); openBlock(view, index, changes, card, place); bringIn(card, root); };
    const page = makePage(view, changes.mark, open);
    const blocks = makeBlocks(view, changes.mark, open);
    return [viewHead(view, place, timeline.step),
      h('div', { class: 'view-change' }, h('p', { class: 'grow', 'aria-live': 'polite' }, changes.sentence), compareWith(view, state.other, views, compare)), goneList(changes.gone, diff?.from, place),
      view.notices.map((words) => h('p', { class: 'notice' }, icon('about'), h('span', { class: 'grow' }, words))),
      h('div', { class: 'window-parts' }, h('div', { class: 'window-left' }, page.node, sums(view)), card), voice, blocks.node];
  }

  put(root, timeline.node, stage);
  timeline.draw();
  timeline.mark(state.view, state.other);
  if (!wanted) timeline.toEnd();
  place.live(async (event) => {
    if (!['reply', 'turn', 'again'].includes(event.name) || !(await timeline.catchUp())) return;
    // Whoever reads a block goes on reading it.
    if (state.isNewest && !stage.querySelector('[data-open]')) { state.view = views.list.at(-1).view; draw(); timeline.toEnd(); }
  });
  return draw();
}

// A block may be chosen where its card is not in sight.
function bringIn(card, root) {
  const [seen, at] = [root.getBoundingClientRect(), card.getBoundingClientRect()];
  if (at.top < seen.top || at.top > seen.bottom - 120) card.scrollIntoView({ block: 'nearest' });
}

// The words come with the first block that is opened, for all blocks at once.
async function openBlock(view, index, changes, card, place) {
  const block = view.blocks[index];
  const mark = changes.mark(block);
  card.dataset.index = String(index);
  const isIt = () => card.dataset.index === String(index);
  const draw = (text) => put(card, blockCard(view, block, mark, text, place));
  draw(view.texts ? view.texts[index] : null);
  if (view.texts) return;
  try {
    const whole = await get(place.api(`views/${view.view}`), { text: 'true' });
    view.texts = whole.blocks.map((one) => one.text ?? '');
    if (isIt()) draw(view.texts[index]);
  } catch (error) {
    if (isIt()) put(card, trouble(error, () => openBlock(view, index, changes, card, place)));
  }
}
