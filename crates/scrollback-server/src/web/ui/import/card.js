// One file on its way in: waiting, sent, read, done or refused, in words.
import { address, get, Problem, stream } from '../api.js';
import { h, put } from '../dom.js';
import { bytes } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { words } from '../notice.js';
import { imported } from './report.js';

const PAUSE = 150;

/** The formats that can be read, as the server names them. */
export const FORMATS = ['chatgpt', 'claude', 'claude-code', 'codex', 'openai'];

/** Makes it: { node(), run() }. `run` never fails; what goes wrong is told in the card. */
export function importCard(file) {
  const state = { step: 'waiting', done: 0, of: 0, title: '', report: null, error: null };
  const running = new AbortController();
  const mark = h('span', { class: 'import-mark' });
  const chip = h('span', { class: 'chip push', role: 'status' });
  const content = h('div', {});
  const stopper = h('button', { class: 'icon-button small', type: 'button', title: t('stop'), 'aria-label': t('import.stop', { name: file.name }), on: { click: stop } }, icon('close'));
  let node = null;
  let shown = null;
  let drawn = 0;

  async function run(format) {
    if (state.step === 'stopped') return;
    Object.assign(state, { error: null, report: null });
    step('sending');
    try {
      await checkFile(file);
      await stream(address('/api/import', { name: file.name, format }), { method: 'POST', body: file, signal: running.signal }, take);
      if (!state.report && !state.error) throw new Problem(0, 'cut', t('import.cut'));
    } catch (error) {
      if (running.signal.aborted) step('stopped');
      else fail(error);
    }
  }

  function take({ name, data }) {
    if (name === 'progress') Object.assign(state, { step: 'reading', ...data });
    if (name === 'done') Object.assign(state, { step: 'done', report: data });
    if (name === 'error') return fail(data);
    return draw();
  }

  function fail(error) {
    state.error = error;
    step('failed');
  }

  function step(name) {
    state.step = name;
    draw();
  }

  function stop() {
    running.abort();
    step('stopped');
  }

  // A step is read out when it changes; how far the reading is, is shown now and then.
  function draw() {
    if (!node) return;
    if (state.step === shown && Date.now() - drawn < PAUSE) return;
    drawn = Date.now();
    put(content, body(state, file, run));
    if (state.step === shown) return;
    shown = state.step;
    put(mark, icon(ICONS[shown] ?? 'page'));
    put(chip, t(`import.step.${shown}`));
    chip.classList.toggle('bad', shown === 'failed');
    stopper.hidden = !['waiting', 'sending'].includes(shown);
  }

  return { run, node: build };

  // Built anew for each visit of the screen: the language may be another by then.
  function build() {
    shown = null;
    node = h('article', { class: 'card import-card' }, h('header', { class: 'import-head' }, mark, h('strong', { class: 'import-name', dir: 'auto' }, file.name), h('span', { class: 'muted digits' }, bytes(file.size)), chip, stopper), content);
    draw();
    return node;
  }
}

// A server that refuses a file in the middle of it cannot always say so: what is too large, or packed in a way that it does not read, is not sent.
async function checkFile(file) {
  if (!file.size) throw new Problem(0, 'empty', t('import.nothing'));
  if (/\.(gz|tgz|7z)$/i.test(file.name)) throw new Problem(0, 'packed', t('import.packed'));
  const { settings } = await get('/api/settings');
  const most = settings.find((setting) => setting.name === 'serve.import_megabytes')?.value ?? Infinity;
  if (file.size > most * 2 ** 20) throw new Problem(413, 'too_large', t('import.large', { size: bytes(file.size), most }));
}

const ICONS = { done: 'check', failed: 'warning', stopped: 'stop' };

function body(state, file, run) {
  if (state.step === 'done') return imported(state.report);
  if (state.step === 'failed') return failed(state.error, file, run);
  if (state.step === 'reading') return progress(state);
  return state.step === 'sending' ? h('progress', { class: 'progress', 'aria-label': t('import.step.sending') }) : null;
}

function progress({ done, of, title }) {
  return h('div', { class: 'import-progress' }, h('progress', { class: 'progress', max: Math.max(1, of), value: done, 'aria-label': t('import.step.reading') }),
    h('p', { class: 'muted' }, h('span', { class: 'digits' }, t('import.progress', { done: done + 1, of })), title ? [' · ', h('bdi', {}, title)] : null));
}

// What went wrong, and what to do about it; a file that was not recognised can be read as what its owner says it is.
function failed(error, file, run) {
  const said = h('p', { class: 'bad-text' }, words(error));
  if (error.status === 413) return h('div', {}, said, h('p', { class: 'muted' }, t('import.advice.large')));
  if (error.code === 'unreachable' || error.code === 'cut') return h('div', {}, said, h('p', { class: 'muted' }, t('import.advice.unreachable')), again(t('again'), () => run()));
  if (error.status !== 400) return said;
  const select = h('select', { class: 'select', 'aria-label': t('import.as.label', { name: file.name }) }, FORMATS.map((name) => h('option', { value: name }, t(`import.format.${name}`))));
  return h('div', { class: 'import-report' }, said, h('p', { class: 'muted' }, t('import.advice.format')), h('p', { class: 'row' }, t('import.as'), select, again(t('import.as.read'), () => run(select.value))));
}

const again = (label, act) => h('button', { class: 'button small', type: 'button', on: { click: act } }, label);
