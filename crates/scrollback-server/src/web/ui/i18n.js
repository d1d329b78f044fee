// Words in the reader's language. The language can be switched without a reload; numbers and dates follow it.
import en from './lang/en.js';
import zh from './lang/zh.js';

const NAME = 'scrollback.language';
const WORDS = { en, zh };
const listeners = new Set();
let current = choose();

/** The words of a key, with {name} replaced by values.name. A number named `n` picks `key.one` when it is 1. */
export function t(key, values = {}) {
  const words = WORDS[current];
  const one = values.n === 1 ? words[`${key}.one`] : undefined;
  const text = one ?? words[key] ?? en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? say(values[name]) : whole));
}

/** The language in use: 'en' or 'zh'. */
export const language = () => current;

/** The tag for Intl and <html lang>. */
export const locale = () => (current === 'zh' ? 'zh-CN' : 'en');

/** The languages there are, in their own words. */
export const languages = { en: 'English', zh: '中文' };

/** Switches the language and keeps the choice. */
export function setLanguage(name) {
  if (!WORDS[name] || name === current) return;
  current = name;
  localStorage.setItem(NAME, name);
  document.documentElement.lang = locale();
  for (const fn of listeners) fn();
}

/** Calls `fn` whenever the language was switched. */
export const onLanguage = (fn) => listeners.add(fn);

function choose() {
  const kept = localStorage.getItem(NAME);
  const name = WORDS[kept] ? kept : (navigator.language ?? '').toLowerCase().startsWith('zh') ? 'zh' : 'en';
  document.documentElement.lang = name === 'zh' ? 'zh-CN' : 'en';
  return name;
}

function say(value) {
  return typeof value === 'number' ? new Intl.NumberFormat(locale()).format(value) : String(value);
}
