// A native dialog: it traps focus, Esc closes it, and focus goes back to where it was.
import { h } from './dom.js';
import { icon } from './icons.js';
import { t } from './i18n.js';

let count = 0;

/** Shows a dialog; `actions` are { label, primary, danger, act }. `act` may return false to keep it open. */
export function dialog(title, body, actions = [], { wide = false } = {}) {
  const id = `dialog-${count += 1}`;
  const box = h('dialog', { class: wide ? 'dialog wide' : 'dialog', 'aria-labelledby': id });
  const shut = h('button', { class: 'icon-button', type: 'button', 'aria-label': t('close'), on: { click: () => box.close() } }, icon('close'));
  const form = h('form', { method: 'dialog', on: { submit: (event) => submit(event, box, actions) } },
    h('header', { class: 'dialog-head' }, h('h2', { id }, title), shut),
    h('div', { class: 'dialog-body' }, body),
    actions.length ? h('footer', { class: 'dialog-foot' }, actions.map((action) => button(action, box))) : null);
  box.append(form);
  box.addEventListener('close', () => box.remove());
  // A slip of the hand closes nothing that somebody wrote in, or that is shown only once.
  box.addEventListener('click', (event) => { if (event.target === box && !box.querySelector('input, textarea')) box.close(); });
  document.body.append(box);
  box.showModal();
  return box;
}

/** Asks before something is done; resolves to true or false. */
export function confirm(title, text, label, { danger = false } = {}) {
  return new Promise((resolve) => {
    let isYes = false;
    const box = dialog(title, h('p', {}, text), [{ label: t('cancel') }, { label, primary: true, danger, act: () => { isYes = true; } }]);
    box.addEventListener('close', () => resolve(isYes));
  });
}

function button(action, box) {
  const look = `button${action.primary ? ' primary' : ''}${action.danger ? ' danger' : ''}`;
  return h('button', { class: look, type: action.primary ? 'submit' : 'button', on: action.primary ? {} : { click: () => run(action, box) } }, action.label);
}

// Forms may not be sent anywhere (form-action 'none'), so Enter is taken by hand.
function submit(event, box, actions) {
  event.preventDefault();
  const primary = actions.find((action) => action.primary);
  if (primary) run(primary, box);
}

async function run(action, box) {
  if ((await action.act?.()) !== false) box.close();
}
