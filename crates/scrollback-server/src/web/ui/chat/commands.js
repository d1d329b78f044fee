// Slash commands of the field: what they do here, without a model.
import { fold, setStrategy } from '../actions.js';
import { dialog } from '../dialog.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';

const COMMANDS = {
  '/compress': { hint: 'compress.hint', run: (chat) => fold(chat.place, 'compress') },
  '/undo': { hint: 'undo.hint', run: (chat) => fold(chat.place, 'undo') },
  '/redo': { hint: 'redo.hint', run: (chat) => fold(chat.place, 'redo') },
  '/pin': { hint: 'command.pin', shape: '/pin m12', needs: /^m\d+$/, run: (chat, id) => chat.setPinned(id, true) },
  '/strategy': { hint: 'command.strategy', shape: '/strategy pages', needs: /^[\w-]+$/, run: (chat, name) => setStrategy(chat.place, name) },
  '/help': { hint: 'command.help', isAnywhere: true, run: () => showHelp() },
};

/** The commands that begin with what is written: [how it is written, what it does]. */
export function matching(text) {
  if (!/^\/[a-z]*$/i.test(text)) return [];
  return Object.entries(COMMANDS).filter(([name]) => name.startsWith(text.toLowerCase())).map(([name, command]) => [command.shape ?? name, t(command.hint)]);
}

/**
 * Heeds what was written: null if it is a message, else { refused } with the words that say why nothing was done, if so. A slash and
 * letters are a command, known or not, as in the terminal; a path such as /usr/bin is none, nor is what begins with a space.
 */
export async function heed(text, chat) {
  const [, name, word] = /^(\/[a-z]+)(?:[^\S\n]+(.*))?$/i.exec(text.trimEnd()) ?? [];
  if (!name) return null;
  const command = COMMANDS[name.toLowerCase()];
  const refused = whyNot(name, command, (word ?? '').trim(), chat);
  if (!refused) await command.run(chat, (word ?? '').trim());
  return { refused };
}

function whyNot(name, command, word, chat) {
  if (!command) return t('command.unknown', { name, all: Object.keys(COMMANDS).join(' ') });
  if (!chat.place.session && !command.isAnywhere) return t('command.session');
  return command.needs && !command.needs.test(word) ? t('command.shape', { shape: command.shape }) : null;
}

function showHelp() {
  dialog(t('command.title'), h('dl', { class: 'keys commands' }, Object.entries(COMMANDS).map(([name, command]) => h('div', {}, h('dt', {}, h('code', {}, command.shape ?? name)), h('dd', {}, t(command.hint))))));
}
