// Quiet notices in their place: what went wrong, what is empty, what is being fetched.
import { h } from './dom.js';
import { icon } from './icons.js';
import { t } from './i18n.js';

/** The words of an error: what the server says to do, or what we know ourselves. */
export function words(error) {
  if (error?.code === 'unreachable') return t('error.unreachable');
  if (error?.code === 'cut' && !error.detail) return t('error.cut');
  return error?.detail || error?.message || t('error.unknown');
}

/** An inline notice of an error, with “try again” where `again` is given. */
export function trouble(error, again) {
  return h('div', { class: 'notice bad', role: 'alert' }, icon('warning'), h('span', { class: 'grow' }, words(error)),
    again ? h('button', { class: 'button small', type: 'button', on: { click: again } }, t('again')) : null);
}

/** A quiet notice. */
export const note = (...children) => h('div', { class: 'notice' }, icon('about'), h('span', { class: 'grow' }, children));

/** What stands where there is nothing yet. */
export const empty = (title, ...more) => h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title), more);

/** What stands where an address leads nowhere: it has no other heading. */
export const nowhere = (title, ...more) => h('div', { class: 'empty' }, h('h1', { class: 'empty-title' }, title), more);

/** What stands while something is fetched. */
export const waiting = () => h('div', { class: 'waiting', role: 'status' }, h('span', { class: 'spinner' }), h('span', {}, t('waiting')));
