// Import: files from other programs, dropped or chosen, read one after another; each tells how far it is and what came of it.
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { importCard } from '../import/card.js';
import { dropZone } from '../import/drop.js';

// Whose files can be read; DeepSeek's have the form of ChatGPT's.
const SOURCES = ['chatgpt', 'claude', 'claude-code', 'codex', 'deepseek', 'openai'];

// What runs goes on while somebody looks at another screen, and is still there when they come back.
const cards = [];
let last = Promise.resolve();

export async function show(root, place) {
  const list = h('ul', { class: 'imports', 'aria-label': t('import.files') });
  const draw = () => put(list, cards.map((card) => h('li', {}, card.node())));
  const take = (files) => {
    for (const file of files) {
      const card = importCard(file);
      cards.unshift(card);
      last = last.then(() => card.run());
    }
    draw();
  };
  put(root, h('div', { class: 'import' },
    h('header', { class: 'screen-head' }, h('h1', {}, t('import.title')), h('p', { class: 'lead' }, t('import.lead'))),
    dropZone(take, place.onLeave), list, formats()));
  draw();
}

function formats() {
  return h('section', { class: 'formats' }, h('h2', {}, t('import.formats')),
    h('dl', { class: 'format-list' }, SOURCES.map((name) => h('div', { class: 'card' }, h('dt', {}, icon('page'), t(`import.format.${name}`)), h('dd', {}, t(`import.format.${name}.how`))))),
    h('p', { class: 'muted' }, t('import.twice')));
}
