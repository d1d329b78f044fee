// What a turn took, in a line: how full the window was, whether it folded, what was recalled and saved.
import { h } from '../dom.js';
import { dollars } from '../format.js';
import { t } from '../i18n.js';
import { bar } from '../picture.js';

/** The line of a turn that is done; `view` is its window, if it could be fetched. */
export function statusLine(done, view, turn) {
  const shown = view ?? { tokens: done.tokens, budget: turn?.budget ?? 0, kinds: { open: done.tokens } };
  const meter = bar(shown, { height: 8 });
  const saved = done.saved_tokens > 0 ? `${t('status.saved', { n: done.saved_tokens })}${done.saved_dollars ? ` (${dollars(done.saved_dollars)})` : ''}` : null;
  const facts = [t('window.of', { tokens: shown.tokens, budget: shown.budget }), t(done.folded ? 'status.folded' : 'status.unfolded'), t('status.recalls', { n: done.recalls ?? 0 }), saved, done.model];
  return h('div', { class: 'status-line' }, h('div', { class: 'status-bar' }, meter), h('span', {}, facts.filter(Boolean).join(' · ')));
}
