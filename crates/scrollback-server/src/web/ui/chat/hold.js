// A held result as a chip, which opens to the original, some hundred lines at a time.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { trouble } from '../notice.js';

const LINES = 200;

/** The chip of a hold: “held h33 · 50,123 chars”. */
export function holdChip(id, chars, chat) {
  const body = h('div', { class: 'hold-body', hidden: true });
  const chip = h('button', { class: 'chip hold-chip', type: 'button', 'aria-expanded': 'false', title: t('held.hint'), on: { click: turn } }, icon('right'), t('held', { id, chars: chars ?? 0 }));
  let isFetched = false;
  function turn() {
    body.hidden = !body.hidden;
    chip.setAttribute('aria-expanded', String(!body.hidden));
    if (!isFetched) fetchLines(1);
    isFetched = true;
  }
  async function fetchLines(from) {
    const button = body.querySelector('.hold-more button');
    if (button) button.disabled = true;
    try {
      const answer = await get(chat.place.api(`holds/${id}`), { from_line: from, lines: LINES });
      body.querySelector('.hold-more')?.remove();
      if (!body.querySelector('pre')) put(body, h('pre', { class: 'block-body', tabindex: '0' }, h('code', {})));
      body.querySelector('code').append(answer.text);
      body.append(more(answer));
    } catch (error) {
      body.append(trouble(error, () => { put(body); fetchLines(1); }));
    }
  }
  function more(answer) {
    const shown = Math.min(answer.lines, answer.from_line + LINES - 1);
    return h('div', { class: 'hold-more row' }, h('span', { class: 'muted' }, t('held.lines', { shown, lines: answer.lines })),
      answer.more ? h('button', { class: 'button small', type: 'button', on: { click: () => fetchLines(answer.from_line + LINES) } }, t('held.more')) : null,
      h('a', { href: chat.place.href('holds', { hold: id }) }, t('tab.holds')));
  }
  return h('div', { class: 'hold' }, chip, body);
}
