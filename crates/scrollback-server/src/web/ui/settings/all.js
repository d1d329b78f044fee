// Every setting of the server: its value, its default where it differs, and what it means. Those that belong together stand together.
import { copy } from '../actions.js';
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { empty } from '../notice.js';
import { explain } from './explain.js';

/** Shows them; the address may say what is looked for. */
export async function showAll(body, { me, query }) {
  const { settings } = await get('/api/settings');
  const blocks = gather(settings);
  const list = h('div', { class: 'stack' });
  const count = h('span', { class: 'muted', role: 'status' });
  const changed = h('input', { type: 'checkbox', on: { change: draw } });
  const field = h('input', { class: 'field grow', type: 'search', value: query.find ?? '', placeholder: t('settings.find'), 'aria-label': t('settings.find'), on: { input: draw } });
  put(body, h('p', { class: 'lead' }, t('settings.all.lead')), me.admin ? null : h('p', { class: 'muted' }, t('settings.all.machine')), h('div', { class: 'row settings-find' }, field, h('label', { class: 'check' }, changed, h('span', {}, t('settings.changed.only'))), count), list);
  draw();

  function draw() {
    const words = field.value.trim().toLowerCase();
    const found = blocks.filter((block) => (!changed.checked || block.lines.some(isChanged)) && (!words || block.text.includes(words)));
    put(count, t('settings.count', { n: found.reduce((sum, block) => sum + block.lines.length, 0) }));
    put(list, found.length ? sections(found) : empty(t('settings.find.none')));
  }
}

const isChanged = (line) => JSON.stringify(line.value) !== JSON.stringify(line.default);

// Settings in a row that share an explanation are one block.
function gather(settings) {
  const blocks = [];
  for (const setting of settings) {
    const at = setting.name.lastIndexOf('.');
    const line = { ...setting, section: setting.name.slice(0, at), key: setting.name.slice(at + 1) };
    const last = blocks.at(-1);
    if (last?.section === line.section && last.about === line.about) last.lines.push(line);
    else blocks.push({ section: line.section, about: line.about, words: explain(line), lines: [line] });
  }
  for (const block of blocks) block.text = [block.section, block.about, block.words, ...block.lines.map((line) => `${line.name} ${JSON.stringify(line.value)}`)].join('\n').toLowerCase();
  return blocks;
}

function sections(blocks) {
  const names = [...new Set(blocks.map((block) => block.section))];
  return names.map((name) => h('section', { class: 'setting-section' }, h('h2', {}, h('code', {}, `[${name}]`), h('span', { class: 'muted' }, sectionWords(name))),
    h('div', { class: 'card setting-blocks' }, blocks.filter((block) => block.section === name).map(drawBlock))));
}

function sectionWords(name) {
  const key = `settings.section.${name.split('.')[0]}`;
  const words = t(key);
  return words === key ? '' : words;
}

const drawBlock = (block) => h('div', { class: 'setting-block' }, h('ul', { class: 'setting-lines' }, block.lines.map(drawLine)), h('p', {}, inline(block.words)));

// What stands between backticks is code.
const inline = (words) => words.split('`').map((piece, at) => (at % 2 ? h('code', {}, piece) : piece));

function drawLine(line) {
  const shown = written(line.value);
  return h('li', { class: isChanged(line) ? 'setting changed' : 'setting' }, h('code', { class: 'setting-name' }, line.key), h('code', { class: 'setting-value' }, shown),
    isChanged(line) ? h('span', { class: 'chip accent' }, t('settings.changed', { value: written(line.default) })) : null,
    h('button', { class: 'icon-button small', type: 'button', title: t('settings.copy'), 'aria-label': t('settings.copy.of', { name: line.name }), on: { click: () => copy(`[${line.section}]\n${line.key} = ${shown}\n`) } }, icon('copy')));
}

// As it would stand in the file; JSON writes these values as TOML does.
const written = (value) => (Array.isArray(value) ? `[${value.map((one) => JSON.stringify(one)).join(', ')}]` : JSON.stringify(value));
