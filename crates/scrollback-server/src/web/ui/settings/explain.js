// What a setting means, in the reader's language: the server explains in English, as scrollback.toml does.
import { language } from '../i18n.js';
import zh from '../lang/settings.zh.js';

/** The words of a setting; the server's own where there is no translation. */
export function explain({ name, about }) {
  const key = name.replace(/^upstreams\.[^.]+\./, 'upstreams.');
  return (language() === 'zh' ? zh[key] : undefined) ?? about;
}
