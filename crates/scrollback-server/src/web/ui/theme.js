// Light, dark, or as the system has it; the choice is kept.
const NAME = 'scrollback.theme';
const ORDER = ['auto', 'light', 'dark'];

/** The choice: 'auto', 'light' or 'dark'. */
export const theme = () => (ORDER.includes(localStorage.getItem(NAME)) ? localStorage.getItem(NAME) : 'auto');

/** Keeps a choice, shows it, and tells it by the event `theme`. */
export function setTheme(name) {
  localStorage.setItem(NAME, name);
  document.documentElement.dataset.theme = name;
  dispatchEvent(new Event('theme'));
}

/** The one after the present one. */
export const nextTheme = () => ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];

document.documentElement.dataset.theme = theme();
