// What can be searched for: words, a session, days, a role.
import { get } from '../api.js';
import { h } from '../dom.js';
import { apart } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { called, doubled } from '../names.js';

const ROLES = ['user', 'assistant', 'tool', 'system'];

/** The form with what the address says: { node, said(), focus() }; `changed({ isTyping })` when something else is meant. */
export function searchForm(query, changed) {
  const words = h('input', { class: 'field wide', type: 'search', name: 'words', dir: 'auto', value: query.words ?? '', placeholder: t('search.words'), 'aria-label': t('search.words'), autocomplete: 'off', maxlength: 1000,
    on: { input: (event) => { if (!event.isComposing) changed({ isTyping: true }); }, compositionend: () => changed({ isTyping: true }) } });
  const narrow = { change: narrowed };
  const session = sessionPicker(query.session, narrow);
  const role = h('select', { class: 'select', name: 'role', on: narrow }, h('option', { value: '' }, t('search.role.any')),
    ROLES.map((name) => h('option', { value: name, selected: name === query.role }, t(`role.${name}`))));
  const from = h('input', { class: 'field', type: 'date', name: 'from', value: query.from ?? '', on: narrow });
  const to = h('input', { class: 'field', type: 'date', name: 'to', value: query.to ?? '', on: narrow });
  const fields = { words, session, from, to, role };
  const said = () => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value.trim()]));
  const clear = h('button', { class: 'button plain', type: 'button', on: { click: widen } }, t('search.clear'));
  const node = h('form', { class: 'search-form', role: 'search', on: { submit: (event) => { event.preventDefault(); changed({ isTyping: false }); } } },
    h('div', { class: 'search-box' }, icon('search'), words),
    h('div', { class: 'search-narrow' }, labelled(t('search.session'), session, 'wide'), labelled(t('search.role'), role), labelled(t('search.from'), from), labelled(t('search.to'), to), clear));
  mark();
  return { node, focus: () => words.focus(), said };

  function mark() {
    clear.hidden = ![session, role, from, to].some((field) => field.value);
  }

  function narrowed() {
    mark();
    changed({ isTyping: false });
  }

  function widen() {
    for (const field of [session, role, from, to]) field.value = '';
    narrowed();
    words.focus();
  }
}

const labelled = (name, field, look = '') => h('label', { class: `labelled ${look}` }, h('span', {}, name), field);

// A session that is asked for is there at once; the others follow when they are fetched.
function sessionPicker(chosen, on) {
  const option = (value, label) => h('option', { value, selected: value === (chosen ?? '') }, label);
  const asked = chosen ? option(chosen, chosen) : null;
  const select = h('select', { class: 'select', name: 'session', on }, option('', t('search.everywhere')), asked);
  get('/api/sessions', { count: 100 }).then(({ sessions }) => {
    const known = sessions.find((session) => [session.id, session.declared].includes(chosen));
    const alike = doubled(sessions.map((session) => session.title));
    const name = (session) => `${apart(session.title || t('untitled'))}${alike.has(session.title) ? ` · ${called(session)}` : ''}`;
    if (known) asked.textContent = name(known);
    else if (chosen) get(`/api/sessions/${encodeURIComponent(chosen)}`).then((session) => { asked.textContent = name(session); }, () => {});
    select.append(...sessions.filter((session) => session !== known).map((session) => h('option', { value: session.id, dir: 'auto' }, name(session))));
  }, () => {});
  return select;
}
