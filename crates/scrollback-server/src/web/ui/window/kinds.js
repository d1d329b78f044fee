// What a block is: its kind, what it is called, why it is there, and what makes it the same block in another window.
import { t } from '../i18n.js';
import { KINDS } from '../picture.js';
import { roleName } from '../chat/message.js';

const OF = { current_turn: 'current', too_large: 'held', relevant: 'topics', covers: 'contents', left_out: 'open' };
const REASONS = ['instructions', 'open', 'current_turn', 'covers', 'too_large', 'recalled', 'relevant', 'kept', 'reasoning', 'left_out'];

/** The kind a block counts as. */
export const kindOf = (block) => OF[block.reason] ?? block.reason;

/** “m125 User”, or what stands there in the place of messages. */
export const nameOf = (block) => (block.message ? `${block.message} ${block.speaker === 'result' ? t('result') : roleName(block.speaker)}` : t(`window.block.${kindOf(block)}`));

/** Why it is there, in the reader's language. */
export const whyOf = (block) => (REASONS.includes(block.reason) ? t(`window.why.${block.reason}`) : block.why);

/** What makes two blocks of two windows the same one. */
export const identity = (block) => block.message ?? block.reason;

/** The kinds of a view that cost something, in the order of the window: [kind, tokens]. */
export const kindsOf = (view) => KINDS.map((kind) => [kind, view.kinds?.[kind] ?? 0]).filter(([, tokens]) => tokens > 0);

/** What a window is drawn against: the limit, or what it costs where that is more. */
export const wholeOf = (view) => Math.max(view.limit ?? 0, view.budget, view.tokens, 1);
