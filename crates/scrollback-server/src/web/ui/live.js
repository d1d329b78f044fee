// One stream of what happens on the server, shared by all who listen. It comes back by itself, and rests
// while the page is hidden, since a browser has few connections to give. It also knows first whether the server is there.
import { stream } from './api.js';

const AGAIN = { name: 'again', data: {} };
const listeners = new Set();
let running = null;
let isLate = false;
const watchers = new Set();
let isReached = true;

/** Calls `fn({ name, data })` for every event; `again` after a gap. Returns what ends it. */
export function listen(fn) {
  listeners.add(fn);
  start();
  return () => {
    listeners.delete(fn);
    if (!listeners.size) stop();
  };
}

/** Calls `fn(isReached)` now and whenever the server goes or comes back. Returns what ends it. */
export function onReach(fn) {
  watchers.add(fn);
  fn(isReached);
  return () => watchers.delete(fn);
}

/** Tries again at once, not when the pause is over. */
export function tryNow() {
  stop();
  start();
}

function start() {
  if (running || !listeners.size) return;
  if (document.hidden) return stop();
  running = new AbortController();
  run(running.signal);
}

function stop() {
  running?.abort();
  running = null;
  isLate = true;
}

// The gap is over when the stream is open: who fetches sooner misses what happens in between, and asks a server that may not be there.
async function run(signal) {
  let wait = 1000;
  while (!signal.aborted) {
    const isBack = isLate;
    const onOpen = () => {
      reach(true);
      if (isBack) tell(AGAIN);
    };
    isLate = true;
    const began = Date.now();
    await stream('/api/events', { signal, isQuiet: true, onOpen }, hear).catch(lost);
    if (Date.now() - began > 10_000) wait = 1000;
    await new Promise((resolve) => { setTimeout(resolve, wait * (0.7 + Math.random() * 0.6)); });
    wait = Math.min(wait * 2, 30_000);
  }
}

// A stream that only broke off says nothing yet: the next try tells whether anybody is there. Whoever refuses us is.
function lost(error) {
  if (error.code === 'unreachable') reach(false);
  else if (error.status) reach(true);
}

function reach(isNow) {
  if (isNow === isReached) return;
  isReached = isNow;
  for (const fn of [...watchers]) fn(isReached);
}

// A reader that was too slow is told that it missed something, not what.
const hear = (event) => tell(event.name === 'missed' ? AGAIN : event);

function tell(event) {
  for (const fn of [...listeners]) fn(event);
}

document.addEventListener('visibilitychange', () => (document.hidden ? stop() : start()));
