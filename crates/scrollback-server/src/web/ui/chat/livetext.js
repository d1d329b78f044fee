// Words as they stream in: rendered as Markdown a few times a second, and plain in between.
import { post } from '../api.js';
import { h, html } from '../dom.js';
import { dressCode } from './code.js';

const EVERY = 250;
const LONG = 8000;

/** { node, add(piece), end(), text() }. */
export function liveText() {
  const done = h('div', { class: 'markdown' });
  const rest = h('span', { class: 'plain' });
  const node = h('div', { class: 'live-text', dir: 'auto' }, done);
  const state = { text: '', rendered: 0, timer: null, isOver: false };

  // What is not drawn yet goes on in the last paragraph, so that nothing jumps when it is.
  const drawRest = () => {
    rest.textContent = state.text.slice(state.rendered);
    (done.lastElementChild?.localName === 'p' ? done.lastElementChild : node).append(rest);
  };

  async function render() {
    state.timer = null;
    const sent = state.text;
    try {
      const answer = await post('/api/markdown', { text: sent });
      dressCode(html(done, answer.html));
      state.rendered = sent.length;
      drawRest();
    } catch { /* plain words are still there */ }
    if (state.text.length > sent.length) plan();
  }

  function plan() {
    if (state.isOver && state.rendered === state.text.length) return;
    state.timer ??= setTimeout(render, state.text.length > LONG ? EVERY * 4 : EVERY);
  }

  return {
    node,
    text: () => state.text,
    add(piece) {
      state.text += piece;
      drawRest();
      plan();
    },
    end: () => { state.isOver = true; },
  };
}
