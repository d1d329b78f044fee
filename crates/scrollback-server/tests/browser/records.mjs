// What is kept beside the messages: topics, artifacts, the contents page, rules and pins, holds, jobs and the ledger; as the API has them.
import { readFileSync } from 'node:fs';
import { accessible, api, assert, everyLook, FEW, imported, open, picture, play, quiet, say, settled, until } from './kit.mjs';
import { played, STRATEGIES } from './seed.mjs';
import { another } from './model.mjs';

const number = (value) => value.toLocaleString('en');
const plain = (text) => text.replace(/\s+/g, ' ').trim();
const at = (session, screen, query = '') => `/#/s/${session}/${screen}${query}`;

await Promise.all(STRATEGIES.map((strategy) => played(`r-${strategy}`, strategy, 60)));

await play({
  async 'topics are a tree that keys lead through'() {
    const { topics } = await api('GET', '/sessions/r-topics/topics');
    const page = await open(at('r-topics', 'topics'));
    const items = page.getByRole('treeitem');
    await items.first().waitFor();
    assert.deepEqual((await items.evaluateAll((nodes) => nodes.map((node) => node.dataset.id))).sort(), topics.map((topic) => topic.id).sort());
    await items.first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const chosen = await items.nth(2).getAttribute('data-id');
    await page.waitForURL(new RegExp(`topic=${chosen}`));
    await page.locator('.record-head .id', { hasText: new RegExp(`^${chosen}$`) }).waitFor();
    assert.equal(await page.locator('[role=treeitem][aria-selected=true]').getAttribute('data-id'), chosen);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), chosen);
    await page.keyboard.press('End');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), await items.last().getAttribute('data-id'));
    quiet(page);
  },

  async 'what comes while one looks is shown where nothing was'() {
    for (const [strategy, row] of [['topics', '[role=treeitem]'], ['artifacts', '.record-row']]) {
      const name = `r-first-${strategy}`;
      await played(name, strategy, 1);
      const page = await open(at(name, strategy));
      await page.locator('.empty').waitFor();
      await played(name, strategy, 60);
      await page.locator(row).first().waitFor();
      await page.locator('.split-body .record-head').waitFor();
      assert.equal(await page.locator('.empty').count(), 0);
      quiet(page);
    }
  },

  async 'a topic with parts opens and closes'() {
    const { base } = await another(`${readFileSync(process.env.SETTINGS, 'utf8')}[topics]\ntopic_tokens = 1000\n`);
    await played('parts', 'topics', 30, base);
    const { topics } = await api('GET', '/sessions/parts/topics', undefined, base);
    const whole = topics.find((topic) => topic.state === 'divided' && !topic.parent);
    const parts = topics.filter((topic) => topic.parent === whole.id);
    const below = (topic) => topics.filter((one) => one.parent === topic.id).flatMap((one) => [one, ...below(one)]);
    const closed = topics.length - below(whole).length;
    assert.ok(parts.length > 1);
    const page = await open(at('parts', 'topics'), { base });
    const items = page.getByRole('treeitem');
    const item = page.locator(`[role=treeitem][data-id=${whole.id}]`);
    await item.waitFor();
    const isShown = (count) => until(`${count} topics`, async () => (await items.count()) === count);
    await isShown(topics.length);
    assert.deepEqual(await page.locator('[aria-level="2"]').evaluateAll((nodes) => nodes.map((node) => node.dataset.id).sort()), parts.map((topic) => topic.id).sort());
    await item.focus();
    await page.keyboard.press('ArrowLeft');
    await isShown(closed);
    assert.equal(await item.getAttribute('aria-expanded'), 'false');
    await page.keyboard.press('ArrowRight');
    await isShown(topics.length);
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-level')), '2');
    // A part that has parts itself is closed first, and stays so.
    const focused = await page.evaluate(() => document.activeElement.dataset.id);
    const inner = below(topics.find((topic) => topic.id === focused)).length;
    await page.keyboard.press('ArrowLeft');
    if (inner) await page.keyboard.press('ArrowLeft');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), whole.id);
    await item.locator('.twist').click();
    await isShown(closed);
    await item.locator('.twist').click();
    await isShown(topics.length - inner);
    await accessible(page, 'a topic with parts');
    await picture(page, 'topics-parts');
    quiet(page);
  },

  async 'a topic tells its state, its brief, its scores and its messages'() {
    const { topics } = await api('GET', '/sessions/r-topics/topics');
    const states = [...new Set(topics.map((topic) => topic.state))];
    assert.ok(states.length > 1);
    for (const state of states) {
      const topic = await api('GET', `/sessions/r-topics/topics/${topics.find((one) => one.state === state && one.scores.length > 1).id}`);
      const page = await open(at('r-topics', 'topics', `?topic=${topic.id}`));
      await page.locator('.record-title', { hasText: topic.name }).waitFor();
      await page.getByText(topic.brief, { exact: true }).first().waitFor();
      assert.equal((await page.locator('.record-head .state-badge').innerText()).toLowerCase(), state);
      const plot = page.getByRole('slider');
      await plot.focus();
      for (const one of [...topic.history].reverse()) {
        assert.equal(await plot.getAttribute('aria-valuetext'), `${one.turn}: Score ${one.score.toFixed(2)}`);
        await page.keyboard.press('ArrowLeft');
      }
      const facts = await page.locator('.fact-grid').innerText();
      assert.ok(facts.includes(number(topic.messages)) && facts.includes(number(topic.tokens)), facts);
      await settled(page);
      const said = await Promise.all(topic.members.slice(0, 10).map((id) => api('GET', `/sessions/r-topics/messages/${id}`)));
      await sameWords(page.locator('.said-list article'), said);
      quiet(page);
    }
  },

  async 'topics of one state can be seen alone'() {
    const { topics } = await api('GET', '/sessions/r-topics/topics');
    const page = await open(at('r-topics', 'topics'));
    await page.getByRole('treeitem').first().waitFor();
    const dormant = topics.filter((topic) => topic.state === 'dormant').length;
    await page.locator('.filters').getByRole('button', { name: /dormant/i }).click();
    await until('the dormant alone', async () => (await page.getByRole('treeitem').count()) === dormant);
    quiet(page);
  },

  async 'one can look further back also after something else has happened'() {
    const { topics } = await api('GET', '/sessions/r-topics/topics');
    const { id } = topics.find((topic) => topic.state !== 'divided');
    const event = (at, messages) => ({ at, kind: 'sorted', topics: [id], text: 'sorted', change: null, messages });
    const pages = [{ events: [event('2026-08-02T10:00:00Z', 41)], next: 'x' }, { events: [event('2026-08-01T10:00:00Z', 42)], next: null }];
    const page = await open('/');
    await page.route('**/topics/events*', (route) => route.fulfill({ json: pages[Number(route.request().url().includes('cursor='))] }));
    await page.goto(new URL(at('r-topics', 'topics', `?topic=${id}`), page.url()).href);
    await page.locator('.events').getByText('41 messages').waitFor();
    const fresh = page.waitForResponse((answer) => new URL(answer.url()).pathname.endsWith('/topics'));
    await say('r-topics', 'Where does the key hang?');
    await fresh;
    await page.waitForTimeout(200);
    await page.getByRole('button', { name: 'Look further back' }).click();
    await page.locator('.events').getByText('42 messages').waitFor();
    await page.locator('.events').getByText('41 messages').waitFor();
    quiet(page);
  },

  async 'artifacts have versions, and what changed between two is told line by line'() {
    const { artifacts } = await api('GET', '/sessions/r-artifacts/artifacts');
    const { id } = artifacts[0];
    const { text } = await api('GET', `/sessions/r-artifacts/notes/${id}`);
    const page = await open(at('r-artifacts', 'artifacts', `?artifact=${id}`));
    await page.locator('.record-title', { hasText: artifacts[0].title }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    const field = page.getByRole('textbox', { name: 'Text of the note' });
    await field.fill(`${text}\n\n## The lamp\n\nThe lamp needs oil from the blue drum.\n`);
    // Somebody else is faster: their words are shown before anything takes their place.
    await api('PUT', `/sessions/r-artifacts/notes/${id}`, { text: `${text}\n\n## The oar\n\nThe oar is broken.\n` });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('dialog pre', { hasText: 'The oar is broken.' }).waitFor();
    page.complaints.splice(0);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.document', { hasText: 'oil from the blue drum' }).waitFor();
    const { versions } = await api('GET', `/sessions/r-artifacts/artifacts/${id}/versions`);
    assert.equal(await page.locator('.version').count(), versions.length);
    const [from, to] = versions.slice(-2).map((version) => version.version);
    const { changes } = await api('GET', `/sessions/r-artifacts/artifacts/${id}/diff?from=${from}&to=${to}`);
    const more = changes.filter((change) => change.sign === 'more').map((change) => change.line);
    await page.locator('.diff-line.more').first().waitFor();
    assert.deepEqual((await page.locator('.diff-line.more .diff-text').allTextContents()).map((line) => line.trim()), more.map((line) => line.trim()));
    assert.ok(more.includes('The lamp needs oil from the blue drum.'));
    assert.equal(await page.locator('.versions [aria-live]').innerText(), `${more.length} lines more, ${changes.filter((change) => change.sign === 'less').length} lines less`);
    await accessible(page, 'versions');
    await page.locator('.versions').scrollIntoViewIfNeeded();
    await picture(page, 'artifact-diff');
    await page.locator('.version').last().getByRole('button', { name: 'Version' }).click();
    await page.waitForURL(new RegExp(`version=${versions[0].version}`));
    await until('the first version', async () => !(await page.locator('.document', { hasText: 'oil from the blue drum' }).count()));
    quiet(page);
  },

  async 'the sources of a document lead to its messages'() {
    const { artifacts } = await api('GET', '/sessions/r-artifacts/artifacts');
    const page = await open(at('r-artifacts', 'artifacts', `?artifact=${artifacts.at(-1).id}`));
    const source = page.locator('.document-sources a').first();
    const id = (await source.innerText()).trim();
    await source.click();
    await page.locator(`#${id}.found`).waitFor();
    quiet(page);
  },

  async 'the contents page is shown as the model reads it'() {
    for (const strategy of ['pages', 'summary', 'artifacts', 'topics']) {
      const contents = await api('GET', `/sessions/r-${strategy}/contents`);
      const page = await open(at(`r-${strategy}`, 'contents'));
      await page.locator('[data-contents]').waitFor();
      assert.equal(await page.locator('[data-contents]').textContent(), contents.text);
      assert.deepEqual(await page.locator('.contents-head').evaluate((node) => [node.dataset.tokens, node.dataset.original]), [contents.tokens, contents.original_tokens].map(String));
      assert.deepEqual(await page.locator('.contents-row').evaluateAll((rows) => rows.map((row) => row.dataset.note)), await notes(strategy, contents));
      quiet(page);
    }
  },

  async 'a page of it opens to the originals, word for word'() {
    const { pages } = await api('GET', '/sessions/r-pages/contents');
    const page = await open(at('r-pages', 'contents'));
    await page.locator('.note summary').first().click();
    const { messages } = await api('GET', `/sessions/r-pages/pages/${pages[0].page}`);
    const shown = page.locator('.note-originals article');
    await shown.nth(messages.length - 1).waitFor();
    await sameWords(shown, messages);
    quiet(page);
  },

  async 'holds are read line by line, and searched'() {
    const { holds } = await api('GET', '/sessions/r-pages/holds');
    const page = await open(at('r-pages', 'holds'));
    await page.locator('[data-hold]').first().waitFor();
    assert.deepEqual(await page.locator('[data-hold]').evaluateAll((rows) => rows.map((row) => [row.dataset.hold, Number(row.dataset.chars)])), holds.map((hold) => [hold.id, hold.chars]));
    const whole = await api('GET', `/sessions/r-pages/holds/${holds[0].id}?from_line=1&lines=200`);
    await page.locator('[data-line="200"]').waitFor();
    assert.deepEqual(await page.locator('.line-text').allTextContents(), whole.text.replace(/\n$/, '').split('\n'));
    await page.locator('.lines-search input').fill('certificate');
    await page.keyboard.press('Enter');
    await page.locator('.lines mark', { hasText: 'certificate' }).first().waitFor();
    await accessible(page, 'a hold that was searched');
    await picture(page, 'holds-found');
    const sticksOut = await page.locator('[data-hold]').first().evaluate((row) => {
      row.querySelector('.tool-name').textContent = 'a_tool_with_a_long_name_'.repeat(9);
      return row.querySelector('time').getBoundingClientRect().right > row.getBoundingClientRect().right;
    });
    assert.ok(!sticksOut, 'a long name pushes the time out of the card');
    quiet(page);
  },

  async 'a result that no window had yet is read where the chat leads to'() {
    const session = await read('r-unseen', 'The lamp is lit.\n'.repeat(1000));
    const page = await open(at(session, 'chat'));
    await page.locator('.hold-chip').click();
    await page.locator('.hold-more').getByRole('link', { name: 'Holds' }).click();
    await page.locator('.lines-head .id', { hasText: 'h2' }).waitFor();
    await page.locator('[data-line="200"]', { hasText: 'The lamp is lit.' }).waitFor();
    quiet(page);
  },

  async 'long lines are numbered as the server counts them, so that what is found leads to its line'() {
    const book = Array.from({ length: 1500 }, (_, at) => `entryinthebookoftheharbourmaster${at}`).join(' ');
    const session = await read('r-wide', `${book}\nThe lamp is lit.\n`);
    await say(session, 'Is the lamp lit?');
    const [{ id }] = await until('a hold', async () => { const { holds } = await api('GET', `/sessions/${session}/holds`); return holds.length && holds; });
    const { lines } = await api('GET', `/sessions/${session}/holds/${id}`);
    assert.ok(lines > Math.ceil(book.length / 1000) + 1, `${lines} lines of ${book.length} characters`);
    const page = await open(at(session, 'holds', `?hold=${id}`));
    await page.locator(`[data-line="${lines}"]`, { hasText: 'The lamp is lit.' }).waitFor();
    await page.locator('.lines-search input').fill('lamp');
    await page.keyboard.press('Enter');
    await page.locator('.line', { hasText: 'The lamp is lit.' }).getByRole('button').click();
    await page.locator(`.is-found[data-line="${lines}"]`, { hasText: 'The lamp is lit.' }).waitFor();
    quiet(page);
  },

  async 'the sums of the ledger are those of the API'() {
    const { totals, calls } = await api('GET', '/sessions/r-pages/ledger?count=60&totals=true');
    const page = await open(at('r-pages', 'ledger'));
    await page.locator('.totals').waitFor();
    const told = Object.fromEntries(await page.locator('[data-total]').evaluateAll((nodes) => nodes.map((node) => [node.dataset.total, node.innerText])));
    assert.ok(told.calls.includes(number(totals.calls)), told.calls);
    assert.ok(told.cost.includes(number(totals.input)), told.cost);
    assert.ok(told.cached.includes(number(totals.read)), told.cached);
    assert.ok(told.without.includes(number(totals.without_input)), told.without);
    assert.match(told.cost, new RegExp(`\\$${totals.cost.toFixed(3).replace(/0+$/, '')}`));
    const rows = await page.locator('tr[data-view]').evaluateAll((nodes) => nodes.map((node) => [node.dataset.view, Number(node.dataset.input), Number(node.dataset.read)]));
    assert.ok(rows.length > 10);
    assert.deepEqual(rows, calls.slice(0, rows.length).map((call) => [call.view, call.input, call.read]));
    await page.locator('tr[data-view] a').first().click();
    await page.waitForURL(new RegExp(`window\\?view=${calls[0].view}`));
    quiet(page);
  },

  async 'rules, pins and what is left out are listed, and let go of'() {
    const { rules } = await api('GET', '/sessions/r-pages/rules');
    assert.ok(rules.length > 1 && rules.every((rule) => rule.holds));
    const { messages } = await api('GET', '/sessions/r-pages/messages?count=4');
    const pinned = messages.at(-1).id;
    const page = await open(at('r-pages', 'kept'));
    const row = (name) => page.locator(`[data-kept="${name}"]`);
    const rows = (part) => page.locator(`[data-part=${part}] li`);
    await row(rules[0].rule).waitFor();
    assert.deepEqual((await rows('rules').locator('.kept-words > p:first-child').allInnerTexts()).map(plain), rules.map((rule) => plain(rule.text)));
    await accessible(page, 'what is kept');
    // What is decided elsewhere shows here at once.
    await api('PUT', `/sessions/r-pages/pins/${pinned}`);
    await row(pinned).waitFor();
    await api('PUT', `/sessions/r-pages/excluded/${rules[1].message}`);
    await rows('excluded').first().waitFor();
    await until('a rule goes with its message', async () => (await row(rules[1].rule).getByRole('button').count()) === 0);
    await picture(page, 'kept');
    // And what is decided here holds.
    await row(rules[0].rule).getByRole('button').click();
    await page.locator('.toast', { hasText: rules[0].rule }).waitFor();
    assert.equal((await api('GET', '/sessions/r-pages/rules')).rules[0].holds, false);
    await page.getByRole('button', { name: `Take up again: ${rules[0].rule}` }).click();
    await page.getByRole('button', { name: `Let go: ${rules[0].rule}` }).waitFor();
    await row(pinned).getByRole('button', { name: 'Unpin' }).click();
    await page.locator('[data-part=excluded]').getByRole('button', { name: 'Show again' }).click();
    await until('nothing but rules', async () => !(await rows('pinned').count()) && !(await rows('excluded').count()));
    assert.ok((await api('GET', '/sessions/r-pages/rules')).rules.every((rule) => rule.holds));
    await row(rules[0].rule).getByRole('link').click();
    await page.locator(`#${rules[0].message}`).waitFor();
    quiet(page);
  },

  async 'jobs are listed, what was given up first, and why'() {
    const { base } = await another(`${readFileSync(process.env.SETTINGS, 'utf8')}[embeddings]\nfrom = "http://127.0.0.1:9/v1"\nmodel = "none"\n`);
    await played('parts', 'pages', 3, base);
    let jobs = [];
    await until('a job that failed', async () => (jobs = (await api('GET', '/jobs', undefined, base)).jobs).some((job) => job.last_error));
    const page = await open('/#/settings?part=jobs', { base });
    const rows = page.locator('.settings-part tbody tr');
    await rows.first().waitFor();
    assert.equal(await rows.count(), jobs.length);
    await page.getByText(jobs.find((job) => job.last_error).last_error).waitFor();
    await picture(page, 'settings-jobs');
    const failed = { ...jobs[0], kind: 'embed', state: { failed: { reason: 'no room' } }, tries: 8, last_error: 'no room <b>left</b>' };
    await page.route('**/api/jobs', (route) => route.fulfill({ json: { jobs: [...jobs, failed] } }));
    await page.reload();
    await rows.first().getByText('given up').waitFor();
    await rows.first().getByText('no room <b>left</b>').waitFor();
    await accessible(page, 'jobs');
    await rows.first().getByRole('link').click();
    await page.locator('.message-item').last().waitFor();
    quiet(page);
  },

  async 'each of them is legible in every look'() {
    await everyLook({
      topics: [at('r-topics', 'topics'), (page) => page.getByRole('treeitem').first().waitFor()],
      artifacts: [at('r-artifacts', 'artifacts'), (page) => page.locator('.record-row').first().waitFor()],
      contents: [at('r-pages', 'contents'), (page) => page.locator('.contents-row').first().waitFor()],
      kept: [at('r-pages', 'kept'), (page) => page.locator('[data-kept]').first().waitFor()],
      holds: [at('r-pages', 'holds'), (page) => page.locator('[data-hold]').first().waitFor()],
      ledger: [at('r-pages', 'ledger'), (page) => page.locator('.totals').waitFor()],
    });
  },

  async 'where there are none, they say what to do'() {
    await imported(JSON.stringify({ id: 'bare', messages: [{ role: 'user', content: 'Is the harbour calm?' }, { role: 'assistant', content: 'It is.' }] }));
    const none = (screen) => [`${screen}-none`, [at(screen === 'kept' ? 'bare' : 'r-pages', screen), (page) => page.locator('.empty').waitFor()]];
    await everyLook(Object.fromEntries(['topics', 'artifacts', 'kept'].map(none)), FEW);
  },
});

