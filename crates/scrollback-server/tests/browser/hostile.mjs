// Nothing that a conversation says runs, fetches, leads away or takes the page apart, wherever it is shown.
import { api, assert, BASE, fits, imported, open, play, quiet, until } from './kit.mjs';
import { field, ready } from './talk.mjs';
import { EVIL, MARKUP, NAME } from './evil.mjs';
import { puppet } from './model.mjs';
import { STRATEGIES } from './seed.mjs';

const TABS = ['chat', 'window', 'topics', 'artifacts', 'contents', 'kept', 'holds', 'ledger'];
const call = (name, text) => ({ role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: JSON.stringify({ [text]: text }) } }] });

await play({
  async 'only our own scripts may run'() {
    for (const path of ['/', '/ui/app.js']) {
      const { headers } = await fetch(BASE + path);
      const rules = Object.fromEntries(headers.get('content-security-policy').split(';').map((rule) => [rule.trim().split(' ')[0], rule.trim().split(' ').slice(1).join(' ')]));
      assert.equal(rules['default-src'], "'none'");
      assert.equal(rules['script-src'], "'self'");
      assert.equal(rules['base-uri'], "'none'");
      assert.equal(rules['frame-ancestors'], "'none'");
      assert.ok(!headers.get('content-security-policy').includes('unsafe'));
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
    }
    const page = await open('/#/new');
    await field(page).waitFor();
    const refused = await page.evaluate(injected);
    assert.equal(refused.length, 5, refused.join());
    assert.equal(await page.evaluate(() => window.__ran), undefined);
  },

  async 'what the API says is never a page'() {
    const { sessions: [session] } = await imported(JSON.stringify({ id: 'first', messages: [{ role: 'user', content: EVIL[0] }] }));
    for (const path of ['/api/sessions', `/api/sessions/${session}`, `/api/sessions/${session}/messages?render=html`, `/api/sessions/${session}/export?format=markdown`, `/api/${encodeURIComponent(NAME)}`, `/api/search?q=${encodeURIComponent(NAME)}`]) {
      const { headers } = await fetch(BASE + path);
      assert.ok(!/html|xml|svg/.test(headers.get('content-type')), `${path} is ${headers.get('content-type')}`);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    }
  },

  async 'the Markdown of the server is harmless by itself'() {
    const drawn = await Promise.all(EVIL.map(async (text) => (await api('POST', '/markdown', { text })).html));
    const page = await open('/#/new');
    await page.goto('about:blank');
    await page.setContent(`<main class="markdown">${drawn.join('\n')}</main>`);
    await harmless(page);
    quiet(page);
  },

  async 'the page lets nothing through, whatever the server says'() {
    const page = await open('/#/new');
    await field(page).waitFor();
    await page.evaluate(async (texts) => {
      const { html } = await import('/ui/sanitize.js');
      for (const text of texts) document.getElementById('main').append(html(Object.assign(document.createElement('div'), { className: 'markdown' }), text));
    }, MARKUP);
    await harmless(page);
    // The browser tells of what it would refuse in the text that is read apart; that is the third wall.
    assert.deepEqual(page.complaints.filter((words) => !words.includes('Content Security Policy')), []);
  },

  async 'a model that says such things is shown, word by word'() {
    const model = await puppet();
    const page = await open('/#/new', { base: model.base });
    await field(page).fill(EVIL[1]);
    await field(page).press('Enter');
    await until('a question', model.isAsked);
    for (const text of EVIL) {
      model.says({ reasoning_content: text });
      model.says({ content: `${text}\n\n` });
    }
    await page.locator('.live-text', { hasText: 'hasOwnProperty' }).waitFor();
    await harmless(page);
    model.ends();
    await page.waitForURL(/#\/s\//);
    await page.locator('#m1').waitFor();
    await harmless(page);
    quiet(page);
  },

  async 'imported conversations are shown on every screen'() {
    const messages = EVIL.flatMap((text, at) => [{ role: 'user', content: text, name: 'x' }, call(`${NAME}${at}`, text), { role: 'tool', tool_call_id: 'c1', content: text }, { role: 'assistant', content: text, reasoning_content: text }]);
    const odd = [{ role: NAME, content: NAME }, { role: 'user', content: [{ type: 'image_url', image_url: { url: `javascript:${NAME}` } }, { type: 'image_url', image_url: { url: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="window.__ran=1"/>' } }, { type: NAME, [NAME]: NAME }, { type: 'file', file: { filename: NAME, file_id: NAME } }] }];
    await imported(JSON.stringify({ id: NAME, title: NAME, model: NAME, messages: [...messages, ...odd] }), encodeURIComponent(NAME));
    const page = await open('/');
    await everyScreen(page, encodeURIComponent(NAME));
    for (let at = 0; at < EVIL.length * 4; at += 45) {
      await page.goto(`${BASE}/#/s/${encodeURIComponent(NAME)}/chat?at=m${at}`);
      await page.locator(`#m${at}`).waitFor();
      await opened(page);
      await harmless(page);
    }
    quiet(page);
  },

  async 'conversations that fold are shown on every screen, under every strategy'() {
    await Promise.all(STRATEGIES.map((strategy) => talked(`evil-${strategy}`, strategy)));
    const page = await open('/#/new');
    for (const strategy of STRATEGIES) await everyScreen(page, `evil-${strategy}`);
    quiet(page);
  },

  async 'an address says nothing but where to go'() {
    const page = await open('/');
    const words = encodeURIComponent(NAME);
    for (const where of [`#/${words}`, `#/s/${words}x/chat`, `#/s/evil-pages/${words}`, `#/s/evil-pages/chat?at=${words}&branch=${words}`, `#/s/evil-pages/window?view=${words}`, `#/s/evil-topics/topics?topic=${words}`, `#/s/evil-artifacts/artifacts?artifact=${words}`, `#/s/evil-pages/holds?hold=${words}`, `#/search?words=${words}&q=${words}&after=${words}`, '#/s/__proto__/constructor', '#/constructor', '#/__proto__', `#javascript:${words}`, '#/%E0%A4%A']) {
      await page.goto(`${BASE}/${where}`);
      // Where there is no such session, its head says so and the screen below stays empty.
      await page.locator('main .screen > *, main .notice.bad, main .session-head .empty').first().waitFor();
      await harmless(page);
    }
    const strange = page.complaints.filter((words) => !/status of 4\d\d/.test(words));
    assert.deepEqual(strange, []);
  },

  async 'the names of files and models are words'() {
    const page = await open('/#/import');
    await page.locator('input[type=file]').setInputFiles({ name: `${NAME.replaceAll('/', '')}.jsonl`, mimeType: 'application/json', buffer: Buffer.from(JSON.stringify({ id: 'from-a-file', title: NAME, messages: [{ role: 'user', content: NAME }, { role: NAME }] })) });
    await page.locator('main').getByText('onerror').first().waitFor();
    await harmless(page);
    await page.goto(`${BASE}/#/settings`);
    await page.locator('main h2').first().waitFor();
    await harmless(page);
    await page.goto(`${BASE}/#/new`);
    await page.evaluate((name) => localStorage.setItem('scrollback.model', name), NAME);
    await page.reload();
    await field(page).fill(NAME);
    await field(page).press('Enter');
    await page.locator('.message', { hasText: 'onerror' }).first().waitFor();
    await harmless(page);
    quiet(page);
  },
});

/** What a script that got in would try; tells which rules refused it. */
async function injected() {
  const refused = [];
  document.addEventListener('securitypolicyviolation', (event) => refused.push(event.effectiveDirective));
  const tries = [
    () => { const script = document.createElement('script'); script.append('window.__ran=1'); document.body.append(script); },
    () => { const image = document.createElement('img'); image.setAttribute('onerror', 'window.__ran=1'); image.src = '/ui/none.png'; document.body.append(image); },
    () => { document.body.insertAdjacentHTML('beforeend', '<img src=/ui/none.png onerror=window.__ran=1>'); },
    () => { (0, eval)('window.__ran=1'); },
    () => { const link = document.createElement('a'); link.href = 'javascript:window.__ran=1'; document.body.append(link); link.click(); },
  ];
  // From a timer, since what a debugger runs itself is let through.
  for (const act of tries) await new Promise((done) => setTimeout(() => { try { act(); } catch { /* refused */ } setTimeout(done, 20); }));
  return refused;
}

/** Talks through the proxy until it folds, with hostile words in every place. */
async function talked(name, strategy) {
  const lines = EVIL.filter((text) => text.length < 1000);
  for (let at = 0; at < lines.length; at += 3) {
    const text = lines.slice(at, at + 3).join('\n\n');
    const messages = [{ role: 'system', content: NAME }, { role: 'user', content: `Always remember: ${text}` }];
    if (at % 9 === 0) messages.push(call(NAME, lines[at]), { role: 'tool', tool_call_id: 'c1', content: `${lines.join('\n')}\n`.repeat(3) });
    const answer = await fetch(`${BASE}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json', 'x-scrollback-session': name, 'x-scrollback-history': 'new' }, body: JSON.stringify({ model: NAME, messages }) });
    assert.ok(answer.ok, await answer.text());
    if (!at) await api('PUT', `/sessions/${name}/strategy`, { strategy });
  }
}

/** Goes through the screens of a session, and opens what can be opened. */
async function everyScreen(page, session) {
  for (const tab of TABS) {
    await page.goto(`${BASE}/#/s/${session}/${tab}`);
    await page.locator(`.screen-${tab} > *`).first().waitFor();
    await until('an end of waiting', async () => !(await page.locator('.waiting').count()));
    if (tab === 'chat') await ready(page);
    await opened(page);
    await harmless(page);
  }
}

/** Opens every card, note, result and hold that is there. */
async function opened(page) {
  await page.evaluate(() => {
    document.querySelectorAll('main details:not([open])').forEach((details) => { details.open = true; });
    document.querySelectorAll('main [aria-expanded=false]:not([aria-haspopup])').forEach((button) => button.click());
  });
  await until('an end of waiting', async () => !(await page.locator('.waiting').count()));
  await page.evaluate(() => document.querySelectorAll('main details:not([open])').forEach((details) => { details.open = true; }));
  await until('an end of waiting', async () => !(await page.locator('.waiting').count()));
}

/** Nothing has run, nothing is there that could, and the page is whole. */
async function harmless(page) {
  const found = await page.evaluate(() => {
    const bad = [];
    const complain = (node, what) => bad.push(`${what}: ${node.outerHTML.slice(0, 200)}`);
    const never = 'script:not([src^="/ui/"]), iframe, frame, object, embed, base, meta[http-equiv], link:not([href^="/ui/"]), style, template, math, foreignObject, video, audio, source, marquee, portal, applet';
    document.querySelectorAll(never).forEach((node) => complain(node, 'may not be there'));
    for (const node of document.querySelectorAll('*')) {
      for (const { name, value } of node.attributes) {
        if (/^on/i.test(name)) complain(node, name);
        if (/^(href|src|action|formaction|xlink:href|poster|data)$/i.test(name) && /^[\s\0-\x1f]*(javascript|vbscript|file|data(?!:image\/))/i.test(value)) complain(node, name);
        if (name === 'style' && /url\(|fixed|expression/i.test(value)) complain(node, name);
      }
    }
    document.querySelectorAll('.markdown :is([style], [id], [name], svg:not(.icon), form, img)').forEach((node) => complain(node, 'may not be in Markdown'));
    document.querySelectorAll('img').forEach((node) => node.src.startsWith('data:image/') || complain(node, 'is fetched'));
    for (const link of document.querySelectorAll('a[href]')) {
      const isOurs = link.getAttribute('href').startsWith('#');
      if (!isOurs && !(/^(https?|mailto):/.test(link.href) && /noopener/.test(link.rel) && link.target === '_blank' && !link.getAttribute('href').startsWith('/'))) complain(link, 'leads away');
    }
    return bad;
  });
  assert.deepEqual(found, [], page.url());
  assert.equal(await page.evaluate(() => window.__ran), undefined, `${page.url()} ran something`);
  if (!page.url().startsWith('about:')) {
    assert.equal(await page.locator('[id="app"]').count(), 1);
    await fits(page);
  }
}
