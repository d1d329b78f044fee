// Talks to /api: JSON in and out, a token where one is needed, answers kept by their ETag, streams by fetch.
import { askToken, token } from './token.js';
import { readEvents } from './sse.js';

const KEPT = 40;
const kept = new Map();

/** What went wrong, as the server tells it; `detail` says what to do, and `session` where the words are that were said. */
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
    this.detail = detail;
  }
}

export const get = (path, query, options) => ask('GET', path, query, undefined, options);
export const put = (path, body, query, tag) => ask('PUT', path, query, body, { tag });
export const post = (path, body, query) => ask('POST', path, query, body);
export const del = (path, query) => ask('DELETE', path, query);

/** The tag of what was last read there: with it, `put` changes nothing that somebody else changed meanwhile. */
export const tagOf = (path, query) => kept.get(address(path, query))?.etag;

/** Sends a request and tells each event of its stream: stream(path, { method, body, signal, headers, onOpen }, onEvent). */
export async function stream(path, { method = 'GET', body, signal, headers, onOpen, isQuiet = false } = {}, onEvent) {
  const isRaw = body instanceof Blob || typeof body === 'string' || body === undefined;
  const response = await send(path, {
    method, signal, cache: 'no-store',
    headers: { accept: 'text/event-stream', ...(isRaw ? {} : { 'content-type': 'application/json' }), ...headers },
    body: isRaw ? body : JSON.stringify(body),
  }, isQuiet);
  if (!response.ok) throw await problem(response);
  onOpen?.();
  await readEvents(response.body, onEvent, cut);
}

/** The bytes of an answer, for files: { blob, name }. */
export async function file(path, query) {
  const response = await send(address(path, query), { cache: 'no-store' });
  if (!response.ok) throw await problem(response);
  const said = /filename="?([^";]+)/.exec(response.headers.get('content-disposition') ?? '');
  return { blob: await response.blob().catch(cut), name: said?.[1] ?? 'scrollback' };
}

/** A path with its query; what is null or undefined is left out. */
export function address(path, query) {
  const said = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return said.length ? `${path}?${new URLSearchParams(said)}` : path;
}

async function ask(method, path, query, body, options) {
  const url = address(path, query);
  const before = method === 'GET' ? kept.get(url) : undefined;
  const headers = { accept: 'application/json' };
  if (before) headers['if-none-match'] = before.etag;
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (options?.tag) headers['if-match'] = options.tag;
  const response = await send(url, {
    method, headers, cache: 'no-store', signal: options?.signal,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (response.status === 304 && before) return JSON.parse(before.text);
  if (!response.ok) throw await problem(response);
  const text = await response.text().catch(cut);
  if (method === 'GET') keep(url, response.headers.get('etag'), text);
  return text ? JSON.parse(text) : null;
}

// Where `isQuiet` is set nobody asked just now, so nobody is asked for a token.
async function send(url, init, isQuiet = false) {
  for (;;) {
    const said = token();
    const headers = said ? { ...init.headers, authorization: `Bearer ${said}` } : init.headers;
    let response;
    try {
      response = await fetch(url, { ...init, headers });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Problem(0, 'unreachable', null);
    }
    if (response.status !== 401 || isQuiet) return response;
    if (!(await askToken(said))) return response;
  }
}

// An answer that breaks off is told in our words; the browser's own are in the language of its maker.
function cut(error) {
  throw error.name === 'AbortError' ? error : new Problem(0, 'cut', null);
}

async function problem(response) {
  const said = await response.json().catch(() => ({}));
  const old = said.error ?? {};
  const wrong = new Problem(response.status, said.code ?? old.code ?? '', said.detail ?? old.message ?? response.statusText);
  return Object.assign(wrong, { session: response.headers.get('x-scrollback-session') });
}

function keep(url, etag, text) {
  kept.delete(url);
  if (!etag || text.length > 200_000) return;
  kept.set(url, { etag, text });
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
}
