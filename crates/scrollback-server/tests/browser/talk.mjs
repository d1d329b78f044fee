// What a person does in the chat, as verbs.
import { api, assert, open, until } from './kit.mjs';

/** Words enough to fill a window with. */
export const STORY = 'The keeper of the lighthouse writes down the wind every hour and the tide twice a day. The lamp needs oil from the blue drum. ';

/** What of a session is under notes: from, to. */
export const folded = async (session) => (await api('GET', `/sessions/${session}`)).folded;

/** The chat of a session, opened. */
export const chat = async (session, query = '', looks = {}) => ready(await open(`/#/s/${session}/chat${query}`, looks));

/** Waits until the conversation is there. */
export async function ready(page) {
  await page.locator('.message-item, .fold-card').last().waitFor();
  return page;
}

/** The field to write in. */
export const field = (page) => page.getByRole('textbox', { name: /^(Message|消息)$/ });

/** Writes something and sends it with Enter; waits until its answer is kept. */
export async function write(page, words) {
  const before = await newest(page);
  await field(page).fill(words);
  await field(page).press('Enter');
  await until('an answer', async () => (await newest(page)) > before && !(await page.locator('.turn').count()));
}

/** The number of the newest message that is kept and seen. */
async function newest(page) {
  const ids = await page.locator('.message-item').evaluateAll((items) => items.map((item) => Number(item.id.slice(1))));
  return Math.max(-1, ...ids);
}

/** Opens the menu of a message and takes an entry. */
export async function choose(page, id, entry) {
  await page.locator(`#${id}`).getByRole('button', { name: `More about ${id}`, exact: true }).click();
  await page.getByRole('menuitem', { name: entry }).click();
}

/** Waits for a toast that says something. */
export const told = (page, words) => page.locator('.toast', { hasText: words }).first().waitFor();

/** The words of a message as they are shown. */
export const words = (page, id) => page.locator(`#${id} .message-body`).innerText();

/** The card that stands for what is folded, opened. */
export async function openCard(page) {
  const card = page.locator('.fold-card');
  if (!(await card.getAttribute('open').then((open) => open !== null))) await card.locator('summary').first().click();
  await card.locator('.note-row').first().waitFor();
  return card;
}

/** Remembers everything that a turn shows on its way, though it may be there for a moment only. */
export async function watch(page) {
  await page.evaluate(() => {
    const seen = window.seen = { lengths: [], events: [] };
    new MutationObserver(() => {
      const length = document.querySelector('.turn .live-text')?.textContent.length ?? 0;
      if (length && seen.lengths.at(-1) !== length) seen.lengths.push(length);
      for (const line of document.querySelectorAll('.turn .turn-events li')) if (!seen.events.includes(line.textContent)) seen.events.push(line.textContent);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  return () => page.evaluate(() => window.seen);
}

/** What is shown is what the API has, word for word. */
export function same(shown, raw) {
  const plain = (text) => text.replace(/\s+/g, ' ').trim();
  assert.equal(plain(shown), plain(raw));
}
