// What the address after # means: #/s/{session}/{screen}?…, #/search, #/import, #/settings, #/new, #/.

/** Reads an address: { session, screen, query }. */
export function readRoute(hash) {
  const [path, search = ''] = hash.replace(/^#/, '').split('?');
  const query = Object.fromEntries(new URLSearchParams(search));
  const [first = '', second, third] = path.split('/').filter(Boolean).map(decode);
  if (first === 's' && second) return { session: second, screen: third ?? 'chat', query };
  return { session: null, screen: first || 'home', query };
}

/** The address of a screen of a session. */
export const sessionHref = (session, screen = 'chat', query = {}) => `#/s/${encodeURIComponent(session)}/${screen}${search(query)}`;

/** The address of a screen without a session. */
export const screenHref = (screen, query = {}) => `#/${screen}${search(query)}`;

/** Goes to an address; `quietly` leaves no step behind in the history. */
export function go(path, { quietly = false } = {}) {
  const hash = path.startsWith('#') ? path : `#${path}`;
  if (!quietly) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Writes another address for what is shown, without a step in the history. */
export const replaceAddress = (href) => history.replaceState(history.state, '', href);

function search(query) {
  const said = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return said.length ? `?${new URLSearchParams(said)}` : '';
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
