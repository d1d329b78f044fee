// What is done when nobody waits: notes written ahead, tidying up, embedding; what was given up first, what is done last.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { moment } from '../format.js';
import { t } from '../i18n.js';
import { note } from '../notice.js';
import { sessionHref } from '../route.js';

const MOST = 200;
const COLUMNS = ['kind', 'session', 'layout', 'state', 'tries', 'error'];

/** Shows them. */
export async function showJobs(body) {
  const { jobs } = await get('/api/jobs');
  const open = jobs.filter(({ state }) => state.waiting || state.claimed);
  const sorted = [...jobs].sort((one, other) => rank(one.state) - rank(other.state));
  put(body, h('p', { class: 'lead' }, t('jobs.lead')),
    jobs.length ? [h('p', { class: 'muted', role: 'status' }, t('jobs.count', { n: jobs.length, open: open.length })), table(sorted.slice(0, MOST))] : note(t('jobs.none')));
}

const rank = (state) => (state.failed ? 0 : 1 + (state === 'done'));

function table(jobs) {
  return h('div', { class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': t('settings.part.jobs') }, h('table', { class: 'table' }, h('caption', { class: 'hidden' }, t('settings.part.jobs')),
    h('thead', {}, h('tr', {}, COLUMNS.map((name) => h('th', { scope: 'col', class: name === 'tries' ? 'digits' : null }, t(`jobs.column.${name}`))))), h('tbody', {}, jobs.map(row))));
}

function row(job) {
  const [state, when] = typeof job.state === 'string' ? [job.state] : Object.entries(job.state)[0];
  const due = when?.not_before ?? when?.until;
  return h('tr', { dataset: { state } }, h('td', {}, job.kind), h('td', {}, h('a', { href: sessionHref(job.session, 'chat') }, h('code', {}, job.session.slice(0, 12)))), h('td', {}, h('code', {}, job.layout)),
    h('td', {}, t(`jobs.state.${state}`), due ? h('span', { class: 'muted' }, ` · ${t('jobs.until', { when: moment(due) })}`) : null), h('td', { class: 'digits' }, String(job.tries)), h('td', { dir: 'auto' }, job.last_error ?? ''));
}
