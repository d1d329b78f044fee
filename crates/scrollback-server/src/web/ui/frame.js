// The frame around every screen: the sidebar, the bar with the menu button on narrow screens, the main part.
import { h } from './dom.js';
import { icon } from './icons.js';
import { t } from './i18n.js';
import { reachNotice } from './reach.js';
import { sidebar } from './sidebar.js';

/** Builds it: { node, main, mark(route), leave() }. */
export function frame() {
  const side = sidebar(() => back());
  const main = h('main', { id: 'main', class: 'main', tabindex: '-1' });
  const opener = h('button', { class: 'icon-button', type: 'button', 'aria-label': t('menu'), 'aria-expanded': 'false', 'aria-controls': 'sidebar' }, icon('menu'));
  const veil = h('div', { class: 'veil' });
  const bar = h('header', { class: 'topbar' }, opener, h('a', { class: 'brand', href: '#/' }, t('name')),
    h('a', { class: 'icon-button', href: '#/new', 'aria-label': t('new'), title: t('new') }, icon('plus')));
  const reach = reachNotice();
  const body = h('div', { class: 'frame-body' }, reach.node, main);
  const node = h('div', { class: 'frame' }, side.node, veil, bar, body);
  const turn = (isOpen) => {
    node.classList.toggle('drawer-open', isOpen);
    opener.setAttribute('aria-expanded', String(isOpen));
    // What is behind the drawer can be neither reached nor read out.
    for (const behind of [bar, body]) behind.inert = isOpen;
    if (isOpen) side.node.querySelector('a, button, input').focus();
  };
  const isOpen = () => node.classList.contains('drawer-open');
  const back = () => {
    turn(false);
    opener.focus();
  };
  const went = () => {
    if (!isOpen()) return;
    turn(false);
    main.focus();
  };
  opener.addEventListener('click', () => turn(true));
  veil.addEventListener('click', back);
  node.addEventListener('keydown', (event) => { if (event.key === 'Escape' && isOpen() && !node.querySelector('.menu')) back(); });
  // On a wide screen there is no drawer, and nothing is behind it.
  const wide = matchMedia('(min-width: 861px)');
  const widen = () => { if (wide.matches) turn(false); };
  wide.addEventListener('change', widen);
  const leave = () => { side.leave(); reach.leave(); wide.removeEventListener('change', widen); };
  return { node, main, leave, mark: (route) => { went(); side.mark(route); } };
}
