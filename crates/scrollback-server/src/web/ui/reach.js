// Says that the server cannot be reached, for as long as that is so. Nobody has to do anything for it to come or go.
import { h, put } from './dom.js';
import { icon } from './icons.js';
import { t } from './i18n.js';
import { onReach, tryNow } from './live.js';

/** Builds it: { node, leave() }. */
export function reachNotice() {
  const node = h('div', { class: 'unreached', role: 'status' });
  const leave = onReach((isReached) => put(node, isReached ? null : words()));
  return { node, leave };
}

const words = () => h('div', { class: 'notice bad' }, icon('warning'), h('span', { class: 'grow' }, t('unreached')),
  h('button', { class: 'button small', type: 'button', on: { click: tryNow } }, t('again')));
