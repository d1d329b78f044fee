// Slash commands of the field: what they do here, without a model.
import { fold, setStrategy } from '../actions.js';
import { dialog } from '../dialog.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { toast } from '../toast.js';

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
  if (!/^\/\w*$/.test(text)) return [];
  return Object.entries(COMMANDS).filter(([name]) => name.startsWith(text)).map(([name, command]) => [command.shape ?? name, t(command.hint)]);
}

/** Runs a command; false if the text is none and should be sent. A path such as /usr/bin is none. */
export async function runCommand(text, chat) {
  const [name, ...words] = text.split(/\s+/);
  const command = COMMANDS[name];
  if (!command) return false;
  const word = words.join(' ');
  if (!chat.place.session && !command.isAnywhere) toast(t('command.session'), 'bad');
  else if (command.needs && !command.needs.test(word)) toast(t('command.shape', { shape: command.shape }), 'bad');
  else await command.run(chat, word);
  return true;
}

function showHelp() {
  dialog(t('command.title'), h('dl', { class: 'keys commands' }, Object.entries(COMMANDS).map(([name, command]) => h('div', {}, h('dt', {}, h('code', {}, command.shape ?? name)), h('dd', {}, t(command.hint))))));
}
