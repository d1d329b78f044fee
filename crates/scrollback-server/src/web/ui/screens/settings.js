// Settings: who you are here, how this page looks, strategies, models, jobs, tokens, and every setting of the server, explained.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { t } from '../i18n.js';
import { screenHref } from '../route.js';
import { showAll } from '../settings/all.js';
import { showJobs } from '../settings/jobs.js';
import { showModels } from '../settings/models.js';
import { showStrategies } from '../settings/strategies.js';
import { showTokens } from '../settings/tokens.js';
import { showYou } from '../settings/you.js';

const PARTS = { you: showYou, strategies: showStrategies, models: showModels, jobs: showJobs, tokens: showTokens, all: showAll };

export async function show(root, place) {
  const me = await get('/api/me');
  const names = Object.keys(PARTS).filter((name) => name !== 'tokens' || me.admin);
  const part = names.includes(place.query.part) ? place.query.part : 'you';
  const body = h('div', { class: 'settings-part stack' });
  put(root, h('div', { class: 'settings' }, h('h1', {}, t('settings')),
    h('nav', { class: 'tabs', 'aria-label': t('settings.parts') }, h('ul', {}, names.map((name) => h('li', {},
      h('a', { href: screenHref('settings', { part: name }), 'aria-current': name === part ? 'page' : null }, t(`settings.part.${name}`)))))), body));
  await PARTS[part](body, { me, query: place.query, onLeave: place.onLeave });
}
