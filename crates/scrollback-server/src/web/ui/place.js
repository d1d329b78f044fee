// What a screen is told about where it is, and how it hears of changes and goes elsewhere.
import { get } from './api.js';
import { listen } from './live.js';
import { go, sessionHref } from './route.js';

/**
 * { session, id, branch, query, about, api(rest), href(screen, query), go(path), live(fn), changed(), onLeave(fn), spot, ownSpot() }.
 * `about` is the promise of GET /api/sessions/{id}; `api('views')` is the path of a route of this session;
 * `changed()` tells the header to fetch the session again. `session` is its name in the address, `id` what the server calls it.
 * `spot` is where its reader was when they left it, if they come back; a screen sets `ownSpot` to say more than how far down that is.
 */
export function makePlace(route, spot = null) {
  const { session, query } = route;
  const ends = [];
  const watchers = new Set();
  const base = session ? `/api/sessions/${encodeURIComponent(session)}` : null;
  let id = session;
  let branch = query.branch ?? null;
  let isLeft = false;

  // Others may begin a branch meanwhile: who looks here stays with the one they saw first, and writes to it.
  async function fetchAbout() {
    const about = await get(base, { branch });
    id = about.id;
    branch ??= about.branch;
    return about;
  }

  const place = {
    session, query, spot,
    ownSpot: () => ({}),
    get id() { return id; },
    get branch() { return branch; },
    about: session ? fetchAbout() : Promise.resolve(null),
    api: (rest = '') => (rest ? `${base}/${rest}` : base),
    href: (screen, more = {}) => sessionHref(session, screen, { branch: query.branch, ...more }),
    go,
    live(fn) {
      if (!isLeft) ends.push(listen((event) => { if (event.name === 'again' || [id, session].includes(event.data?.session)) fn(event); }));
    },
    async changed() {
      if (!session) return null;
      const asked = place.about = fetchAbout();
      const about = await asked;
      // Whoever asked later knows more.
      if (asked === place.about) watchers.forEach((fn) => fn(about));
      return about;
    },
    onAbout(fn) {
      if (isLeft) return;
      watchers.add(fn);
      place.about.then((about) => watchers.has(fn) && fn(about), () => {});
    },
    onLeave: (fn) => ends.push(fn),
    leave() {
      isLeft = true;
      watchers.clear();
      ends.splice(0).forEach((fn) => fn());
    },
  };
  place.about.catch(() => {});
  return place;
}
