// Who speaks in a message. Anthropic's API sends what tools return in the role of the person, who said nothing of it.

/** The role of a message, or 'tool' if it holds results and nothing else. */
export const speakerOf = ({ role, parts }) => (role === 'user' && parts.length > 0 && parts.every((part) => part.kind === 'result') ? 'tool' : role);
