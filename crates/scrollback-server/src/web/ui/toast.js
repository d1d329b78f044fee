// Short messages in the corner, read out politely; they go away by themselves.
import { h } from './dom.js';
import { icon } from './icons.js';
import { t } from './i18n.js';

let tray = null;

/** Tells something that has happened; `kind` is 'done' or 'bad'. */
export function toast(text, kind = 'done') {
  const shut = h('button', { class: 'icon-button small', type: 'button', 'aria-label': t('close'), on: { click: () => box.remove() } }, icon('close'));
  const box = h('div', { class: `toast ${kind}` }, icon(kind === 'bad' ? 'warning' : 'check'), h('span', {}, text), shut);
  place().append(box);
  setTimeout(() => box.remove(), Math.max(4000, Math.min(12_000, text.length * 90)));
  return box;
}

/** Prepares the place for toasts, so that readers know it before the first one comes. An open dialog hides all else. */
export function place() {
  const open = document.querySelector('dialog[open]');
  if (open) return open.querySelector('.toasts') ?? open.appendChild(h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' }));
  tray ??= document.body.appendChild(h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' }));
  return tray;
}
