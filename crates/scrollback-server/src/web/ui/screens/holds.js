// Holds: the large tool results that windows show placeholders for, and each of them line by line.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { ago, moment } from '../format.js';
import { t } from '../i18n.js';
import { empty, trouble } from '../notice.js';
import { replaceAddress } from '../route.js';
import { makeLines } from '../ledger/lines.js';

export async function show(root, place) {
  const list = h('ul', { class: 'holds-list' });
  const more = h('button', { class: 'button small', type: 'button', on: { click: () => fetchMore().catch((error) => more.replaceWith(trouble(error))) } }, t('more'));
  const viewer = h('div', { class: 'hold-view' });
  const holds = new Map();
  let next = null;
  let chosen = null;

  async function fetchMore(cursor = next) {
    const page = await get(place.api('holds'), { count: 60, cursor });
    next = page.next;
    more.hidden = !next;
    for (const hold of page.holds) if (!holds.has(hold.id)) list.append(row(hold));
    page.holds.forEach((hold) => holds.set(hold.id, hold));
  }

  function row(hold) {
    return h('li', {}, h('button', { class: 'hold-row', type: 'button', dataset: { hold: hold.id, chars: hold.chars }, on: { click: () => choose(hold.id, false) } },
      h('span', { class: 'hold-title' }, h('span', { class: 'id' }, hold.id), h('code', { class: 'tool-name' }, hold.tool ?? t('result')), hold.erased ? h('span', { class: 'chip bad' }, t('erased')) : null, h('time', { class: 'push', datetime: hold.at, title: moment(hold.at) }, ago(hold.at))),
      hold.query ? h('span', { class: 'hold-query', dir: 'auto' }, hold.query) : null,
      hold.erased ? null : h('span', { class: 'hold-brief', dir: 'auto' }, hold.brief),
      h('span', { class: 'hold-size' }, `${t('holds.chars', { n: hold.chars })} · ${t('tokens', { n: hold.tokens })}`)));
  }

  function choose(id, isQuiet) {
    if (!root.isConnected) return;
    chosen = id;
    const address = place.href('holds', { hold: id });
    if (isQuiet) replaceAddress(address);
    else history.pushState(null, '', address);
    for (const one of list.querySelectorAll('[data-hold]')) one.setAttribute('aria-current', String(one.dataset.hold === id));
    box.classList.toggle('is-open', Boolean(id));
    put(viewer, id ? makeLines(holds.get(id) ?? { id }, place, () => choose(null, false)) : h('p', { class: 'muted' }, t('holds.hint')));
  }

  const box = h('div', { class: 'holds' }, h('section', { class: 'holds-side', 'aria-label': t('holds.list') }, h('p', { class: 'muted' }, t('holds.text')), list, more), viewer);

  async function begin() {
    await fetchMore(null);
    // What no window had yet is not listed, but can be read: the chat of an imported conversation leads here.
    if (!holds.size && !place.query.hold) return put(root, empty(t('holds.none'), h('p', {}, t('holds.none.text'))));
    put(root, box);
    // Who comes with a hold finds it, however far down the list it is.
    while (root.isConnected && place.query.hold && !holds.has(place.query.hold) && next) await fetchMore();
    const isWide = matchMedia('(min-width: 861px)').matches;
    return choose(chosen ?? place.query.hold ?? (isWide ? holds.keys().next().value : null), true);
  }

  await begin();
  place.live((event) => {
    if (!['reply', 'again'].includes(event.name)) return;
    if (holds.size) fetchMore([...holds.keys()].at(-1)).catch(() => {});
    else begin().catch(() => {});
  });
}

