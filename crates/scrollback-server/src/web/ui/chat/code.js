// Code blocks: their language and a button that copies them.
import { copy } from '../actions.js';
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';

/** Gives every code block in a node its head. */
export function dressCode(node) {
  for (const pre of node.querySelectorAll('pre')) {
    const code = pre.querySelector('code') ?? pre;
    const language = /language-([\w+#.-]+)/.exec(`${code.className} ${pre.className}`)?.[1] ?? '';
    const button = h('button', { class: 'icon-button small', type: 'button', title: t('copy.code'), 'aria-label': t('copy.code'), on: { click: () => copy(code.textContent) } }, icon('copy'));
    const box = h('div', { class: 'code-box' }, h('div', { class: 'code-head' }, h('span', {}, language || t('code')), button));
    pre.tabIndex = 0;
    pre.replaceWith(box);
    box.append(pre);
  }
  return node;
}
