// What somebody is writing in each session, kept while they look elsewhere, until the page is closed.
const drafts = new Map();

/** What is being written in a session, or in a new chat where there is none: { text, after, instead, without, aside }. */
export const draftOf = (session) => drafts.get(session) ?? null;

/** Keeps it; nothing written is nothing to keep. */
export function keepDraft(session, draft) {
  if (draft.text || draft.after || draft.aside) drafts.set(session, draft);
  else drafts.delete(session);
}

/** A new chat has become a session: what is being written belongs there. */
export function moveDraft(from, to) {
  if (drafts.has(from)) drafts.set(to, drafts.get(from));
  drafts.delete(from);
}

/** A session is gone: what was being written there waits in a new chat. */
export function freeDraft(session) {
  const texts = [drafts.get(null)?.text, drafts.get(session)?.text].filter(Boolean);
  drafts.delete(session);
  if (texts.length) drafts.set(null, { ...drafts.get(null), text: texts.join('\n') });
}
