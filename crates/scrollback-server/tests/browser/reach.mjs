// Whoever sits at it: keys alone, an input method, a phone, another language, a screen that changes while it is read.
import { accessible, api, assert, BASE, everyLook, fits, imported, language, open, picture, quiet, say, until } from './kit.mjs';
import { chat, field, folded, openCard, ready, STORY, told } from './talk.mjs';

const PHONE = { width: 390, height: 844 };

export const reach = {
  async 'all of it can be done with the keyboard alone'() {
    const page = await chat('deeds');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await accessible(page, 'the keys');
    await picture(page, 'keys');
    await page.keyboard.press('Escape');
    await page.keyboard.press('i');
    assert.ok(await field(page).evaluate((node) => node === document.activeElement));
    await page.keyboard.type('Noted with keys only.');
    await page.keyboard.press('Enter');
    await page.locator('.message-item', { hasText: 'Noted with keys only.' }).first().waitFor();
    await until('the end of the turn', async () => !(await page.locator('.turn').count()));
    await page.keyboard.press('Escape');
    await focusOn(page, /^More about m\d+$/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await picture(page, 'chat-menu');
    await page.keyboard.press('Enter');
    await page.locator('.message .chip', { hasText: 'pinned' }).waitFor();
    await page.keyboard.press('/');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL(/\/window/);
    await page.keyboard.press('n');
    await page.waitForURL(/#\/new/);
    await page.locator('.new-more > summary').click();
    await page.keyboard.press('i');
    assert.ok(await field(page).evaluate((node) => node === document.activeElement));
    quiet(page);
  },

  async 'a conversation is folded and unfolded with the keyboard alone'() {
    const { session } = await say(null, `One. ${STORY.repeat(9)}`);
    await say(session, `Two. ${STORY.repeat(9)}`);
    await say(session, 'Three.');
    const page = await chat(session);
    await focusOn(page, /^Compress$/, 'Tab');
    await page.keyboard.press('Enter');
    await told(page, /went under notes/);
    assert.deepEqual(await folded(session), ['m0', 'm1']);
    await focusOn(page, /^Undo the last fold$/, 'Tab');
    await page.keyboard.press('Enter');
    await told(page, /shown again/);
    assert.equal(await folded(session), null);
    quiet(page);
  },

  async 'words from right to left are laid out so, and disturb nothing beside them'() {
    const asked = 'שלום, איפה `fn main()` נמצא?\n\n- ראשון\n- second\n\n```rust\nfn main() {} // שלום\n```\n\n> ציטוט';
    const messages = [{ role: 'user', content: asked }, { role: 'assistant', content: 'In English, with שלום inside.' }];
    const { sessions: [session] } = await imported(JSON.stringify({ id: 'hebrew', title: 'המגדלור והמנורה הכחולה שעל החוף הצפוני', messages }));
    await imported(JSON.stringify({ id: 'turned', title: 'Turned \u202eround', messages: [{ role: 'user', content: 'המנורה' }] }));
    const page = await chat(session);
    const runs = (locator) => locator.evaluate((node) => getComputedStyle(node).direction);
    const goes = async (way, ...places) => { for (const place of places) assert.equal(await runs(page.locator(place).first()), way, place); };
    await goes('rtl', `.session-row[data-id="${session}"] .session-title`, '.session-name', '#m0 .markdown > p', '#m0 .markdown > ul', '#m0 .markdown > blockquote');
    await goes('ltr', '#m0 pre', '#m0 .markdown > p code', '#m1 .markdown > p', '.session-facts', '.message-head');
    assert.equal(await page.title(), '\u2068המגדלור והמנורה הכחולה שעל החוף הצפוני\u2069 · Scrollback');
    assert.equal(await runs(field(page)), 'ltr');
    await field(page).fill('מה נשמע?');
    assert.equal(await runs(field(page)), 'rtl');
    await picture(page, 'chat-hebrew');
    await page.goto(`${BASE}/#/search?${new URLSearchParams({ words: 'המנורה' })}`);
    await page.locator('.hit').first().waitFor();
    await goes('rtl', '.hit-text', '.search-form [name=words]');
    // Whatever a title turns round ends with the title.
    for (const place of ['.session-row .session-title', '.hit-title a']) assert.deepEqual([...new Set(await page.locator(place).evaluateAll((nodes) => nodes.map((node) => getComputedStyle(node).unicodeBidi)))], ['isolate'], place);
    await picture(page, 'search-hebrew');
    await accessible(page, 'words from right to left');
    quiet(page);
  },

  async 'an input method has its Enter to itself'() {
    const page = await open('/#/new');
    const input = await page.context().newCDPSession(page);
    const enter = (keyCode) => input.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', key: 'Enter', code: 'Enter', windowsVirtualKeyCode: keyCode });
    for (const target of [field(page), page.locator('#search')]) {
      await target.focus();
      await input.send('Input.imeSetComposition', { text: 'ni hao', selectionStart: 6, selectionEnd: 6 });
      await enter(13);
      await input.send('Input.insertText', { text: '你好' });
      // Some browsers have ended the composition by then, and say so by this number alone.
      await enter(229);
      assert.equal(await target.inputValue(), '你好');
    }
    assert.ok(page.url().endsWith('#/new'), page.url());
    assert.equal(await page.locator('.turn').count(), 0);
    await field(page).press('Enter');
    await page.locator('.message', { hasText: '你好' }).first().waitFor();
    quiet(page);
  },

  async 'the address of a session that is not there leads back'() {
    const page = await open('/#/s/nowhere/window');
    await page.getByRole('heading', { level: 1, name: 'This session does not exist' }).waitFor();
    assert.equal(await page.locator('h1:visible').count(), 1);
    assert.equal(await page.getByText('scrollback sessions').count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Ledger' }).isVisible(), false);
    await page.getByRole('link', { name: 'To the newest session' }).waitFor();
    await page.goto(`${BASE}/#/nothing`);
    await page.getByRole('heading', { level: 1, name: 'There is nothing at this address' }).waitFor();
  },

  async 'whoever goes back reads on where they were'() {
    const page = await chat('tale');
    const log = page.locator('.log');
    const inSight = () => log.evaluate((node) => {
      const top = node.getBoundingClientRect().top;
      const first = [...node.querySelectorAll('.message-item')].find((one) => one.getBoundingClientRect().bottom > top + 1);
      return [first.id, Math.round(first.getBoundingClientRect().top - top)];
    });
    const away = async () => {
      const before = await inSight();
      await page.locator('.tabs').getByRole('link', { name: 'Window' }).click();
      await page.locator('.view-head').waitFor();
      await page.goBack();
      await ready(page);
      await until(`${before} in sight`, async () => String(await inSight()) === String(before));
    };
    await away();
    assert.ok(await log.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight < 2), 'who reads the end is there again');
    await page.getByRole('button', { name: 'Show the originals here' }).click();
    await page.locator('.message-item.under').first().waitFor();
    await log.evaluate((node) => { node.scrollTop -= 700; });
    assert.ok(await page.locator(`#${(await inSight())[0]}.under`).count());
    await away();
    assert.equal(await page.locator('.found').count(), 0);
    quiet(page);
  },

  async 'on a phone no word in a table is broken'() {
    const { session } = await say(null, '| Strategy | Description | Tokens | Measured | Recommended |\n|---|---|---|---|---|\n| pages | Each turn is a page | 124,428 | September | definitely |');
    const page = await chat(session, '', PHONE);
    const lines = await page.locator('#m0 :is(th, td):not(:nth-child(2))').evaluateAll((cells) => cells.map((cell) => {
      const words = document.createRange();
      words.selectNodeContents(cell);
      return words.getClientRects().length;
    }));
    assert.deepEqual(lines, Array(8).fill(1));
    await fits(page);
    quiet(page);
  },

  async 'what happens elsewhere takes nobody out of their place'() {
    await imported(Array.from({ length: 50 }, (_, at) => JSON.stringify({ id: `one-of-many-${at}`, messages: [{ role: 'user', content: `Conversation ${at}` }] })).join('\n'));
    const page = await chat('deeds');
    assert.equal(await page.locator('#sidebar').getByRole('button', { name: 'Close' }).count(), 0, 'a drawer where there is none');
    const rows = page.locator('.session-row');
    await page.getByRole('button', { name: 'More', exact: true }).press('Enter');
    await until('more sessions', async () => (await rows.count()) > 50);
    const shown = await rows.count();
    assert.equal(await page.evaluate(() => [...document.querySelectorAll('.session-row')].indexOf(document.activeElement)), 40);
    for (const place of [page.getByRole('combobox', { name: 'Strategy' }), rows.nth(2)]) {
      await place.focus();
      const before = await focus(page);
      const { messages } = await api('GET', '/sessions/deeds');
      await say('deeds', 'Somebody else says this.');
      await page.locator('.session-facts', { hasText: `${messages + 2} messages` }).waitFor();
      await page.locator('.session-row[aria-current]', { hasText: `${messages + 2} messages` }).waitFor();
      assert.deepEqual(await focus(page), before);
    }
    assert.equal(await rows.count(), shown);
    const tab = page.locator('.tabs').getByRole('link', { name: 'Window' });
    await tab.press('Enter');
    await page.locator('.view-head').waitFor();
    assert.ok(await tab.evaluate((node) => node === document.activeElement));
    quiet(page);
  },

  async 'every word is there in both languages, with the same places for numbers and names'() {
    const [en, zh] = [await language('en'), await language('zh')];
    // Chinese has no form of its own for one.
    const keys = (words) => Object.keys(words).filter((key) => !key.endsWith('.one')).sort();
    assert.deepEqual(keys(zh), keys(en));
    const places = (text) => [...new Set(text.match(/\{\w+\}/g))].sort();
    for (const key of keys(en)) assert.deepEqual(places(zh[key]), places(en[key]), key);
    const { settings } = await api('GET', '/settings');
    const told = await language('settings.zh');
    const first = settings.filter(({ name, about }, at) => about && (settings[at - 1]?.about !== about || group(settings[at - 1].name) !== group(name)));
    assert.deepEqual(first.map(({ name }) => name.replace(/^upstreams\.[^.]+\./, 'upstreams.')).filter((name) => !told[name]), []);
  },

  async 'what is said of a message and of a window is said in the language of the page'() {
    const zh = await language('zh');
    const isChinese = (words) => assert.ok(/[\u4e00-\u9fff]/.test(words) && !/[a-z]{2,} [a-z]{2,} [a-z]{2,}/i.test(words), words);
    const page = await chat('tale', '?at=m2', { lang: 'zh-CN' });
    const last = `m${(await api('GET', '/sessions/tale')).messages - 1}`;
    for (const id of ['m2', last]) {
      await page.goto(`${BASE}/#/s/tale/chat?at=${id}`);
      await page.locator(`#${id}.found`).getByRole('button', { name: zh['message.menu'].replace('{id}', id) }).click();
      await page.getByRole('menuitem', { name: zh.why }).click();
      isChinese(await page.locator(`#${id} .message-extra .grow`).innerText());
    }
    await page.getByRole('button', { name: zh.redo, exact: true }).first().click();
    await told(page, zh['redo.nothing']);
    await page.goto(`${BASE}/#/s/tale/window`);
    await page.locator('.view-head').waitFor();
    const lines = await page.locator(':is([data-kind=contents], [data-kind=kept]) .blocks-line').allTextContents();
    assert.ok(lines.length > 1);
    lines.forEach(isChinese);
  },

  async 'the chat is legible in the dark, in Chinese and on a phone'() {
    const unfolded = async (page) => {
      await page.locator('.fold-card').scrollIntoViewIfNeeded();
      await openCard(page);
    };
    await everyLook({ chat: ['/#/s/tale/chat', ready], 'chat-fold': ['/#/s/tale/chat', unfolded] });
  },

  async 'on a phone the sessions are a drawer'() {
    const page = await chat('tale', '', { ...PHONE, motion: 'no-preference' });
    const opener = page.getByRole('button', { name: 'Menu' });
    await opener.press('Enter');
    assert.ok(await isIn(page, '#sidebar'), 'the focus is not in the drawer');
    await page.locator('.session-row').first().waitFor();
    for (let step = 0; step < 25; step += 1) {
      await page.keyboard.press('Tab');
      assert.ok(!(await isIn(page, 'main, .topbar')), 'the focus is behind the drawer');
    }
    await accessible(page, 'the drawer');
    await picture(page, 'drawer-phone');
    await page.locator('#search').focus();
    await page.keyboard.press('Escape');
    assert.ok(await opener.evaluate((node) => node === document.activeElement));
    await opener.press('Enter');
    await page.locator('#sidebar').getByRole('button', { name: 'Close' }).tap();
    assert.ok(await opener.evaluate((node) => node === document.activeElement));
    await opener.press('Enter');
    await page.locator('.session-row').last().press('Enter');
    await page.waitForURL(/#\/s\/[0-9a-f]{32}/);
    await page.locator('.drawer-open').waitFor({ state: 'detached' });
    assert.ok(await isIn(page, 'main'));
    await fits(page);
    quiet(page);
  },

  async 'under a finger Enter breaks the line, and a button sends'() {
    const page = await open('/#/new', PHONE);
    await field(page).fill('First line');
    await field(page).press('Enter');
    await field(page).pressSequentially('second line');
    assert.equal(await field(page).inputValue(), 'First line\nsecond line');
    for (const one of await page.locator('input:visible, select:visible, textarea:visible').all()) assert.equal(await one.evaluate((node) => getComputedStyle(node).fontSize), '16px');
    await page.getByRole('button', { name: 'Send' }).tap();
    await page.locator('.message', { hasText: 'second line' }).first().waitFor();
    quiet(page);
  },

  async 'language and theme are switched, and stay'() {
    const page = await chat('tale');
    await page.getByRole('button', { name: 'Language' }).click();
    await page.getByRole('menuitemradio', { name: '中文' }).click();
    await page.getByRole('link', { name: '新对话' }).first().waitFor();
    const theme = page.getByRole('button', { name: /^主题/ });
    await theme.click();
    await theme.click();
    await page.reload();
    await ready(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-CN');
    quiet(page);
  },
};

/** Walks with a key until what has the focus is called like this. */
async function focusOn(page, name, key) {
  await until(`focus on ${name}`, async () => {
    await page.keyboard.press(key);
    return name.test(await page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent));
  });
}

/** What has the focus: what it is, where it leads, what it is called. */
const focus = (page) => page.evaluate(() => [document.activeElement.localName, document.activeElement.getAttribute('href'), document.activeElement.title]);

/** Whether the focus is inside of something. */
const isIn = (page, selector) => page.evaluate((where) => document.activeElement.closest(where) !== null, selector);

const group = (name) => name.slice(0, name.lastIndexOf('.'));
