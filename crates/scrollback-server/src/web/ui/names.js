// Sessions with the same title are told apart by what their client calls them, or by the beginning of their id.
const DIGITS = 12;

/** What a session is called beside its title. */
export const called = ({ id, declared }) => declared || id.slice(0, DIGITS);

/** The titles among these that are there more than once. */
export const doubled = (titles) => new Set(titles.filter((title, at) => titles.indexOf(title) !== at));
