// The window as a picture: its numbers are the API's, to the token and to scale; what changed, and all windows along a line.
import { accessible, api, assert, everyLook, FEW, imported, open, picture, play, quiet, say, settled } from './kit.mjs';
import { played, STRATEGIES } from './seed.mjs';

const views = async (session) => (await api('GET', `/sessions/${session}/views?count=80`)).views;
const whole = (session, view) => api('GET', `/sessions/${session}/views/${view}?text=true`);
const shown = (page, selector, read) => page.locator(selector).evaluateAll((nodes, names) => nodes.map((node) => names.map((name) => node.dataset[name])), read);

// What the model asked for in this turn: it tells the calls, in the place of their words.
const isAsked = (block) => block.reason === 'recalled' && !block.message;

await Promise.all(STRATEGIES.map((strategy) => played(`w-${strategy}`, strategy, 60)));

await play({
  async 'the numbers are those of the API, block by block and kind by kind'() {
    for (const strategy of STRATEGIES) {
      const [{ view: name }] = await views(`w-${strategy}`);
      const view = await whole(`w-${strategy}`, name);
      const page = await window(`w-${strategy}`);
      assert.deepEqual(await shown(page, '.view-head', ['view', 'tokens', 'budget', 'limit']), [[name, view.tokens, view.budget, view.limit].map(String)]);
      assert.deepEqual((await shown(page, '.blocks-table tbody tr', ['tokens', 'message'])), view.blocks.map((block) => [String(block.tokens), block.message ?? '']));
      const kinds = Object.fromEntries(await shown(page, '.sums tr[data-kind]', ['kind', 'tokens']));
      for (const [kind, tokens] of Object.entries(view.kinds)) assert.equal(Number(kinds[kind] ?? 0), tokens, `${strategy}: ${kind}`);
      assert.equal(Number(kinds.total), view.tokens);
      assert.equal(Number(kinds.limit), view.limit);
      assert.equal(view.blocks.reduce((sum, block) => sum + block.tokens, 0), view.tokens);
      await asWritten(page, view);
      quiet(page);
    }
  },

  async 'every block is as large as what it costs'() {
    const page = await window('w-pages');
    const [{ view: name }] = await views('w-pages');
    const view = await whole('w-pages', name);
    const areas = await page.locator('.page [data-kind]').evaluateAll((pieces) => pieces.map((piece) => [piece.dataset.piece ?? piece.dataset.kind, piece.getBoundingClientRect().width]));
    const all = areas.reduce((sum, [, width]) => sum + width, 0);
    view.blocks.forEach((block, at) => {
      const width = areas.filter(([piece]) => piece === String(at)).reduce((sum, [, one]) => sum + one, 0);
      assert.ok(Math.abs(width / all - block.tokens / view.limit) < 0.01, `block ${at}: ${width / all} instead of ${block.tokens / view.limit}`);
    });
  },

  async 'a block opens to its words and says why it is there'() {
    for (const strategy of STRATEGIES) {
      const page = await window(`w-${strategy}`);
      const [{ view: name }] = await views(`w-${strategy}`);
      const view = await whole(`w-${strategy}`, name);
      await page.locator('.blocks-table [data-block="0"] button').click();
      await page.locator('.block-card[data-open] :is(.block-text, .turn-events)').waitFor();
      const cards = await page.evaluate(opened);
      view.blocks.forEach((block, at) => {
        const { text, calls, links, said } = cards[at];
        if (isAsked(block)) assert.deepEqual(calls, view.recalls);
        else assert.equal(text, block.text);
        assert.ok(said.every((words) => words.length < 300) && said.some((words) => words.includes(`${block.tokens.toLocaleString('en')} token`)), `block ${at} is read out as ${said}`);
        if (block.message) assert.ok(links.some((link) => link.includes(block.message)), `block ${at} has no way to ${block.message}`);
      });
      quiet(page);
    }
  },

  async 'what changed since the window before is marked'() {
    const [now, before] = await views('w-topics');
    const diff = await api('GET', `/sessions/w-topics/views/${now.view}/diff?with=${before.view}`);
    const page = await window('w-topics');
    const marks = Object.fromEntries((await shown(page, '.blocks-table tbody tr', ['message', 'mark'])).filter(([message]) => message));
    const less = diff.less.map((block) => block.message);
    for (const block of diff.more.filter((one) => one.message)) assert.equal(marks[block.message], less.includes(block.message) ? 'changed' : 'new', block.message);
    assert.equal(Object.values(marks).filter(Boolean).length, diff.more.filter((one) => one.message).length);
    await page.locator('.view-change', { hasText: before.view }).waitFor();
    quiet(page);
  },

  async 'any two windows are compared'() {
    const all = await views('w-pages');
    const [now, other] = [all[0], all[20]];
    const diff = await api('GET', `/sessions/w-pages/views/${now.view}/diff?with=${other.view}`);
    const page = await window('w-pages');
    await page.locator('.view-change select').selectOption(other.view);
    await page.locator('.view-change p', { hasText: other.view }).waitFor();
    await page.waitForURL(new RegExp(`with=${other.view}`));
    const more = diff.more.map((block) => block.message ?? block.reason);
    const gone = diff.less.filter((block) => !more.includes(block.message ?? block.reason));
    await page.locator('.gone summary').click();
    while (await page.locator('.gone').getByRole('button', { name: 'More' }).count()) await page.locator('.gone').getByRole('button', { name: 'More' }).click();
    assert.deepEqual((await shown(page, '[data-gone]', ['gone'])).flat(), gone.map((block) => block.message ?? block.reason));
    await accessible(page, 'two windows');
    await picture(page, 'window-compared');
    quiet(page);
  },

  async 'all windows stand along a line, and keys lead through them'() {
    const all = (await views('w-pages')).reverse();
    const page = await window('w-pages');
    assert.deepEqual(await shown(page, '.timeline [data-view]', ['view', 'tokens', 'recalls']), all.map((view) => [view.view, String(view.tokens), String(view.recalls.length)]));
    const heights = await page.locator('.timeline [data-view]').evaluateAll((columns) => columns.map((column) => [...column.querySelectorAll('.column-part')].reduce((sum, part) => sum + part.getBoundingClientRect().height, 0)));
    const scale = heights.at(-1) / all.at(-1).tokens;
    all.forEach((view, at) => assert.ok(Math.abs(heights[at] - view.tokens * scale) < 4, `${view.view} is ${heights[at]} px high`));
    await page.locator('.timeline-list').focus();
    await page.keyboard.press('ArrowLeft');
    await page.locator(`.view-head[data-view="${all.at(-2).view}"]`).waitFor();
    await page.keyboard.press('Home');
    await page.locator(`.view-head[data-view="${all[0].view}"]`).waitFor();
    await page.locator(`.timeline [data-view="${all[5].view}"]`).click();
    await page.locator(`.view-head[data-view="${all[5].view}"]`).waitFor();
    await page.reload();
    await page.locator(`.view-head[data-view="${all[5].view}"]`).waitFor();
    quiet(page);
  },

  async 'a new window is there as soon as it is sent'() {
    const page = await window('w-summary');
    const { view } = await say('w-summary', 'How many rooms look at the sea?');
    await page.locator(`.view-head[data-view="${view}"]`).waitFor();
    assert.equal(await page.locator('.timeline [aria-selected=true]').getAttribute('data-view'), view);
    quiet(page);
  },

  async 'the picture is legible in every look'() {
    const chosen = async (page) => {
      await page.locator('.view-head').waitFor();
      await page.locator('.page').focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.locator('.block-card[data-open] .block-text').first().waitFor();
      assert.ok(await page.locator('.view-compare > span').evaluate((label) => label.offsetHeight < 30), 'the label stands upright');
    };
    await everyLook({ 'window-pages': ['/#/s/w-pages/window', chosen] });
    await everyLook({ 'window-topics': ['/#/s/w-topics/window', chosen] }, FEW);
  },

  async 'where nothing was sent yet, it says so'() {
    const { sessions: [session] } = await imported(JSON.stringify({ id: 'unsent', messages: [{ role: 'user', content: 'Nobody has answered this.' }] }));
    await everyLook({ 'window-none': [`/#/s/${session}/window`, (page) => page.locator('.empty').waitFor()] }, FEW);
  },
});

/** Opens one block after another; what is shown of each, and what is read out. Their words are there once those of one are. */
function opened() {
  const all = (selector) => [...document.querySelectorAll(selector)].map((node) => node.textContent);
  return [...document.querySelectorAll('.blocks-table [data-block] button')].map((button) => {
    button.click();
    const card = '.block-card[data-open]';
    return { text: all(`${card} .block-text`)[0], calls: all(`${card} .turn-events code`), links: all(`${card} a`), said: all('.screen [aria-live]') };
  });
}

/** The screen of a session, drawn. */
async function window(session) {
  const page = await open(`/#/s/${session}/window`);
  await page.locator('.view-head').waitFor();
  await settled(page);
  return page;
}

/** The numbers that are read are the numbers that are meant. */
async function asWritten(page, view) {
  const written = await page.locator('.blocks-table tbody tr').evaluateAll((rows) => rows.map((row) => row.querySelector('td.digits').textContent));
  assert.deepEqual(written, view.blocks.map((block) => block.tokens.toLocaleString('en')));
  assert.match(await page.locator('.view-full').innerText(), new RegExp(`${view.tokens.toLocaleString('en')} of ${view.budget.toLocaleString('en')} tokens`));
}
