// Talking: a chat from nothing, words as they come, folding, recalls, held results, undo.
import { accessible, api, assert, open, picture, quiet, say, until } from './kit.mjs';
import { chat, field, folded, openCard, ready, same, STORY, told, watch, words, write } from './talk.mjs';
import { puppet } from './model.mjs';

export const talking = {
  async 'a chat begins from nothing, and Markdown is drawn'() {
    const page = await open('/#/new');
    await page.getByText('you get quotations').waitFor();
    await accessible(page, 'a new chat');
    await picture(page, 'chat-new');
    await field(page).fill('Remember **the tide table**:\n\n```python\nhigh = "06:12"\n```\n\n| day | high |\n|---|---|\n| Mon | 06:12 |');
    await field(page).press('Enter');
    await page.waitForURL(/#\/s\/[0-9a-f]{32}\/chat/);
    await ready(page);
    await write(page, 'When is high tide on Monday?');
    await page.locator('#m0 strong', { hasText: 'the tide table' }).waitFor();
    assert.equal(await page.locator('#m0 .code-box code.language-python').innerText(), 'high = "06:12"\n');
    assert.equal(await page.locator('#m0 td').first().innerText(), 'Mon');
    await accessible(page, 'a short chat');
    await picture(page, 'chat-short');
    quiet(page);
  },

  async 'tags in a message are words like any others'() {
    const text = 'What is <notes>, and Vec<String>?';
    const { session } = await say(null, text);
    await say(session, '<div>\n  <p>Only a page</p>\n</div>');
    const page = await chat(session);
    same(await words(page, 'm0'), text);
    same(await words(page, 'm2'), '<div> <p>Only a page</p> </div>');
    await picture(page, 'chat-tags');
    quiet(page);
  },

  async 'words are seen as the model says them, and can be stopped'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await field(page).fill('What does the lamp need?');
    await field(page).press('Enter');
    await until('a question', model.isAsked);
    const live = page.locator('.turn .live-text');
    model.says({ reasoning_content: 'Look in the book.' });
    const thought = page.locator('.turn .thinking');
    await thought.locator('summary', { hasText: 'Look in the book.' }).click();
    model.says({ reasoning_content: ' It is on the shelf.' });
    await thought.locator('.block-body', { hasText: 'Look in the book. It is on the shelf.' }).waitFor();
    assert.ok(await thought.evaluate((node) => node.open), 'reasoning closes while it is read');
    model.says({ content: 'The lamp needs **oil**' });
    await live.getByText('oil').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 1);
    await live.locator('strong', { hasText: 'oil' }).waitFor();
    model.says({ content: ' from the drum.' });
    await live.getByText('from the drum.').waitFor();
    await picture(page, 'chat-streaming');
    model.ends();
    await page.waitForURL(/#\/s\//);
    await page.locator('#m1', { hasText: 'The lamp needs oil from the drum.' }).waitFor();
    await field(page).fill('And the wick?');
    await field(page).press('Enter');
    await until('a question', model.isAsked);
    model.says({ content: 'The wick is' });
    await live.getByText('The wick is').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send' }).count(), 1);
    quiet(page);
  },

  async 'a conversation folds while one talks, and every word is still there'() {
    const said = [1, 2, 3, 4, 5, 6].map((day) => `Day ${day}. ${STORY.repeat(5)}`);
    const { session } = await say(null, said[0]);
    for (const one of said.slice(1)) await say(session, one);
    const page = await chat(session);
    const seen = await watch(page);
    for (let day = 7; !(await folded(session)) && day < 20; day += 1) {
      said.push(`Day ${day}. ${STORY.repeat(5)}`);
      await write(page, said.at(-1));
    }
    assert.match((await seen()).events.join('\n'), /Folded to fit: m0 to m\d+ are under notes now/);
    await page.getByText('folded in this turn').waitFor();
    const card = await openCard(page);
    const to = (await folded(session))[1];
    await card.getByText(`${Number(to.slice(1)) + 1} messages folded, `).waitFor();
    await card.scrollIntoViewIfNeeded();
    await picture(page, 'chat-folded');
    await card.locator('.note > summary').first().click();
    const first = card.locator('.note-originals article').first();
    same(await first.locator('.message-body').innerText(), said[0]);
    await page.getByRole('button', { name: 'Show the originals here' }).click();
    await page.locator('#m0').scrollIntoViewIfNeeded();
    same(await words(page, 'm0'), said[0]);
    await page.getByRole('button', { name: 'Hide the originals' }).click();
    await page.locator('#m0').waitFor({ state: 'detached' });
    quiet(page);
  },

  async 'a recall is told while it happens'() {
    const page = await chat('tale');
    const seen = await watch(page);
    await write(page, 'Where does the spare key to the engine room hang?');
    assert.match((await seen()).events.join('\n'), /recall_page|search_history/);
    assert.match(await page.locator('.message-item').last().innerText(), /behind the barometer, on the brass hook/);
    await page.locator('.panel .turn-events').waitFor();
    await page.getByText(/\d recalls?/).first().waitFor();
    await accessible(page, 'a chat that folded');
    await picture(page, 'chat-recall');
    quiet(page);
  },

  async 'a held result opens to its original'() {
    const { holds: [hold] } = await api('GET', '/sessions/tale/holds');
    const page = await chat('tale', `?at=${hold.message}`);
    const chip = page.getByRole('button', { name: `held ${hold.id}` });
    await chip.click();
    const shown = page.locator(`#${hold.message} .hold-body code`);
    await shown.waitFor();
    const { text, lines } = await api('GET', `/sessions/tale/holds/${hold.id}?from_line=1&lines=400`);
    same(await shown.innerText(), text.split('\n').slice(0, 200).join('\n'));
    await page.getByText(`200 of ${lines} lines`).waitFor();
    await picture(page, 'chat-held');
    await page.getByRole('button', { name: 'More lines' }).click();
    await until('more lines', async () => (await shown.innerText()).split('\n').length > 200);
    await accessible(page, 'an open hold');
    quiet(page);
  },

  async 'a fold is undone and taken up again'() {
    const page = await chat('tale');
    const before = await folded('tale');
    await page.getByRole('button', { name: 'Undo the last fold' }).first().click();
    await told(page, /shown again/);
    const after = await until('another fold', async () => String(await folded('tale')) !== String(before) && ((await folded('tale')) ?? 'none'));
    await page.locator('.fold-card', { hasText: `–${after[1]}` }).waitFor();
    await page.getByRole('button', { name: 'Redo the fold' }).click();
    await told(page, /went under notes/);
    assert.deepEqual(await folded('tale'), before);
    await page.locator('.fold-card', { hasText: `–${before[1]}` }).waitFor();
    quiet(page);
  },
};
