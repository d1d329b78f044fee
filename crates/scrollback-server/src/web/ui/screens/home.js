// The way in: the newest session, or a welcome when there is none yet.
import { get } from '../api.js';
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { sessionHref } from '../route.js';

export async function show(root, place) {
  const { sessions } = await get('/api/sessions', { count: 1 });
  if (!root.isConnected) return;
  if (sessions.length) place.go(sessionHref(sessions[0].id), { quietly: true });
  else root.append(welcome());
}

function welcome() {
  const way = (href, name, title, text) => h('a', { class: 'card way', href }, icon(name), h('span', {}, h('strong', {}, title), h('span', { class: 'muted' }, text)));
  return h('div', { class: 'welcome' }, h('h1', {}, t('welcome.title')), h('p', { class: 'lead' }, t('welcome.text')),
    h('div', { class: 'ways' }, way('#/new', 'plus', t('new'), t('welcome.new')), way('#/import', 'import', t('import'), t('welcome.import'))),
    h('h2', {}, t('welcome.point')), h('pre', {}, h('code', {}, `export OPENAI_BASE_URL=${location.origin}/v1\nexport ANTHROPIC_BASE_URL=${location.origin}`)));
}
