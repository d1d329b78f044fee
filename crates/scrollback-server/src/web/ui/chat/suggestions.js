// The commands that go with what is being written: arrows go through them, Tab and Enter take one, Esc puts them away.
import { h, put } from '../dom.js';
import { t } from '../i18n.js';
import { matching } from './commands.js';

const ID = 'suggestions';

/** Makes it for a field: { node, draw(), press(event) }; `take(shape)` gets the one that is taken. `press` is true if the key was ours. */
export function makeSuggestions(field, take) {
  const node = h('div', { class: 'composer-hints', id: ID, role: 'listbox', 'aria-label': t('command.title'), hidden: true });
  let found = [];
  let chosen = -1;

  function draw() {
    found = matching(field.value);
    choose(-1);
    node.hidden = !found.length;
    put(node, found.map(option));
    set(field, 'aria-controls', found.length ? ID : null);
  }

  // The field keeps the focus: whoever takes one goes on writing.
  function option([shape, words], at) {
    return h('div', { class: 'menu-item', id: `${ID}-${at}`, role: 'option', 'aria-selected': 'false', on: { mousedown: (event) => event.preventDefault(), click: () => take(shape) } },
      h('code', {}, shape), h('span', { class: 'muted' }, words));
  }

  function choose(at) {
    chosen = at;
    [...node.children].forEach((one, index) => one.setAttribute('aria-selected', String(index === at)));
    node.children[at]?.scrollIntoView({ block: 'nearest' });
    set(field, 'aria-activedescendant', at < 0 ? null : `${ID}-${at}`);
  }

  function shut() {
    choose(-1);
    found = [];
    node.hidden = true;
    set(field, 'aria-controls', null);
  }

  const step = (by) => choose(chosen < 0 && by < 0 ? found.length - 1 : (chosen + by + found.length) % found.length);
  // What is written out needs no second taking, so that Tab goes on to the next field, and Enter sends.
  const isWhole = () => found.length === 1 && found[0][0] === field.value;
  const keys = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Escape: shut,
    Tab: () => take(found[Math.max(chosen, 0)][0]),
    Enter: () => take(found[chosen][0]),
  };

  function press(event) {
    const act = keys[event.key];
    if (!found.length || !act || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return false;
    if ((event.key === 'Tab' && isWhole()) || (event.key === 'Enter' && (chosen < 0 || isWhole()))) return false;
    event.preventDefault();
    act();
    return true;
  }

  return { node, draw, press };
}

function set(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else node.setAttribute(name, value);
}
