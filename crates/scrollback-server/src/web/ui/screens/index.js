// The screens there are. Each module has `async show(root, place)`, which may return what cleans up after it.
// The chat is what most come for, so it is fetched with the rest at once.
import * as chat from './chat.js';

export const screens = {
  home: () => import('./home.js'),
  new: async () => chat,
  chat: async () => chat,
  window: () => import('./window.js'),
  topics: () => import('./topics.js'),
  artifacts: () => import('./artifacts.js'),
  contents: () => import('./contents.js'),
  kept: () => import('./kept.js'),
  holds: () => import('./holds.js'),
  ledger: () => import('./ledger.js'),
  search: () => import('./search.js'),
  import: () => import('./import.js'),
  settings: () => import('./settings.js'),
  missing: () => import('./missing.js'),
};

/** The tabs of a session, in their order. */
export const tabs = ['chat', 'window', 'topics', 'artifacts', 'contents', 'kept', 'holds', 'ledger'];
