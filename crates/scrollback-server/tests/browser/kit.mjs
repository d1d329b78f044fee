// What the suites share: a browser, pages that remember every complaint, a client of the API, and axe-core.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import assert from 'node:assert/strict';
import path from 'node:path';

const { BASE, CHROMIUM, NODE_HOME, PICTURES, SCREENS, SCROLLBACK } = process.env;
const require = createRequire(path.join(NODE_HOME, 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export { assert, BASE };

/** The repository's own conversations. */
export const fixture = (name) => new URL(`../../../../fixtures/${name}`, import.meta.url).pathname;

/** The words of the UI in a language, by their keys. */
export async function language(name) {
  const text = readFileSync(new URL(`../../src/web/ui/lang/${name}.js`, import.meta.url));
  return (await import(`data:text/javascript;base64,${text.toString('base64')}`)).default;
}

/** Asks the API of the server at `base`. */
export async function api(method, where, body, base = BASE) {
  const type = { 'content-type': 'application/json' };
  const answer = await fetch(`${base}/api${where}`, { method, body: body && JSON.stringify(body), headers: body ? type : {} });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${where}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** Imports a file's text. */
export async function imported(text, name = 'import.jsonl') {
  const answer = await fetch(`${BASE}/api/import?name=${name}`, { method: 'POST', body: text });
  const events = await answer.text();
  assert.ok(answer.ok && events.includes('event: done'), events);
  return JSON.parse(events.split('event: done\ndata: ')[1].split('\n')[0]);
}

/** Says something as the UI would; what it comes to. */
export const say = (session, message, more = {}, base = BASE) => api('POST', '/chat', { session, message, stream: false, ...more }, base);

/** Runs a command of the program beside the server. */
export const command = (...words) => execFileSync(SCROLLBACK, ['--store', process.env.STORE, '--config', process.env.SETTINGS, ...words], { encoding: 'utf8' });

let browser;
const ends = [];

/** Has something done when the scene is over, however it ends. */
export const atEnd = (fn) => ends.push(fn);

/** A page of a fresh person: `scheme` light or dark, `lang`, `width`, `motion`, of the server at `base`. What it complains about fails the suite. */
export async function open(where = '/', { scheme = 'light', lang = 'en-US', width = 1280, height = 800, motion = 'reduce', base = BASE } = {}) {
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'] });
  const isPhone = width < 600;
  const context = await browser.newContext({ colorScheme: scheme, locale: lang, viewport: { width, height }, hasTouch: isPhone, isMobile: isPhone, reducedMotion: motion });
  const page = await context.newPage();
  atEnd(() => context.close());
  page.setDefaultTimeout(60_000);
  page.complaints = [];
  page.on('console', (message) => message.type() === 'error' && page.complaints.push(`${message.text()} ${message.location().url}`));
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  page.on('dialog', (dialog) => { page.complaints.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => request.url().startsWith(base) || /^(data|blob):/.test(request.url()) || page.complaints.push(`asked elsewhere: ${request.url()}`));
  await page.goto(base + where);
  return page;
}

/** Nothing was complained about. */
export function quiet(page) {
  assert.deepEqual(page.complaints, [], `${page.url()} complains`);
}

/** Nobody stumbles: axe-core finds nothing serious. */
export async function accessible(page, where) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const serious = found.violations.filter((violation) => ['serious', 'critical'].includes(violation.impact));
  const told = serious.map((violation) => `${violation.id}: ${violation.help}\n  ${violation.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary ?? ''}`).join('\n  ')}`);
  assert.deepEqual(told, [], `${where} is not accessible`);
}

/** A picture for people to look at, if somebody wants to: drawing them takes long. */
export const picture = async (page, name) => PICTURES && page.screenshot({ path: path.join(SCREENS, `${name}.png`) });

/** Nothing sticks out sideways. */
export async function fits(page) {
  const inner = page.viewportSize().width;
  const wide = await page.evaluate(() => Math.max(window.innerWidth, document.documentElement.scrollWidth));
  assert.ok(wide <= inner + 1, `${page.url()} is ${wide} px wide in ${inner}`);
}

/** The ways in which people have a screen. */
const LOOKS = { light: {}, 'dark-zh': { scheme: 'dark', lang: 'zh-CN' }, phone: { width: 390, height: 844 }, 'phone-dark-zh': { width: 390, height: 844, scheme: 'dark', lang: 'zh-CN' } };

/** The two looks that differ most, for screens that are much like others. */
export const FEW = ['light', 'phone-dark-zh'];

/**
 * Screens in every look, or in those that are named: { name: [where, ready(page)] }. Each is accessible, sticks out nowhere, complains of
 * nothing and is in one language; and a picture of each. One page for a look goes through all of them, as a person does.
 */
export async function everyLook(screens, looks = Object.keys(LOOKS)) {
  for (const look of looks) {
    const page = await open(Object.values(screens)[0][0], LOOKS[look]);
    for (const [name, [where, ready]] of Object.entries(screens)) {
      await page.goto(BASE + where);
      await page.locator(`.screen-${/\w+(?=\?|$)/.exec(where)[0]} > *`).first().waitFor();
      await ready(page);
      await settled(page);
      await fits(page);
      await accessible(page, `${name} (${look})`);
      await picture(page, `${name}-${look}`);
      assert.deepEqual(await page.evaluate(foreign), [], `${name} (${look}) shows keys, or words of another language`);
    }
    quiet(page);
    await page.context().close();
  }
}

/** Nothing is being fetched any more. */
export const settled = (page) => until('an end of waiting', async () => !(await page.locator('.waiting').count()));

/** Texts and labels that are keys, or our words in the language that is not chosen. What people wrote does not count. */
async function foreign() {
  const [{ default: en }, { default: zh }] = await Promise.all([import('/ui/lang/en.js'), import('/ui/lang/zh.js')]);
  const [own, other] = document.documentElement.lang === 'zh-CN' ? [zh, en] : [en, zh];
  const known = new Set(Object.values(own));
  const strange = new Set([...Object.keys(en), ...Object.values(other)].filter((text) => /[a-z]\.[a-z]|[A-Z\u4e00-\u9fff]/.test(text) && !known.has(text)));
  const nodes = [...document.querySelectorAll('#app *')].filter((node) => !node.closest('code, pre, .markdown, .setting-line'));
  const labels = nodes.flatMap((node) => ['aria-label', 'title', 'placeholder'].map((name) => node.getAttribute(name)));
  const texts = nodes.filter((node) => !node.children.length).map((node) => node.textContent.trim());
  return [...labels, ...texts].filter((text) => strange.has(text));
}

/** Waits until something holds. */
export async function until(what, holds, most = 60_000) {
  const end = Date.now() + most;
  for (;;) {
    const value = await holds();
    if (value) return value;
    assert.ok(Date.now() < end, `${what} did not come about`);
    await new Promise((go) => setTimeout(go, 50));
  }
}

/** Plays the scenes of a suite, one after another, and tells; only those whose name has ONLY in it, if that is said. */
export async function play(scenes) {
  let failed = 0;
  for (const [name, scene] of Object.entries(scenes).filter(([name]) => name.includes(process.env.ONLY ?? ''))) {
    const begun = Date.now();
    try {
      await scene();
      console.log(`ok   ${name} (${Date.now() - begun} ms)`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${name}\n${error.stack}`);
      const pages = browser?.contexts().flatMap((context) => context.pages()) ?? [];
      await pages.at(-1)?.screenshot({ path: path.join(SCREENS, `failed-${name.replace(/\W+/g, '-')}.png`) }).catch(() => {});
    } finally {
      for (const end of ends.splice(0).reverse()) await end();
    }
  }
  await browser?.close();
  process.exit(failed ? 1 : 0);
}
