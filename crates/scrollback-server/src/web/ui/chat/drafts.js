// What somebody is writing in each session, kept while they look elsewhere or load the page anew, until its tab is closed.
const NAME = 'scrollback.drafts';
const drafts = kept();

/** What is being written in a session, or in a new chat where there is none: { text, after, instead, without, aside }, and what a new chat is to begin with. */
export const draftOf = (session) => drafts.get(session) ?? null;

/** Keeps it; nothing written is nothing to keep. */
export function keepDraft(session, draft) {
  if (draft.text || draft.after || draft.aside || draft.instructions || draft.strategy) drafts.set(session, draft);
  else drafts.delete(session);
}

/** A new chat has become a session: what is being written belongs there, and what it was to begin with is said. */
export function moveDraft(from, to) {
  keepDraft(to, { ...drafts.get(from), instructions: null, strategy: null });
  drafts.delete(from);
}

/** A session is gone: what was being written there waits in a new chat. */
export function freeDraft(session) {
  const lost = drafts.get(session);
  const texts = [drafts.get(null)?.text, lost?.text, lost?.aside].filter(Boolean);
  drafts.delete(session);
  if (texts.length) drafts.set(null, { ...drafts.get(null), text: texts.join('\n') });
}

/** Somebody else may sit here next. */
export const forgetDrafts = () => drafts.clear();

function kept() {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(NAME)) ?? []);
  } catch {
    return new Map();
  }
}

// A page that nobody sees may be thrown away by its browser, and is loaded anew when it is looked at.
function save() {
  try {
    sessionStorage.setItem(NAME, JSON.stringify([...drafts]));
  } catch {
    sessionStorage.removeItem(NAME); // it is more than a browser keeps
  }
}

addEventListener('pagehide', save);
document.addEventListener('visibilitychange', () => { if (document.hidden) save(); });
