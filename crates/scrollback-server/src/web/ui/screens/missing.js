// Where an address leads nowhere.
import { h } from '../dom.js';
import { nowhere } from '../notice.js';
import { t } from '../i18n.js';

export async function show(root) {
  root.append(nowhere(t('missing'), h('p', {}, h('a', { class: 'button', href: '#/' }, t('home')))));
}
