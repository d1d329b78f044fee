// What goes wrong, and others who write too: no word is lost, and none goes where nobody looks.
import { accessible, api, assert, imported, language, open, picture, play, quiet, say, until } from './kit.mjs';
import { choose, field, openCard, ready, told, write } from './talk.mjs';
import { played } from './seed.mjs';
import { another, puppet } from './model.mjs';

const LONG = Array.from({ length: 900 }, (_, at) => `Line ${at} of the harbour book.`).join('\n');
// A picture of one pixel, and more bytes behind it than a list shows.
const PICTURE = Buffer.concat([Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64'), Buffer.alloc(310_000)]).toString('base64');
const chat = async (session, base) => ready(await open(`/#/s/${session}/chat`, { base }));
const live = (page) => page.locator('.turn .live-text');
const button = (page, name) => page.getByRole('button', { name, exact: true });
const holds = (page, words) => until(`“${words}” in the field`, async () => (await field(page).inputValue()) === words);
const tab = (page, name) => page.locator('.tabs').getByRole('link', { name }).click();

async function send(page, words) {
  await field(page).fill(words);
  await field(page).press('Enter');
}

/** A session in front of a model that waits, its first question answered. */
async function begun(page, model) {
  await send(page, 'What does the lamp need?');
  await until('a question', model.isAsked);
  model.says({ content: 'Oil.' });
  model.ends();
  await page.locator('#m1', { hasText: 'Oil.' }).waitFor();
  await until('the end of the turn', async () => !(await page.locator('.turn').count()));
}

/** Answers to these requests wait until they are let go. */
async function held(page, pattern) {
  let release;
  const gate = new Promise((go) => { release = go; });
  let count = 0;
  await page.route(pattern, async (route) => {
    count += 1;
    await gate;
    await route.continue().catch(() => {});
  });
  return { release, isAsked: () => count > 0 };
}

/** The next message is not taken, after a while. */
const refused = (page, after = 0) => page.route('**/api/chat', async (route) => {
  await new Promise((go) => { setTimeout(go, after); });
  await route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"code":"busy","detail":"The harbour is closed."}' });
}, { times: 1 });

/** As if another tab were in front. */
const hide = (page, isHidden) => page.evaluate((value) => {
  Object.defineProperty(document, 'hidden', { configurable: true, value });
  document.dispatchEvent(new Event('visibilitychange'));
}, isHidden);

await played('many', 'pages');

await play({
  async 'the same words said once more are answered on a branch of their own'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await begun(page, model);
    await choose(page, 'm0', 'Edit and send again');
    await holds(page, 'What does the lamp need?');
    await field(page).press('Enter');
    await until('a question', model.isAsked);
    model.says({ content: 'A new wick.' });
    model.ends();
    await page.locator('#m2', { hasText: 'A new wick.' }).waitFor();
    assert.equal(await page.locator('#m1').count(), 0);
    assert.match(page.url(), /branch=1/);
    quiet(page);
  },

  async 'a branch that another begins does not draw words away'() {
    const { session } = await say(null, 'The boat is red.');
    await say(session, 'It is tied to the north pier.');
    const page = await chat(session);
    await say(session, 'It is tied to the south pier.', { after: 'm1' });
    await page.getByRole('combobox', { name: 'Branch' }).waitFor();
    await write(page, 'Who holds the rope?');
    const texts = async (branch) => JSON.stringify((await api('GET', `/sessions/${session}/messages?branch=${branch}`)).messages.map((one) => one.parts));
    assert.match(await texts(0), /Who holds the rope/);
    assert.doesNotMatch(await texts(1), /Who holds the rope/);
    quiet(page);
  },

  async 'a turn that begins while the last one settles stays in sight'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await begun(page, model);
    const fetching = await held(page, /\/messages\?.*after=/);
    await send(page, 'And the wick?');
    await until('a question', model.isAsked);
    model.says({ content: 'It is trimmed.' });
    model.ends();
    await until('the end of the turn', fetching.isAsked);
    await send(page, 'And the glass?');
    await until('a question', model.isAsked);
    model.says({ content: 'It is wiped' });
    await live(page).getByText('It is wiped').waitFor();
    fetching.release();
    await page.locator('#m3', { hasText: 'It is trimmed.' }).waitFor();
    await page.waitForTimeout(300);
    assert.equal(await live(page).innerText(), 'It is wiped');
    assert.equal(await page.getByText('And the glass?').count(), 1);
    model.ends();
    await page.locator('#m5', { hasText: 'It is wiped' }).waitFor();
    await until('the end of the turn', async () => !(await page.locator('.turn').count()));
    quiet(page);
    model.stops();
  },

  async 'what is being written stays when a new chat becomes a session'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await send(page, 'What does the lamp need?');
    await until('a question', model.isAsked);
    await field(page).fill('And who fills it?');
    model.says({ content: 'Oil.' });
    await live(page).getByText('Oil.').waitFor();
    model.ends();
    await page.waitForURL(/#\/s\//);
    await page.locator('#m1', { hasText: 'Oil.' }).waitFor();
    await holds(page, 'And who fills it?');
    quiet(page);
    model.stops();
  },

  async 'what is being written is found again'() {
    const [{ session }, other] = [await say(null, 'The boat is red.'), await say(null, 'The oar is blue.')];
    const page = await chat(session);
    await field(page).fill('Not sent yet');
    await tab(page, 'Window');
    await page.waitForURL(/\/window/);
    await tab(page, 'Chat');
    await holds(page, 'Not sent yet');
    await page.locator(`.session-row[data-id="${other.session}"]`).click();
    await page.locator('#m0', { hasText: 'The oar is blue.' }).waitFor();
    await holds(page, '');
    await page.locator(`.session-row[data-id="${session}"]`).click();
    await holds(page, 'Not sent yet');
    await page.getByRole('button', { name: 'Language' }).click();
    await page.getByRole('menuitemradio', { name: '中文' }).click();
    await page.getByRole('link', { name: '新对话' }).first().waitFor();
    await holds(page, 'Not sent yet');
    await page.reload();
    await holds(page, 'Not sent yet');
    quiet(page);
  },

  async 'what a new chat is to begin with is found again, and goes with its first message'() {
    const page = await open('/#/new');
    const [instructions, strategy] = [page.locator('.new-more textarea'), page.getByRole('combobox', { name: 'Strategy' })];
    await page.locator('.new-more > summary').click();
    await instructions.fill('Answer like a harbour master.');
    await strategy.selectOption('summary');
    await page.locator('.session-row').first().click();
    await ready(page);
    await page.getByRole('link', { name: 'New chat' }).first().click();
    await page.waitForURL(/#\/new/);
    await until('the instructions', async () => (await instructions.inputValue()) === 'Answer like a harbour master.');
    assert.ok(await instructions.isVisible(), 'what is sent is in sight');
    await until('the strategy', async () => (await strategy.inputValue()) === 'summary');
    await send(page, 'Is the pier free?');
    await page.waitForURL(/#\/s\//);
    const [, session] = /#\/s\/(\w+)/.exec(page.url());
    assert.equal((await api('GET', `/sessions/${session}`)).strategy, 'summary');
    assert.match(JSON.stringify((await api('GET', `/sessions/${session}/messages`)).messages[0]), /like a harbour master/);
    await page.getByRole('link', { name: 'New chat' }).first().click();
    await page.waitForURL(/#\/new/);
    assert.equal(await instructions.inputValue(), '');
    quiet(page);
  },

  async 'the first line keeps its indentation'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    await write(page, '\n    if tide:\n        wait()\n');
    const { parts } = await api('GET', `/sessions/${session}/messages/m2`);
    assert.equal(parts[0].text, '    if tide:\n        wait()');
    quiet(page);
  },

  async 'what was said until it was stopped stands there once'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await begun(page, model);
    await send(page, 'And the wick?');
    await until('a question', model.isAsked);
    model.says({ content: 'The wick is' });
    await live(page).getByText('The wick is').waitFor();
    await button(page, 'Stop').click();
    await page.locator('#m3', { hasText: 'The wick is' }).waitFor();
    await until('the end of the turn', async () => !(await page.locator('.turn').count()));
    assert.equal(await page.getByText('And the wick?').count(), 1);
    await page.locator('.log-tail', { hasText: 'Stopped.' }).waitFor();
    quiet(page);
  },

  async 'what was said until it failed stands there once, and why it failed beside it'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await begun(page, model);
    await send(page, 'And the wick?');
    await until('a question', model.isAsked);
    model.says({ content: 'The wick is' });
    await live(page).getByText('The wick is').waitFor();
    model.fails('The harbour is closed.');
    await page.locator('#m3', { hasText: 'The wick is' }).waitFor();
    await until('the end of the turn', async () => !(await page.locator('.turn').count()));
    await page.getByRole('alert').filter({ hasText: 'The harbour is closed.' }).waitFor();
    quiet(page);
  },

  async 'a new chat that is refused is tried again where its words are kept'() {
    const model = await another('[serve]\nupstream = "away"\n[upstreams.away]\nurl = "http://127.0.0.1:1/v1"\nwire = "chat"\n[chat]\nmodel = "away"\n');
    const page = await open('/#/new', { base: model.base });
    await send(page, 'Is the pier free?');
    await page.waitForURL(/#\/s\//);
    await page.getByRole('alert').filter({ hasText: 'away' }).waitFor();
    await holds(page, 'Is the pier free?');
    await page.locator('#m0', { hasText: 'Is the pier free?' }).waitFor();
    await until('the question once', async () => (await page.locator('.log article', { hasText: 'Is the pier free?' }).count()) === 1);
    await field(page).press('Enter');
    await until('another refusal', async () => (await field(page).inputValue()) === 'Is the pier free?' && (await page.getByRole('button', { name: 'Send', exact: true }).count()) === 1);
    assert.equal((await api('GET', '/sessions', undefined, model.base)).sessions.length, 1);
  },

  async 'a message on another branch is found from wherever it is named'() {
    const { session } = await say(null, 'The boat is red.');
    await say(session, 'It is tied to the north pier.');
    await say(session, 'It is tied to the south pier.', { after: 'm1' });
    await api('PUT', `/sessions/${session}/pins/m2`);
    const page = await open(`/#/s/${session}/kept`);
    await page.locator('.kept-row').getByRole('link', { name: 'm2' }).click();
    await page.locator('#m2.found', { hasText: 'north pier' }).waitFor();
    assert.equal(new URLSearchParams(page.url().split('?')[1]).get('branch'), '0');
    assert.equal(await page.getByRole('combobox', { name: 'Branch' }).inputValue(), '0');
    await page.goBack();
    await page.locator('.kept-row').first().waitFor();
    await page.goto(page.url().replace(/kept.*/, 'chat?at=m99'));
    await page.getByRole('alert').filter({ hasText: 'no message m99' }).waitFor();
  },

  async 'a file that is dropped where none is taken does not take the page away'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    await field(page).fill('Not sent yet');
    const isStopped = (name) => field(page).evaluate((node, type) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['The tide table'], 'tides.txt'));
      return !node.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }, name);
    assert.deepEqual([await isStopped('dragover'), await isStopped('drop')], [true, true]);
    assert.equal(await field(page).inputValue(), 'Not sent yet');
    quiet(page);
  },

  async 'saying something anew leaves what is being written'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    await field(page).fill('Not sent yet');
    await choose(page, 'm0', 'Edit and send again');
    await holds(page, 'The boat is red.');
    await button(page, 'Cancel').click();
    await holds(page, 'Not sent yet');
    await choose(page, 'm0', 'Edit and send again');
    await holds(page, 'The boat is red.');
    await send(page, 'The boat is green.');
    await page.waitForURL(/branch=1/);
    await page.locator('.message-item', { hasText: 'The boat is green.' }).first().waitFor();
    await holds(page, 'Not sent yet');
    quiet(page);
  },

  async 'words that could not be sent come back, with their place'() {
    const { session } = await say(null, 'The boat is red.');
    await say(session, 'It is tied to the north pier.');
    const page = await chat(session);
    await choose(page, 'm2', 'Edit and send again');
    await holds(page, 'It is tied to the north pier.');
    await refused(page);
    await send(page, 'It is tied to the south pier.');
    await page.getByText('The harbour is closed.').waitFor();
    await holds(page, 'It is tied to the south pier.');
    await page.getByText('takes the place of m2 on a new branch').waitFor();
    await field(page).press('Enter');
    await page.waitForURL(/branch=1/);
    await page.locator('.message-item', { hasText: 'south pier' }).first().waitFor();
    assert.equal(await page.getByText('north pier').count(), 0);
  },

  async 'a message that is cut in the list is copied and edited whole'() {
    const { sessions: [session] } = await imported(JSON.stringify({ id: 'long', messages: [{ role: 'user', content: LONG }] }));
    const page = await chat(session);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('#m0').getByRole('button', { name: 'Copy (m0)' }).click();
    await told(page, 'Copied.');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), LONG);
    await choose(page, 'm0', 'Edit and send again');
    await holds(page, LONG);
    quiet(page);
  },

  async 'a picture, a call and a thought that are cut in the list can be seen whole'() {
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } };
    const call = { id: 'c1', type: 'function', function: { name: 'write_file', arguments: JSON.stringify({ text: LONG }) } };
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'Keep this.' }, picture] }, { role: 'assistant', content: null, reasoning_content: LONG, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'kept' }];
    const { sessions: [session] } = await imported(JSON.stringify({ id: 'cut', messages }));
    const page = await chat(session);
    const all = (id) => page.locator(`#${id}`).getByRole('button', { name: 'Show all of it' });
    await all('m0').click();
    await page.locator('#m0 img.picture').waitFor();
    await page.locator('#m1 .call > summary').click();
    await page.locator('#m1 .call').getByRole('button', { name: 'Show all of it' }).click();
    await until('all of the message', async () => !(await all('m1').count()));
    assert.ok(await page.locator('#m1 .call').evaluate((node) => node.open && node.closest('article').contains(document.activeElement)), 'what was opened stays open, and who opened it stays there');
    for (const part of ['.call', '.thinking']) assert.match(await page.locator(`#m1 ${part} .block-body`).textContent(), /Line 899 of the harbour book\./);
    quiet(page);
  },

  async 'a turn goes on while one looks elsewhere'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await begun(page, model);
    await send(page, 'And the wick?');
    await until('a question', model.isAsked);
    model.says({ content: 'It is' });
    await live(page).getByText('It is').waitFor();
    await tab(page, 'Window');
    await page.waitForURL(/\/window/);
    model.says({ content: ' trimmed' });
    await tab(page, 'Chat');
    await live(page).getByText('It is trimmed').waitFor();
    assert.equal(await page.getByText('And the wick?').count(), 1);
    await button(page, 'Stop').waitFor();
    await tab(page, 'Window');
    model.says({ content: ' daily.' });
    model.ends();
    await tab(page, 'Chat');
    await page.locator('#m3', { hasText: 'It is trimmed daily.' }).waitFor();
    await button(page, 'Send').waitFor();
    await until('the end of the turn', async () => !(await page.locator('.turn').count()));
    quiet(page);
    model.stops();
  },

  async 'what goes wrong while one looks elsewhere is told on return'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    await refused(page, 1500);
    await send(page, 'Is the pier free?');
    await page.locator('.turn').waitFor();
    await tab(page, 'Window');
    await page.waitForResponse('**/api/chat');
    await tab(page, 'Chat');
    await page.getByText('The harbour is closed.').waitFor();
    await holds(page, 'Is the pier free?');
  },

  async 'a new chat that is stopped before it began says so'() {
    const page = await open('/#/new');
    const asking = await held(page, '**/api/chat');
    await send(page, 'Is the pier free?');
    await until('a question', asking.isAsked);
    await button(page, 'Stop').click();
    await page.getByText('it is the newest session').waitFor();
    await holds(page, 'Is the pier free?');
  },

  async 'what a dialog shows is copied where there is no clipboard, and nothing is promised that was not done'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(() => {
      window.clipboard = navigator.clipboard;
      Object.defineProperty(navigator, 'clipboard', { value: undefined });
    });
    await choose(page, 'm0', 'Raw JSON');
    await page.locator('dialog').getByRole('button', { name: 'Copy', exact: true }).click();
    await told(page, 'Copied.');
    assert.match(await page.evaluate(() => window.clipboard.readText()), /The boat is red/);
    await page.evaluate(() => { document.execCommand = () => false; });
    await page.locator('dialog').getByRole('button', { name: 'Copy', exact: true }).click();
    await told(page, 'Nothing was copied');
    quiet(page);
  },

  async 'an answer that breaks off is told in the language of the page'() {
    const { session } = await say(null, 'The boat is red.');
    for (const [lang, name] of [['en-US', 'en'], ['zh-CN', 'zh']]) {
      const page = await ready(await open(`/#/s/${session}/chat`, { lang }));
      await page.evaluate(() => {
        const real = window.fetch;
        const broken = () => new ReadableStream({ start: (control) => control.error(new TypeError('network error')) });
        window.fetch = async (url, init) => {
          const answer = await real(url, init);
          return String(url).includes('/api/chat') ? new Response(broken(), { headers: answer.headers }) : answer;
        };
      });
      await send(page, 'Is the pier free?');
      await page.getByRole('alert').filter({ hasText: (await language(name))['error.cut'] }).waitFor();
      assert.equal(await page.getByText('network error').count(), 0);
      quiet(page);
    }
  },

  async 'what others pin and leave out is marked at once'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    const [pin, out] = [page.locator('#m0 .quick [aria-pressed=true]'), page.locator('#m1 .message.excluded')];
    await api('PUT', `/sessions/${session}/pins/m0`);
    await pin.waitFor({ state: 'attached' });
    await api('PUT', `/sessions/${session}/excluded/m1`);
    await out.waitFor();
    await api('DELETE', `/sessions/${session}/pins/m0`);
    await api('DELETE', `/sessions/${session}/excluded/m1`);
    await pin.waitFor({ state: 'detached' });
    await out.waitFor({ state: 'detached' });
    await api('PUT', `/sessions/${session}/strategy`, { strategy: 'summary' });
    await until('another strategy', async () => (await page.getByRole('combobox', { name: 'Strategy' }).inputValue()) === 'summary');
    quiet(page);
  },

  async 'what happens before the stream is open again is not missed'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    await hide(page, true);
    const opening = await held(page, '**/api/events');
    await hide(page, false);
    await until('a stream', opening.isAsked);
    await page.waitForTimeout(500);
    await say(session, 'Said while nobody listened.');
    opening.release();
    await page.locator('#m2', { hasText: 'Said while nobody listened.' }).waitFor();
    quiet(page);
  },

  async 'a page opened behind others catches up when it is looked at'() {
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    await page.addInitScript(() => Object.defineProperty(document, 'hidden', { configurable: true, value: true }));
    await page.reload();
    await ready(page);
    await say(session, 'Said behind.');
    await hide(page, false);
    await page.locator('#m2', { hasText: 'Said behind.' }).waitFor();
    quiet(page);
  },

  async 'a server that is gone is waited for in silence'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await begun(page, model);
    await page.waitForTimeout(1500);
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    model.stops();
    await until('another try', () => asked.filter((path) => path === '/api/events').length > 1);
    assert.deepEqual([...new Set(asked)], ['/api/events']);
    await page.locator('.unreached').getByText('The server does not answer').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  },

  async 'what could not be shown while the server was away is there when it is back'() {
    const server = await another('[serve]\nupstream = "quote"\n');
    const [{ session }, { session: other }] = [await say(null, 'The boat is red.', {}, server.base), await say(null, 'The oar is blue.', {}, server.base)];
    const page = await chat(session, server.base);
    const gone = page.getByRole('status').filter({ hasText: 'The server does not answer' });
    assert.equal(await gone.count(), 0);
    await server.stops();
    await gone.waitFor();
    await picture(page, 'server-gone');
    await accessible(page, 'a server that is gone');
    await page.locator(`.session-row[data-id="${other}"]`).click();
    await page.getByRole('alert').filter({ hasText: 'The server does not answer' }).first().waitFor();
    await server.returns();
    await page.locator('#m0', { hasText: 'The oar is blue.' }).waitFor();
    await gone.waitFor({ state: 'detached' });
    await until('no complaint', async () => !(await page.getByRole('alert').count()));
    await field(page).fill('Not sent yet');
    await server.stops();
    await gone.waitFor();
    // A screen that was never opened before has to be fetched first.
    await page.getByRole('link', { name: 'Settings' }).click();
    const wrong = page.locator('.screen-settings').getByRole('alert').filter({ hasText: 'The server does not answer' });
    await wrong.waitFor();
    await button(wrong, 'Try again').click();
    await page.waitForTimeout(300);
    await wrong.waitFor();
    await server.returns();
    await button(page.locator('.unreached'), 'Try again').click();
    await page.locator('.settings-part > *').first().waitFor();
    await until('no complaint', async () => !(await page.getByRole('alert').count()));
    await page.goBack();
    await holds(page, 'Not sent yet');
  },

  async 'a click beside a dialog closes it, but not what somebody writes in'() {
    const { session } = await say(null, `One. ${LONG.slice(0, 3000)}`);
    await say(session, 'Two.');
    await api('POST', `/sessions/${session}/compress`);
    const page = await chat(session);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.mouse.click(5, 5);
    await page.locator('dialog').waitFor({ state: 'detached' });
    await (await openCard(page)).getByRole('button', { name: /^Edit the note/ }).first().click();
    const text = page.getByRole('textbox', { name: 'Text of the note' });
    await text.fill('Where the key hangs');
    await page.mouse.click(5, 5);
    await page.waitForTimeout(300);
    assert.equal(await text.inputValue(), 'Where the key hangs');
    quiet(page);
  },

  async 'who asks for more sessions gets and keeps them, whatever happens meanwhile'() {
    const boat = (_, at) => JSON.stringify({ id: `boat-${at}`, title: `Boat ${at}`, messages: [{ role: 'user', content: `Boat ${at} is in.` }] });
    await imported(Array.from({ length: 520 }, boat).join('\n'));
    const { session } = await say(null, 'The boat is red.');
    const page = await chat(session);
    const rows = page.locator('.session-row');
    const more = page.locator('.sessions-foot').getByRole('button', { name: 'More', exact: true });
    const fetching = await held(page, /\/api\/sessions\?.*cursor=/);
    await more.click();
    await until('the next sessions', fetching.isAsked);
    await say(session, 'It is tied up.');
    await page.waitForTimeout(2000);
    fetching.release();
    await until('more sessions', async () => (await rows.count()) > 40);
    for (let shown = await rows.count(); shown <= 500; shown = await rows.count()) {
      await more.click();
      await until('more sessions', async () => (await rows.count()) > shown);
    }
    const shown = await rows.count();
    await say(session, 'And the oar is dry.');
    await page.locator('.session-row[aria-current]', { hasText: '6 messages' }).waitFor();
    assert.equal(await rows.count(), shown);
    quiet(page);
  },

  async 'a screen that was left writes no address'() {
    const page = await ready(await open('/#/s/many/chat'));
    const fetching = await held(page, /\/holds\?/);
    await tab(page, 'Holds');
    await until('the holds', fetching.isAsked);
    await tab(page, 'Ledger');
    await page.waitForURL(/\/ledger/);
    fetching.release();
    await page.waitForTimeout(500);
    assert.match(page.url(), /\/ledger/);
    quiet(page);
  },
});
