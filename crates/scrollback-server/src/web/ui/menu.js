// A button that opens a menu: arrows move, Esc closes, focus goes back to the button.
import { h } from './dom.js';
import { icon } from './icons.js';

let count = 0;

/** The button; `items()` gives { label, icon, act, href, checked, danger } when it is opened. */
export function menuButton(label, name, items, { text = null, look = 'icon-button' } = {}) {
  const button = h('button', { class: look, type: 'button', 'aria-label': text ? null : label, title: label, 'aria-haspopup': 'menu', 'aria-expanded': 'false' },
    icon(name), text ? h('span', {}, text) : null);
  button.addEventListener('click', () => openMenu(button, items(), label));
  return button;
}

/** Opens a menu under an element. */
export function openMenu(anchor, items, label) {
  const box = h('div', { class: 'menu', role: 'menu', id: `menu-${count += 1}`, popover: 'auto', 'aria-label': label, on: { keydown: (event) => move(event, box) } },
    items.filter(Boolean).map((item) => entry(item, () => box.hidePopover())));
  // Inside a dialog only what is inside it can be used.
  (anchor.closest('dialog, main, nav') ?? document.body).append(box);
  box.addEventListener('toggle', (event) => {
    anchor.setAttribute('aria-expanded', String(event.newState === 'open'));
    if (event.newState === 'open') return;
    if (box.contains(document.activeElement) || document.activeElement === document.body) anchor.focus();
    box.remove();
  });
  box.showPopover();
  place(box, anchor);
  box.querySelector('[role^=menuitem]')?.focus();
  return box;
}

function entry(item, shut) {
  const role = item.checked === undefined ? 'menuitem' : 'menuitemradio';
  const props = {
    class: item.danger ? 'menu-item danger' : 'menu-item', role, tabindex: '-1', disabled: item.disabled,
    'aria-checked': item.checked === undefined ? null : String(item.checked),
    on: { click: () => { shut(); item.act?.(); } },
  };
  const inside = [icon(item.checked ? 'check' : item.icon ?? 'right'), h('span', {}, item.label), item.hint ? h('span', { class: 'menu-hint' }, item.hint) : null];
  return item.href ? h('a', { ...props, href: item.href }, inside) : h('button', { ...props, type: 'button' }, inside);
}

function place(box, anchor) {
  const at = anchor.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.right - box.offsetWidth, innerWidth - box.offsetWidth - 8));
  const below = at.bottom + 4;
  const isAbove = below + box.offsetHeight > innerHeight - 8 && at.top > box.offsetHeight;
  box.style.left = `${left}px`;
  box.style.top = `${isAbove ? at.top - box.offsetHeight - 4 : below}px`;
}

function move(event, box) {
  const items = [...box.querySelectorAll('[role^=menuitem]:not([disabled])')];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (event.key === 'Tab') box.hidePopover();
  if (to === undefined) return;
  event.preventDefault();
  items[(to + items.length) % items.length]?.focus();
}
