// What a person decided that the model is to keep to, to have always, or not to have: rules, pins, and what is left out.
import { setExcluded, setPinned, setRule } from '../actions.js';
import { get } from '../api.js';
import { roleName } from '../chat/message.js';
import { h, putAgain } from '../dom.js';
import { t } from '../i18n.js';
import { empty, note } from '../notice.js';

export async function show(root, place) {
  let seen = null;
  async function draw() {
    const query = { branch: place.branch };
    const [{ rules }, { pinned, excluded, dropped_rules: dropped }] = await Promise.all([get(place.api('rules'), query), get(place.api('controls'), query)]);
    const now = JSON.stringify([rules, pinned, excluded, dropped]);
    if (now === seen || !root.isConnected) return;
    seen = now;
    putAgain(root, rules.length + pinned.length + excluded.length === 0 ? nothing(place) : [
      part('rules', rules.map((rule) => ruleRow(rule, place, () => setRule(place, rule.rule, !rule.holds).then(draw), dropped.includes(rule.rule)))),
      part('pinned', pinned.map((line) => messageRow(line, place, t('unpin'), () => setPinned(place, line.message, false).then(draw)))),
      part('excluded', excluded.map((line) => messageRow(line, place, t('include'), () => setExcluded(place, line.message, false).then(draw)))),
    ]);
  }
  await draw();
  place.live((event) => { if (['controls', 'turn', 'reply', 'again'].includes(event.name)) draw().catch(() => {}); });
}

const nothing = (place) => empty(t('kept.none'), h('p', {}, t('kept.none.text')), h('a', { class: 'button', href: place.href('chat') }, t('tab.chat')));

function part(name, rows) {
  return h('section', { class: 'kept-part', dataset: { part: name } }, h('h2', {}, t(`kept.${name}`), ' ', h('span', { class: 'muted' }, String(rows.length))),
    rows.length ? [h('p', { class: 'muted' }, t(`kept.${name}.text`)), h('ul', {}, rows)] : note(t(`kept.${name}.none`)));
}

// A rule of a message that is left out comes back with its message.
function ruleRow(rule, place, act, isDropped) {
  const label = rule.holds ? t('rule.drop') : t('rule.restore');
  const why = isDropped ? t('rule.gone') : t('excluded');
  return row(rule.rule, rule.holds ? 'kept-row' : 'kept-row is-let-go', [
    h('p', { dir: 'auto' }, rule.text),
    h('p', { class: 'kept-facts' }, h('span', { class: 'id' }, rule.rule), said(rule.message, place), rule.holds ? null : h('span', { class: 'chip' }, why))],
  label, rule.holds || isDropped ? act : null);
}

const messageRow = (line, place, label, act) => row(line.message, 'kept-row', [
  h('p', { dir: 'auto' }, line.text),
  h('p', { class: 'kept-facts' }, said(line.message, place), h('span', {}, roleName(line.role)))], label, act);

const row = (name, kind, words, label, act) => h('li', { class: kind, dataset: { kept: name } }, h('div', { class: 'kept-words' }, words),
  act ? h('button', { class: 'button small', type: 'button', 'aria-label': `${label}: ${name}`, on: { click: act } }, label) : null);

const said = (message, place) => h('a', { href: place.href('chat', { at: message }) }, message);
