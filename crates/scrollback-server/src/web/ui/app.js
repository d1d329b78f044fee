// Begins here: builds the frame, reads the address, shows the screen that is meant.
import './theme.js';
import { Problem } from './api.js';
import { h, put } from './dom.js';
import { onLanguage, t } from './i18n.js';
import { place as prepareToasts } from './toast.js';
import { frame } from './frame.js';
import { readRoute } from './route.js';
import { sessionHead } from './session.js';
import { makePlace } from './place.js';
import { arrive, keepSpot } from './spots.js';
import { listenToKeys } from './keys.js';
import { listen } from './live.js';
import { trouble, waiting } from './notice.js';
import { screens } from './screens/index.js';

const app = document.getElementById('app');
// Screens that could not be fetched.
const lacking = new Set();
let shell = null;
let head = null;
let leave = () => {};
let showing = 0;
let hasFailed = false;

async function show() {
  const mine = showing += 1;
  hasFailed = false;
  leave();
  const route = readRoute(location.hash);
  const place = makePlace(route, arrive());
  if (!route.session) document.title = t('name');
  const root = h('div', { class: `screen screen-${route.screen}` });
  leave = place.leave;
  putScreen(route, place, root);
  shell.mark(route);
  await fill(root, place, route, () => mine === showing);
}

// Who was in the screen before is at the beginning of the new one; who was in the head stays there.
function putScreen(route, place, root) {
  const wasInside = shell.main.contains(document.activeElement);
  if (head?.session !== route.session || !head?.node.isConnected) head = route.session ? { session: route.session, ...sessionHead() } : null;
  head?.show(place, route.screen);
  for (const old of [...shell.main.children]) if (old !== head?.node) old.remove();
  if (head && !head.node.isConnected) shell.main.append(head.node);
  shell.main.append(root);
  if (wasInside && document.activeElement === document.body) shell.main.focus({ preventScroll: true });
}

async function fill(root, place, route, isMine) {
  const wait = setTimeout(() => { if (!root.childNodes.length) root.append(waiting()); }, 250);
  try {
    const screen = await loaded(route.screen);
    if (!isMine()) return;
    const done = await screen.show(root, place);
    if (typeof done === 'function') isMine() ? place.onLeave(done) : done();
    if (!isMine()) return;
    if (place.spot) root.scrollTop = place.spot.top;
    place.onLeave(() => keepSpot({ top: root.scrollTop, ...place.ownSpot() }));
  } catch (error) {
    // Where the session itself cannot be fetched, its head says so, once.
    const isTold = await place.about.then(() => false, () => true);
    if (isMine()) {
      hasFailed = true;
      put(root, isTold ? null : trouble(error, show));
    }
    if (!error.detail) console.error(error);
  } finally {
    clearTimeout(wait);
    root.querySelector(':scope > .waiting')?.remove();
  }
}

// A screen is a file of the server's too: what browsers say when it cannot be fetched helps nobody. Some never ask for it again,
// for as long as the page lives.
async function loaded(name) {
  const load = Object.hasOwn(screens, name) ? screens[name] : screens.missing;
  try {
    return await load();
  } catch (error) {
    console.error(error);
    if (lacking.has(name)) await beginAnew();
    lacking.add(name);
    throw new Problem(0, 'unreachable', null);
  }
}

// Drafts survive this; the page itself would not, if it were thrown away while the server cannot send it.
async function beginAnew() {
  const isThere = await fetch('/', { cache: 'no-store' }).then((answer) => answer.ok, () => false);
  if (!isThere) return;
  location.reload();
  await new Promise(() => {});
}

function build() {
  leave();
  shell?.leave();
  shell = frame();
  put(app, shell.node);
  document.title = t('name');
  show();
}

function keepFileOut(event) {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = 'none';
}

prepareToasts();
listenToKeys();
addEventListener('hashchange', show);
// A file that is dropped where none is taken would be shown in place of the page.
for (const name of ['dragover', 'drop']) addEventListener(name, keepFileOut);
// What could not be shown while the server was away is shown when it is back.
listen((event) => { if (event.name === 'again' && hasFailed) show(); });
document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); shell.main.focus(); });
onLanguage(build);
build();
