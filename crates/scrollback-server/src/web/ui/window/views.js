// The stretch of a session's windows that is in the page: in their order, without gaps, at most MOST of them.
import { get } from '../api.js';

const COUNT = 80;
const MOST = 320;

/** Makes it: { list, load(at), older(), newer(), before(name), find(name) }; `list` is oldest first. */
export function makeViews(place) {
  const path = place.api('views');
  const views = { list: [], hasOlder: false, hasNewer: false };
  let cursor = null;

  const isNew = (view) => !views.list.some((known) => known.view === view.view);
  const oldestFirst = (page) => [...page.views].reverse();
  const setOlder = (next) => { cursor = next; views.hasOlder = Boolean(next); };

  /** Fetches the newest ones, or those around one. */
  views.load = async (at) => {
    const page = await get(path, { count: COUNT, around: at });
    views.list = oldestFirst(page);
    views.hasNewer = Boolean(at);
    setOlder(page.next);
  };

  /** Fetches what is before the first; gives what was added. */
  views.older = async () => {
    if (!views.hasOlder) return [];
    const page = await get(path, cursor ? { count: COUNT, cursor } : { count: COUNT, around: views.list[0].view });
    const first = views.list[0].view;
    const known = page.views.findIndex((view) => view.view === first);
    const added = page.views.slice(known + 1).reverse().filter(isNew);
    setOlder(page.next);
    views.list = [...added, ...views.list];
    if (views.list.length > MOST) { views.list.length = MOST; views.hasNewer = true; }
    return added;
  };

  /** Fetches what came after the last; gives what was added. */
  views.newer = async () => {
    const last = views.list.at(-1);
    const page = await get(path, { count: COUNT, after: last?.view });
    const added = oldestFirst(page).filter(isNew);
    views.list.push(...added);
    views.hasNewer = Boolean(last && page.next);
    if (views.list.length > MOST) {
      views.list.splice(0, views.list.length - MOST);
      // What was cut is found again from the first that is left.
      cursor = null;
      views.hasOlder = true;
    }
    return added;
  };

  views.find = (name) => views.list.find((view) => view.view === name);

  /** The window before one, on its own path: of its branch, or before that branch left. */
  views.before = async (name) => {
    const { branches } = await place.about;
    for (;;) {
      const at = views.list.findIndex((view) => view.view === name);
      const found = at < 0 ? null : nearest(views.list.slice(0, at), views.list[at].branch, branches);
      if (found || at < 0 || !views.hasOlder || views.list.length + COUNT > MOST) return found;
      await views.older();
    }
  };

  return views;
}

function nearest(earlier, branch, branches) {
  const fork = branches.find((one) => one.id === branch)?.fork;
  const isBefore = (view) => Boolean(fork) && numberOf(view.head) <= numberOf(fork);
  return earlier.findLast((view) => view.branch === branch) ?? earlier.findLast(isBefore) ?? null;
}

const numberOf = (id) => Number(id.slice(1));