/** A session in which a tool has read a book to a model. */
async function read(id, book) {
  const call = { id: 'c1', type: 'function', function: { name: 'read_book', arguments: '{}' } };
  const messages = [{ role: 'user', content: 'Read the book.' }, { role: 'assistant', content: null, tool_calls: [call] }, { role: 'tool', tool_call_id: 'c1', content: book }, { role: 'assistant', content: 'It is read.' }];
  return (await imported(JSON.stringify({ id, messages }))).sessions[0];
}

/** The names of the notes that the contents page of a strategy lists. */
async function notes(strategy, contents) {
  if (contents.pages.length) return contents.pages.map((page) => String(page.page));
  return (await api('GET', `/sessions/r-${strategy}/notes`)).notes.map((note) => note.name);
}

/** Each of them says what the message says that the API has, word for word. */
async function sameWords(shown, messages) {
  const texts = messages.map((message) => message.parts.filter((part) => part.kind === 'text').map((part) => plain(part.text.replace(/^> ?/gm, ''))).join(' '));
  const said = await shown.evaluateAll((articles) => articles.map((article) => [...article.querySelectorAll('.message-body > .markdown, .message-body > div > .markdown')].map((node) => node.innerText).join(' ')));
  assert.deepEqual(said.map(plain), texts);
}
