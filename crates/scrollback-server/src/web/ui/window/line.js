// A line of a block: of a message its words, else what stands in the place of messages, counted.
import { t } from '../i18n.js';

const LINES = {
  pages: ({ pages }) => t('line.pages', { n: pages }),
  topics: ({ topics }) => t('line.topics', { n: topics }),
  documents: ({ documents }) => t('line.documents', { n: documents }),
  summary: ({ last }) => t('line.summary', { name: last.replace('m', 's') }),
  kept: ({ rules, pins, earlier }) => t(earlier ? 'line.kept.earlier' : 'line.kept', { rules, pins, earlier }),
  quotes: ({ topics, messages }) => (topics ? t('line.quotes.of', { n: topics }) : '') + t('line.quotes', { n: messages }),
  held: ({ hold, tokens }) => t('line.held', { hold, tokens }),
};

/** The line, in the reader's language where it is ours. */
export const lineOf = ({ tells, line }) => LINES[tells?.kind]?.(tells) ?? line;
