// What an import did: how many conversations and messages, what is new, what was skipped and why, and where it is now.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { t } from '../i18n.js';
import { sessionHref } from '../route.js';

const SHOWN = 5;

/** The report of a file that is in. */
export function imported(report) {
  const { format, conversations: count, branches, messages, added, skipped, skipped_more: unnamed, remarks, sessions } = report;
  const known = messages - added;
  const named = t('import.conversations', { n: count });
  const conversations = branches > count ? t('import.branches', { n: branches, conversations: named }) : named;
  return h('div', { class: 'import-report' },
    h('p', {}, t('import.added', { n: added, conversations, format: t(`import.format.${format}`) }),
      known > 0 ? h('span', { class: 'muted' }, ` ${t('import.known', { n: known })}`) : null),
    skipped.length ? skippedList(skipped, unnamed) : null,
    remarks.length ? h('ul', { class: 'import-remarks muted' }, remarks.slice(0, SHOWN).map((remark) => h('li', {}, remark))) : null,
    sessions.length ? sessionLinks(sessions, count) : null);
}

function skippedList(skipped, unnamed) {
  return h('details', { class: 'import-skipped' }, h('summary', {}, t('import.skipped', { n: skipped.length + unnamed })), h('ul', {}, skipped.map((why) => h('li', {}, why))),
    unnamed ? h('p', { class: 'muted' }, t('import.skipped.more', { n: unnamed })) : null);
}

// Titles are asked for one by one, and only of those that are shown. Of many sessions a report names the first alone.
function sessionLinks(ids, count) {
  const list = h('ul', { class: 'import-sessions' });
  const add = (some) => list.append(...some.map((id) => h('li', {}, link(id))));
  add(ids.slice(0, SHOWN));
  const rest = ids.slice(SHOWN);
  const more = rest.length ? h('button', { class: 'button small', type: 'button', on: { click: () => { more.remove(); add(rest); } } }, t('import.more', { n: rest.length })) : null;
  const unnamed = count > ids.length ? h('p', { class: 'muted' }, t('import.first', { n: ids.length })) : null;
  return h('div', {}, list, more, unnamed);
}

function link(id) {
  const node = h('a', { href: sessionHref(id) }, id.slice(0, 12));
  get(`/api/sessions/${encodeURIComponent(id)}`).then((about) => put(node, h('bdi', {}, about.title || t('untitled'))), () => {});
  return node;
}
