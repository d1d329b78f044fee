// Beside the chat on wide screens: a small picture of the newest window.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { dollars, moment } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { trouble } from '../notice.js';
import { bar, legend, share } from '../picture.js';

/** Makes it: { node, refresh() }, which gives the newest view or null. */
export function makePanel(place) {
  const body = h('div', { class: 'panel-body' });
  const node = h('aside', { class: 'panel', 'aria-label': t('panel') }, h('h2', {}, t('panel')), body);
  node.hidden = !place.session;
  return { node, refresh: () => refresh(place, body) };
}

async function refresh(place, body) {
  if (!place.session) return null;
  try {
    const { views } = await get(place.api('views'), { branch: place.branch, count: 1 });
    put(body, views.length ? picture(views[0], place) : h('p', { class: 'muted' }, t('panel.none')));
    return views[0] ?? null;
  } catch (error) {
    put(body, trouble(error, () => refresh(place, body)));
    return null;
  }
}

function picture(view, place) {
  return [
    h('p', { class: 'panel-big' }, h('strong', {}, share(view)), h('span', { class: 'muted' }, t('window.of', { tokens: view.tokens, budget: view.budget }))),
    bar(view, { height: 20 }), legend(view),
    h('dl', { class: 'facts' }, fact(t('panel.view'), h('span', { class: 'id' }, view.view)), fact(t('panel.at'), moment(view.at)), fact(t('panel.layout'), h('code', {}, view.layout)),
      view.cost === null ? null : fact(t('panel.cost'), dollars(view.cost))),
    view.recalls.length ? h('ul', { class: 'turn-events' }, view.recalls.map((asked) => h('li', {}, icon('recall'), h('code', {}, asked)))) : null,
    view.notices.map((words) => h('p', { class: 'notice' }, icon('about'), h('span', { class: 'grow' }, words))),
    h('a', { class: 'button wide', href: place.href('window', { view: view.view }) }, t('panel.open')),
  ];
}

const fact = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
