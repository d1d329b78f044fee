// What a message is sent with: the model, and for a new chat its strategy and instructions.
import { get } from '../api.js';
import { h, put } from '../dom.js';
import { t } from '../i18n.js';
import { note } from '../notice.js';

const NAME = 'scrollback.model';

/** Makes it: { node, notice, chosen(), beginning(), takeUp(draft) }; `changed()` when a new chat is to begin otherwise. */
export function makeOptions(place, changed) {
  const list = h('datalist', { id: 'models' });
  const model = h('input', { class: 'field model', list: 'models', 'aria-label': t('model'), title: t('model'), autocomplete: 'off', spellcheck: 'false', placeholder: t('model'), value: localStorage.getItem(NAME) ?? '', on: { change: keep } });
  const strategy = place.session ? null : h('select', { class: 'select', 'aria-label': t('strategy'), title: t('strategy'), on: { change: () => begins({ strategy: strategy.value }) } }, h('option', { value: '' }, t('strategy.unset')));
  const instructions = place.session ? null : h('textarea', { class: 'field wide', rows: 2, dir: 'auto', 'aria-label': t('instructions'), placeholder: t('instructions.hint'), on: { input: () => begins({ instructions: instructions.value }) } });
  const notice = h('div', { class: 'composer-notice' });
  const more = place.session ? null : h('details', { class: 'new-more' }, h('summary', {}, t('instructions')), instructions);
  let known = null;
  // The strategies come later than what was chosen among them.
  const beginning = place.session ? {} : { strategy: '', instructions: '' };

  function begins(said) {
    Object.assign(beginning, said);
    changed();
  }

  function keep() {
    if (model.value.trim()) localStorage.setItem(NAME, model.value.trim());
    else localStorage.removeItem(NAME);
    drawNotice();
  }

  function drawNotice() {
    const name = model.value.trim() || known?.model;
    const isQuote = name === 'quote' || (!name && known?.upstream === 'quote');
    // Who begins is told how to get a model; who goes on knows.
    const words = place.session ? t('quote') : `${t('quote')} ${t('quote.how')}`;
    put(notice, isQuote ? note(words) : null, more);
  }

  get('/api/models').then((answer) => {
    known = answer;
    model.placeholder = answer.model ? t('model.is', { model: answer.model }) : t('model');
    put(list, answer.models.map((one) => h('option', { value: one.name })));
    drawNotice();
  }, () => {});
  if (strategy) get('/api/settings').then((answer) => {
    strategy.append(...answer.strategies.map((one) => h('option', { value: one.name, title: one.about }, one.name)));
    strategy.value = beginning.strategy;
  }, () => {});
  drawNotice();
  return {
    node: h('div', { class: 'composer-options' }, model, list, strategy),
    notice,
    chosen: () => ({ model: model.value.trim() || null, strategy: beginning.strategy || null, instructions: beginning.instructions?.trim() || null }),
    beginning: () => beginning,
    takeUp(draft) {
      if (place.session) return;
      Object.assign(beginning, { strategy: draft.strategy ?? '', instructions: draft.instructions ?? '' });
      strategy.value = beginning.strategy;
      instructions.value = beginning.instructions;
      more.open = Boolean(beginning.instructions);
    },
  };
}
