// Numbers, money, sizes, times and names, written for people.
import { locale, t } from './i18n.js';

/** A whole number with its separators. */
export const number = (value) => new Intl.NumberFormat(locale()).format(value ?? 0);

/** “9,000 tokens”. */
export const tokens = (value) => t('tokens', { n: value ?? 0 });

/** “9k”: short, for narrow places. */
export const short = (value) => new Intl.NumberFormat(locale(), { notation: 'compact', maximumFractionDigits: 1 }).format(value ?? 0);

/** “$0.0123”; a dash where the price is not known. */
export function dollars(value) {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  const digits = size === 0 || size >= 1 ? 2 : size >= 0.01 ? 3 : 5;
  return new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: digits }).format(value);
}

/** “12 %”. */
export const percent = (value) => new Intl.NumberFormat(locale(), { style: 'percent', maximumFractionDigits: 1 }).format((value ?? 0) / 100);

/** “1.2 MB”. */
export function bytes(value) {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  const step = Math.min(3, Math.floor(Math.log10(Math.max(1, value)) / 3));
  return new Intl.NumberFormat(locale(), { style: 'unit', unit: units[step], unitDisplay: 'narrow', maximumFractionDigits: 1 }).format(value / 1000 ** step);
}

/** Day and time, in full. */
export const moment = (text) => write(text, { dateStyle: 'medium', timeStyle: 'short' });

/** The day alone. */
export const day = (text) => write(text, { dateStyle: 'medium' });

/** The time of day alone. */
export const time = (text) => write(text, { timeStyle: 'short' });

/** Short for lists: the time if it is today, the day of this year, else with the year. */
export function ago(text) {
  const then = new Date(text);
  const now = new Date();
  if (Number.isNaN(then.getTime())) return '';
  if (then.toDateString() === now.toDateString()) return time(text);
  const year = then.getFullYear() === now.getFullYear() ? {} : { year: 'numeric' };
  return write(text, { month: 'short', day: 'numeric', ...year });
}

/** Words that stay apart from what stands beside them, where only text can be: whichever way they are written, and whatever they turn round. */
export const apart = (text) => `\u2068${text}\u2069`;

function write(text, options) {
  const date = new Date(text);
  return text && !Number.isNaN(date.getTime()) ? new Intl.DateTimeFormat(locale(), options).format(date) : '';
}
