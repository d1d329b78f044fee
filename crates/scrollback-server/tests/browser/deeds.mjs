// What a person decides about a conversation: pins, notes, the strategy, branches, commands.
import { readFileSync } from 'node:fs';
import { accessible, api, assert, imported, picture, quiet, say, until } from './kit.mjs';
import { chat, choose, field, folded, openCard, ready, STORY, told, write } from './talk.mjs';

const controls = async (session) => (await api('GET', `/sessions/${session}`)).controls;

export const deeds = {
  async 'messages are pinned and left out, and say so'() {
    const page = await chat('deeds');
    const ids = await page.locator('.message-item').evaluateAll((items) => items.map((item) => item.id));
    const [first, second] = ids.slice(-4);
    await choose(page, first, 'Pin');
    await told(page, `${first} is in every window`);
    await page.locator(`#${first} .chip`, { hasText: 'pinned' }).waitFor();
    await choose(page, second, 'Leave out');
    await page.locator(`#${second} .chip`, { hasText: 'left out' }).waitFor();
    assert.deepEqual([(await controls('deeds')).pinned, (await controls('deeds')).excluded], [[first], [second]]);
    await choose(page, first, 'Why is it shown, or not?');
    await page.locator(`#${first} .message-extra .notice`).waitFor();
    await accessible(page, 'marks');
    await picture(page, 'chat-marks');
    await page.reload();
    await ready(page);
    await choose(page, first, 'Unpin');
    await choose(page, second, 'Show again');
    await until('no marks', async () => !(await page.locator('.message-head .chip').count()));
    const { pinned, excluded } = await controls('deeds');
    assert.deepEqual([pinned, excluded], [[], []]);
    quiet(page);
  },

  async 'what a tool returned is not told as the words of the person'() {
    const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'count', input: {} }] };
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'Nine gannets.' }] };
    await imported(JSON.stringify({ id: 'counted', messages: [{ role: 'user', content: 'Count them.' }, call, result, { role: 'assistant', content: 'Nine.' }] }));
    const page = await chat('counted');
    const node = page.locator('article.message', { hasText: 'Nine gannets.' });
    assert.equal(await node.locator('.role').textContent(), 'Tool');
    await node.getByRole('button', { name: /^More about/ }).click();
    await page.getByRole('menuitem', { name: 'Branch from here' }).waitFor();
    assert.equal(await page.getByRole('menuitem', { name: 'Edit and send again' }).count(), 0);
    quiet(page);
  },

  async 'a conversation is erased when that is meant, and gone for whoever looks at it'() {
    await imported(JSON.stringify({ id: 'doomed', messages: [{ role: 'user', content: 'Forget the periwinkle.' }, { role: 'assistant', content: 'I will.' }] }));
    const [page, other] = [await chat('doomed'), await chat('doomed')];
    const erase = page.getByRole('button', { name: 'Erase this conversation for good' });
    await erase.click();
    await page.locator('dialog').getByText('2 messages').waitFor();
    await accessible(page, 'the question before erasing');
    await picture(page, 'chat-erase');
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.equal((await api('GET', '/sessions/doomed')).messages, 2);
    await erase.click();
    await page.locator('dialog').getByRole('button', { name: 'Erase', exact: true }).click();
    await told(page, 'is erased: 2 messages');
    await told(other, 'This conversation was erased');
    for (const one of [page, other]) await until('it is left', async () => !new URL(one.url()).hash.includes('doomed'));
    await until('it is listed no more', async () => !(await page.locator('.session-row', { hasText: 'periwinkle' }).count()));
    quiet(page);
    quiet(other);
  },

  async 'what is saved as it came has every branch, and what is saved to read the one that is shown'() {
    const { session } = await say(null, 'The whelk is red.');
    await say(session, 'The limpet is green.', { after: 'start' });
    const page = await chat(session);
    const saved = async (format) => {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export', exact: true }).click();
      await page.getByRole('menuitem', { name: format }).click();
      return readFileSync(await (await download).path(), 'utf8');
    };
    const { messages, scrollback } = JSON.parse(await saved('JSON Lines, everything as it came'));
    assert.match(JSON.stringify(messages), /The limpet is green/);
    assert.match(JSON.stringify(scrollback.others ?? []), /The whelk is red/);
    assert.match(await saved('Markdown, to read'), /The limpet is green/);
    quiet(page);
  },

  async 'a message is shown as it came'() {
    const page = await chat('deeds');
    const id = await page.locator('.message-item').last().getAttribute('id');
    await choose(page, id, 'Raw JSON');
    const raw = JSON.parse(await page.locator('dialog .raw').innerText());
    assert.deepEqual(raw, JSON.parse((await api('GET', `/sessions/deeds/messages/${id}`)).raw));
    await accessible(page, 'raw JSON');
    await picture(page, 'chat-raw');
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    quiet(page);
  },

  async 'a note is edited, and undo takes the words back'() {
    const page = await chat('notes');
    const row = (await openCard(page)).locator('.note-row').first();
    const before = await row.locator('.note-title').innerText();
    await row.getByRole('button', { name: /^Edit the note/ }).click();
    await page.getByRole('textbox', { name: 'Text of the note' }).fill('Where the key hangs\nBehind the barometer.');
    await picture(page, 'chat-note');
    await accessible(page, 'the dialog of a note');
    await page.getByRole('button', { name: 'Save' }).click();
    await row.getByText('by you').waitFor();
    assert.equal(await row.locator('.note-title').innerText(), 'Where the key hangs');
    await page.locator('.fold-foot').getByRole('button', { name: 'Undo the last fold' }).click();
    await page.locator('.toast').first().waitFor();
    const again = (await openCard(page)).locator('.note-title').first();
    await until('the old words', async () => (await again.innerText()) === before);
    quiet(page);
  },

  async 'another strategy is chosen'() {
    const page = await chat('deeds');
    await page.getByRole('combobox', { name: 'Strategy' }).selectOption('summary');
    await told(page, 'From the next window on: summary@3000.');
    await write(page, 'How many sailings are there?');
    await page.locator('.panel code', { hasText: 'summary@3000' }).waitFor();
    await page.getByRole('combobox', { name: 'Strategy' }).selectOption('pages');
    await told(page, 'pages@3000');
    quiet(page);
  },

  async 'an earlier message is said anew, as a branch'() {
    const { session } = await say(null, 'The boat is red.');
    await say(session, 'The boat is tied to the north pier.');
    const page = await chat(session);
    await choose(page, 'm2', 'Edit and send again');
    await page.getByText('takes the place of m2 on a new branch').waitFor();
    assert.equal(await field(page).inputValue(), 'The boat is tied to the north pier.');
    await picture(page, 'chat-branching');
    await field(page).fill('The boat is tied to the south pier.');
    await field(page).press('Enter');
    await page.waitForURL(/branch=1/);
    await page.locator('.message-item', { hasText: 'south pier' }).first().waitFor();
    assert.equal(await page.locator('#m2').count(), 0);
    await page.locator('#m1 .chip', { hasText: 'this branch begins here' }).waitFor();
    await accessible(page, 'a branch');
    await picture(page, 'chat-branch');
    await page.goBack();
    await page.locator('#m2', { hasText: 'north pier' }).waitFor();
    await page.goForward();
    await page.locator('.message-item', { hasText: 'south pier' }).first().waitFor();
    await page.getByRole('combobox', { name: 'Branch' }).selectOption('0');
    await page.locator('#m2', { hasText: 'north pier' }).waitFor();
    await page.getByRole('link', { name: 'branch 1 leaves here' }).waitFor();
    assert.equal(await page.getByText('south pier').count(), 0);
    quiet(page);
  },

  async 'what cannot be sent again is told before anything is sent'() {
    const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const content = [{ type: 'text', text: 'What is on this chart?' }, { type: 'image_url', image_url: { url: PIXEL } }, { type: 'image_url', image_url: { url: PIXEL } }, { type: 'file', file: { filename: 'chart.pdf', file_data: 'AAAA' } }];
    const { sessions: [session] } = await imported(JSON.stringify({ id: 'chart', messages: [{ role: 'user', content }, { role: 'assistant', content: 'A reef.' }] }));
    const page = await chat(session);
    await choose(page, 'm0', 'Edit and send again');
    const warning = page.getByRole('alert').filter({ hasText: 'm0 also has 2 images, 1 file' });
    await warning.waitFor();
    await accessible(page, 'a message that cannot be sent whole');
    await picture(page, 'chat-without');
    await page.locator('.tabs').getByRole('link', { name: 'Window' }).click();
    await page.locator('.tabs').getByRole('link', { name: 'Chat' }).click();
    await warning.waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await warning.waitFor({ state: 'detached' });
    await choose(page, 'm0', 'Branch from here');
    assert.equal(await warning.count(), 0);
    quiet(page);
  },

  async '/compress folds now, and /help tells the commands'() {
    const { session } = await say(null, `One. ${STORY.repeat(9)}`);
    await say(session, `Two. ${STORY.repeat(9)}`);
    await say(session, 'Three.');
    const page = await chat(session);
    await field(page).fill('/');
    await page.locator('.composer-hints', { hasText: '/compress' }).waitFor();
    await accessible(page, 'the commands');
    await picture(page, 'chat-commands');
    await field(page).fill('/compress');
    await field(page).press('Enter');
    await told(page, /went under notes/);
    await page.locator('.fold-card').waitFor();
    assert.deepEqual(await folded(session), ['m0', 'm1']);
    assert.equal(await page.locator('.fold-card strong').first().innerText(), '2 messages folded, 1 page listed');
    await field(page).fill('/help');
    await field(page).press('Enter');
    await page.getByRole('dialog', { name: 'Commands' }).waitFor();
    quiet(page);
  },

  async 'a command that there is not is refused, kept in the field, and sent only if one insists'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    const count = async () => (await api('GET', `/sessions/${session}`)).messages;
    const before = await count();
    const refused = page.locator('.composer').getByRole('alert');
    for (const words of ['/window', '/comp', '/unfold now', '/pin', '/pin the boat']) {
      await field(page).fill(words);
      await field(page).press('Enter');
      await refused.waitFor();
      assert.equal(await field(page).inputValue(), words);
    }
    await field(page).fill('/window');
    await refused.waitFor({ state: 'detached' });
    await field(page).press('Enter');
    await refused.getByText('There is no /window here').waitFor();
    assert.match(await refused.innerText(), /\/compress \/undo \/redo \/pin \/strategy \/help.*A space before it/);
    await accessible(page, 'a command that was refused');
    await picture(page, 'chat-command-refused');
    assert.equal(await count(), before);
    await write(page, ' /window');
    await write(page, '/usr/bin is a path');
    await write(page, '/two\nlines');
    assert.equal(await count(), before + 6);
    await page.locator('.message-item', { hasText: '/window' }).first().waitFor();
    quiet(page);
  },

  async 'a command is chosen with arrows and Tab'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    const chosen = page.locator('.composer-hints [aria-selected=true]');
    const press = async (...keys) => { for (const key of keys) await field(page).press(key); };
    await field(page).fill('/');
    await press('ArrowDown', 'ArrowDown');
    assert.match(await chosen.innerText(), /^\/undo/);
    await press('ArrowUp', 'ArrowUp');
    assert.match(await chosen.innerText(), /^\/help/);
    assert.equal(await field(page).getAttribute('aria-activedescendant'), await chosen.getAttribute('id'));
    await accessible(page, 'a command that is chosen');
    await picture(page, 'chat-command-chosen');
    await press('ArrowUp', 'Enter');
    assert.equal(await field(page).inputValue(), '/strategy ');
    await field(page).fill('/comp');
    await press('Tab');
    assert.equal(await field(page).inputValue(), '/compress');
    await field(page).fill('/');
    await press('Escape');
    await page.locator('.composer-hints').waitFor({ state: 'hidden' });
    await field(page).fill('/he');
    await page.locator('.composer-hints').getByText('/help').click();
    assert.ok(await field(page).evaluate((node) => node === document.activeElement && node.value === '/help'));
    await press('Enter');
    await page.getByRole('dialog', { name: 'Commands' }).waitFor();
    quiet(page);
  },
};
