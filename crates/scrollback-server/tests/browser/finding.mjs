// Finding and bringing: search in any language, import by drag and drop, settings, and tokens.
import { readFileSync } from 'node:fs';
import { crc32, deflateRawSync } from 'node:zlib';
import { accessible, api, assert, BASE, everyLook, FEW, fixture, imported, open, picture, play, quiet, settled, until } from './kit.mjs';
import { field } from './talk.mjs';
import { played } from './seed.mjs';
import { another, puppet } from './model.mjs';

const day = (by = 0) => new Date(Date.now() + by * 86_400_000).toISOString().slice(0, 10);
const search = (query) => `/#/search?${new URLSearchParams(query)}`;

await played('island', 'pages');

await play({
  async 'Chinese words are found, and lead to their message'() {
    const { found } = await api('GET', `/search?words=${encodeURIComponent('押金')}&count=20`);
    assert.ok(found.length > 0);
    const page = await open('/');
    await page.keyboard.press('/');
    await page.keyboard.type('押金');
    await page.keyboard.press('Enter');
    await page.locator('.hit mark', { hasText: '押金' }).first().waitFor();
    assert.equal(await page.locator('.hit').count(), found.length);
    assert.deepEqual(await page.locator('.hit .id').allTextContents(), found.map((hit) => hit.message));
    await page.locator('.hit').first().click();
    await page.locator(`#${found[0].message}.found`, { hasText: '押金' }).waitFor();
    quiet(page);
  },

  async 'a search is narrowed by days and by who spoke'() {
    const page = await open(search({ words: 'Vasco' }));
    await page.locator('.hit').first().waitFor();
    const ids = () => page.locator('.hit .id').allTextContents();
    const all = await ids();
    const asked = page.waitForResponse((answer) => answer.url().includes('/api/search') && answer.url().includes(`to=${day(1)}`));
    await page.getByLabel('From').fill(day(-1));
    await page.getByLabel('To', { exact: true }).fill(day(1));
    assert.deepEqual((await (await asked).json()).found.map((hit) => hit.message), all);
    await settled(page);
    assert.deepEqual(await ids(), all);
    await page.getByLabel('From').fill(day(2));
    await page.getByLabel('To', { exact: true }).fill(day(3));
    await page.getByText('Nothing was found for “Vasco”').waitFor();
    await accessible(page, 'a search without a result');
    await picture(page, 'search-nothing');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.locator('.hit').first().waitFor();
    await page.getByRole('searchbox', { name: 'Words to look for' }).fill('sailings');
    await page.getByLabel('Said by').selectOption('tool');
    const { found } = await api('GET', '/search?words=sailings&role=tool&count=20');
    assert.ok(found.length > 0);
    await until('tools alone', async () => String(await ids()) === String(found.map((hit) => hit.message)));
    assert.deepEqual([...new Set(await page.locator('.hit strong').allTextContents())], ['Tool']);
    quiet(page);
  },

  async 'a year of too many digits stops no search'() {
    const page = await open(search({ words: 'Vasco', to: '120260-01-01' }));
    await page.locator('.hit').first().waitFor();
    await page.getByLabel('From').fill('12026-01-01');
    await page.getByText('Nothing was found for “Vasco”').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    quiet(page);
  },

  async 'what is searched for stands in the address'() {
    const page = await open(search({ words: '密封条' }));
    await page.locator('.hit mark').first().waitFor();
    await page.getByRole('searchbox', { name: 'Words to look for' }).fill('propeller');
    await page.locator('.hit mark', { hasText: /propeller/i }).first().waitFor();
    await page.waitForURL(/words=propeller/);
    await page.reload();
    await page.locator('.hit mark', { hasText: /propeller/i }).first().waitFor();
    quiet(page);
  },

  async 'an address with many hits is opened and reloaded, and tells of more'() {
    await imported(JSON.stringify({ id: 'gulls', messages: Array.from({ length: 30 }, (_, at) => ({ role: 'user', content: `Gull number ${at} sits on the pier.` })) }));
    const page = await open(search({ words: 'gull' }));
    const hits = (count) => until(`${count} hits`, async () => (await page.locator('.hit').count()) === count);
    await hits(20);
    await page.reload();
    await hits(20);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await hits(30);
    // Whoever goes back from one of them goes on with the next.
    await page.locator('.hit').nth(25).scrollIntoViewIfNeeded();
    const down = () => page.locator('.screen').evaluate((node) => node.scrollTop);
    const before = await down();
    assert.ok(before > 0);
    await page.locator('.hit').nth(25).click();
    await page.locator('.found').waitFor();
    await page.goBack();
    await hits(30);
    await until('the same place', async () => (await down()) === before);
    assert.equal(await page.getByRole('alert').count(), 0);
    quiet(page);
  },

  async 'a search in one conversation begins there'() {
    const [, { sessions: [session] }] = [
      await imported(JSON.stringify({ id: 'terns', title: 'All terns', messages: [{ role: 'user', content: 'The tern dives.' }] })),
      await imported(JSON.stringify({ id: 'puffins', title: 'All puffins', messages: [{ role: 'user', content: 'No tern is here.' }] })),
    ];
    // It may be older than all that are listed.
    const page = await open('/#/s/puffins/chat');
    await page.route('**/api/sessions?count=100', (route) => route.fulfill({ json: { sessions: [], next: null } }));
    await page.getByRole('link', { name: 'Search in this conversation' }).click();
    await page.locator('[name=session] option:checked', { hasText: 'All puffins' }).waitFor({ state: 'attached' });
    await page.getByRole('searchbox', { name: 'Words to look for' }).fill('tern');
    await page.locator('.hit').first().waitFor();
    assert.deepEqual(await page.locator('.hit-title a').evaluateAll((links) => links.map((link) => link.hash)), [`#/s/${session}/chat`]);
    quiet(page);
  },

  async 'sessions with the same title are told apart, and found by any word of it'() {
    const one = (id, title) => imported(JSON.stringify({ id, title, messages: [{ role: 'user', content: 'The cormorant dries its wings.' }] }));
    for (const name of ['castor', 'pollux']) await one(name, 'Birds of the harbour');
    await one('alone', 'Birds of the cliff');
    const page = await open(search({ words: 'cormorant' }));
    await page.locator('.hit').nth(2).waitFor();
    const names = (places) => page.locator(places).evaluateAll((nodes) => nodes.filter((node) => node.checkVisibility()).map((node) => node.textContent).sort());
    assert.deepEqual(await names('.hit-title .id'), ['castor', 'pollux']);
    await page.locator('#search').fill('of the');
    await until('three sessions', async () => (await page.locator('.session-row').count()) === 3);
    assert.deepEqual(await names('.session-called'), ['castor', 'pollux']);
    await accessible(page, 'sessions with the same title');
    await picture(page, 'same-titles');
    await page.locator('#search').fill('cliff');
    await until('one session', async () => (await page.locator('.session-row').count()) === 1);
    assert.deepEqual(await names('.session-called'), []);
    quiet(page);
  },

  async 'files are dropped, tell how far they are, and can be opened'() {
    const page = await open('/#/import');
    await page.locator('.drop').waitFor();
    const seen = await steps(page);
    const lines = Array.from({ length: 60 }, (_, at) => JSON.stringify({ id: `drop-${at}`, title: `Dropped ${at}`, messages: [{ role: 'user', content: `What is ${at}?` }, { role: 'assistant', content: `A number: ${at}.` }] }));
    await drop(page, { 'many.jsonl': lines.join('\n'), 'conversations.json': readFileSync(fixture('exports/chatgpt.json'), 'utf8') });
    await page.locator('.import-card', { hasText: 'many.jsonl' }).getByText('120 messages were added, in 60 conversations').waitFor();
    await page.locator('.import-card', { hasText: 'many.jsonl' }).getByText('Only the first 50 are named here.').waitFor();
    await page.locator('.import-card', { hasText: 'conversations.json' }).getByText('(ChatGPT)').waitFor();
    assert.match((await seen()).join('\n'), /Conversation \d+ of 60/);
    await page.locator('.import-card', { hasText: 'conversations.json' }).getByText('entries were skipped').click();
    await accessible(page, 'imports that are done');
    await picture(page, 'import-done');
    await drop(page, { 'again.jsonl': lines.join('\n') });
    await page.locator('.import-card', { hasText: 'again.jsonl' }).getByText('120 were there already and are not kept twice.').waitFor();
    await page.getByRole('link', { name: 'Dropped 0' }).first().click();
    await page.locator('.message-item', { hasText: 'What is 0?' }).waitFor();
    quiet(page);
  },

  async 'an export is taken as the ZIP that was downloaded'() {
    const page = await open('/#/import');
    await page.locator('.drop').waitFor();
    assert.match(await page.locator('#import-files').getAttribute('accept'), /\.zip/);
    const buffer = zipped('conversations.json', readFileSync(fixture('exports/claude.json'), 'utf8'));
    await page.locator('#import-files').setInputFiles({ name: 'export.zip', mimeType: 'application/zip', buffer });
    await page.locator('.import-card', { hasText: 'export.zip' }).getByText('(Claude)').waitFor();
    quiet(page);
  },

  async 'a file that is none of these is refused, and says what to do'() {
    const page = await open('/#/import');
    await page.locator('.drop').waitFor();
    await drop(page, { 'holiday.txt': 'Dear diary' });
    await page.locator('.import-card', { hasText: 'holiday.txt' }).getByText('not imported').waitFor();
    await accessible(page, 'an import that was refused');
    await picture(page, 'import-refused');
  },

  async 'every setting is there with its value and what it means'() {
    const { settings } = await api('GET', '/settings');
    const page = await open('/#/settings?part=all');
    await page.locator('.setting').first().waitFor();
    const names = await page.locator('.setting-section').evaluateAll((sections) => sections.flatMap((section) => [...section.querySelectorAll('.setting')].map((line) => [`${section.querySelector('h2 code').textContent.slice(1, -1)}.${line.querySelector('.setting-name').textContent}`, line.querySelector('.setting-value').textContent])));
    assert.deepEqual(names.map(([name]) => name).sort(), settings.map((setting) => setting.name).sort());
    assert.equal(Object.fromEntries(names)['window.tokens'], '3000');
    await page.getByRole('searchbox', { name: 'Find a setting' }).fill('fold_over');
    await until('few settings', async () => (await page.locator('.setting').count()) < 10);
    await page.getByRole('searchbox', { name: 'Find a setting' }).fill('');
    await page.getByLabel('Only what was changed').check();
    const changed = settings.filter((setting) => JSON.stringify(setting.value) !== JSON.stringify(setting.default));
    await until('what was changed', async () => (await page.locator('.setting').count()) < settings.length);
    assert.equal(await page.locator('.setting.changed').count(), changed.length);
    // Settings that are explained together stay together.
    assert.equal(await page.locator('.setting-block').count(), await page.locator('.setting-block:has(.changed)').count());
    quiet(page);
  },

  async 'a token is made, shown once, and taken back'() {
    const page = await open('/#/settings?part=tokens');
    await page.getByLabel('Name').fill('laptop');
    await page.getByRole('button', { name: 'Make' }).click();
    const shown = page.getByRole('dialog').getByRole('textbox');
    await shown.waitFor();
    const token = await shown.inputValue();
    await picture(page, 'token-made');
    await accessible(page, 'a token that was made');
    const ask = () => fetch(`${BASE}/api/me`, { headers: { authorization: `Bearer ${token}` } });
    assert.match(JSON.stringify(await (await ask()).json()), /laptop/);
    await page.keyboard.press('Escape');
    await page.getByRole('row', { name: /laptop/ }).getByRole('button').click();
    await page.getByRole('dialog').getByRole('button', { name: /take|back|revoke/i }).last().click();
    await until('the end of the token', async () => (await ask()).status === 401);
    await page.getByRole('row', { name: /laptop/ }).waitFor({ state: 'detached' });
    quiet(page);
  },

  async 'a server that wants a token asks for one, and then lets in'() {
    const model = await puppet('access = "tokens"');
    const made = /[\w-]{20,}/.exec(model.command('tokens', 'add', 'mira'))[0];
    const page = await open('/#/new', { base: model.base });
    await page.getByRole('dialog', { name: 'A token is needed' }).waitFor();
    await accessible(page, 'the question for a token');
    await picture(page, 'token-needed');
    const unknown = page.getByRole('dialog').getByRole('alert').filter({ hasText: 'does not know the token' });
    assert.equal(await unknown.count(), 0);
    await page.getByRole('dialog').getByLabel('Token').fill('sb_mistyped');
    await page.keyboard.press('Enter');
    await unknown.waitFor();
    assert.ok(await page.getByRole('dialog').getByLabel('Token').evaluate((node) => node === document.activeElement));
    await accessible(page, 'a token that is unknown');
    await picture(page, 'token-unknown');
    await page.keyboard.type('sb_mistyped');
    await page.keyboard.press('Enter');
    await page.waitForTimeout(300);
    await unknown.waitFor();
    await page.getByRole('dialog').getByLabel('Token').fill(made);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await field(page).fill('Hello?');
    await field(page).press('Enter');
    await until('a question', model.isAsked);
    model.says({ content: 'Here.' });
    model.ends();
    await page.locator('#m1', { hasText: 'Here.' }).waitFor();
    assert.deepEqual(page.complaints.filter((words) => !/status of 401/.test(words)), []);
  },

  async 'who gives up a token leaves nothing of theirs to whoever comes next'() {
    const server = await another('[serve]\nupstream = "quote"\naccess = "tokens"\n');
    const [mira, noa] = ['mira', 'noa'].map((name) => /[\w-]{20,}/.exec(server.command('tokens', 'add', name))[0]);
    const says = (token, message) => fetch(`${server.base}/api/chat`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: JSON.stringify({ message, stream: false }) });
    const page = await open('/#/new', { base: server.base });
    const enters = async (token) => {
      await page.getByRole('dialog').getByLabel('Token').fill(token);
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    await says(mira, 'Where Mira hides the key');
    await enters(mira);
    await page.locator('.session-row', { hasText: 'Where Mira hides' }).waitFor();
    await field(page).fill('What only Mira knows');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Forget the token of this tab' }).click();
    await page.getByRole('dialog', { name: 'A token is needed' }).waitFor();
    await until('an end of the list', async () => !(await page.locator('.session-row').count()));
    await enters(noa);
    await page.locator('.settings-part').getByText('noa').first().waitFor();
    await says(noa, 'What Noa asked');
    await page.locator('.session-row', { hasText: 'What Noa asked' }).waitFor();
    assert.equal(await page.locator('.session-row').count(), 1);
    await page.goto(`${server.base}/#/new`);
    await field(page).waitFor();
    assert.equal(await field(page).inputValue(), '');
    assert.deepEqual(page.complaints.filter((words) => !/status of 401/.test(words)), []);
  },

  async 'a token of somebody else, in the place of one that was taken back, finds nothing of theirs'() {
    const server = await another('[serve]\nupstream = "quote"\naccess = "tokens"\n');
    const [mira, noa] = ['mira', 'noa'].map((name) => /[\w-]{20,}/.exec(server.command('tokens', 'add', name))[0]);
    const page = await open('/#/new', { base: server.base });
    const enters = async (token) => {
      await page.getByRole('dialog').getByLabel('Token').fill(token);
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    await enters(mira);
    await page.locator('.sessions-foot', { hasText: 'Nothing is kept yet' }).waitFor();
    await field(page).fill('What only Mira knows');
    server.command('tokens', 'revoke', 'mira');
    await page.getByRole('link', { name: 'Settings' }).click();
    const anew = page.waitForEvent('load');
    await enters(noa);
    await anew;
    await page.locator('.settings-part').getByText('noa').first().waitFor();
    await page.goto(`${server.base}/#/new`);
    await field(page).waitFor();
    assert.equal(await field(page).inputValue(), '');
    assert.deepEqual(page.complaints.filter((words) => !/status of 401/.test(words)), []);
  },

  async 'each of them is legible in every look'() {
    await everyLook({
      search: [search({ words: '押金' }), (page) => page.locator('.hit').first().waitFor()],
      import: ['/#/import', (page) => page.locator('.drop').waitFor()],
    });
    const part = (name) => [`settings-${name}`, [`/#/settings?part=${name}`, (page) => page.locator('.settings-part > *').first().waitFor()]];
    await everyLook({ 'search-empty': ['/#/search', (page) => page.locator('.empty').waitFor()], ...Object.fromEntries(['all', 'you', 'strategies', 'models', 'jobs', 'tokens'].map(part)) }, FEW);
  },
});

/** A ZIP that holds one file. */
function zipped(name, text) {
  const [named, packed] = [Buffer.from(name), deflateRawSync(text)];
  const four = (number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(number);
    return bytes;
  };
  const about = Buffer.concat([Buffer.from([20, 0, 0, 0, 8, 0, 0, 0, 0, 0]), ...[crc32(text), packed.length, Buffer.byteLength(text), named.length].map(four)]);
  const file = Buffer.concat([Buffer.from('PK\x03\x04'), about, named, packed]);
  const line = Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), about, Buffer.alloc(14), named]);
  return Buffer.concat([file, line, Buffer.from('PK\x05\x06'), Buffer.from([0, 0, 0, 0, 1, 0, 1, 0]), four(line.length), four(file.length), Buffer.alloc(2)]);
}

/** Drops files on the page: { name: text }. */
async function drop(page, files) {
  const dataTransfer = await page.evaluateHandle((all) => {
    const held = new DataTransfer();
    for (const [name, text] of Object.entries(all)) held.items.add(new File([text], name));
    return held;
  }, files);
  await page.dispatchEvent('.drop', 'dragover', { dataTransfer });
  await page.locator('.drop.over').waitFor();
  await page.dispatchEvent('.drop', 'drop', { dataTransfer });
}

/** Remembers what the cards of imports say on their way. */
async function steps(page) {
  await page.evaluate(() => {
    window.steps = new Set();
    new MutationObserver(() => document.querySelectorAll('.import-card').forEach((card) => window.steps.add(card.innerText))).observe(document.body, { childList: true, subtree: true });
  });
  return () => page.evaluate(() => [...window.steps]);
}
