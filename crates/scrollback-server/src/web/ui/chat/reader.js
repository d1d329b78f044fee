// Messages on screens where nobody writes: they can be pinned and left out, but not answered.
import { setExcluded, setPinned } from '../actions.js';
import { drawMarks, drawMessage } from './message.js';

/** What messages under `root` need to be drawn: a chat without a log and a field to write in. */
export function makeReader(place, root) {
  const chat = { place, draw: (message) => drawMessage(message, chat) };
  const mark = (answer) => { if (answer) drawMarks(root, answer, chat); };
  chat.setPinned = async (id, isPinned) => mark(await setPinned(place, id, isPinned));
  chat.setExcluded = async (id, isExcluded) => mark(await setExcluded(place, id, isExcluded));
  return chat;
}
