// What the suites for Node share: the two doors, what reached the model, the log, and how both are compared.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

export const { UPSTREAM, PROXY, STORE, SCROLLBACK } = process.env;
export const DOOR = PROXY || UPSTREAM;
export const FACT = "The code of crate 17 is Kestrel-4921, and Ingrid signed for it at dusk.";
export const OWN = ["recall_page", "load_tool_history", "search_history"];
export const load = createRequire(`${process.env.NODE_HOME}/`);
export const user = (content) => ({ role: "user", content });

const told = async (after) => (await fetch(`${UPSTREAM}/__requests?after=${after}`)).json();
export const requests = async (after) => (await told(after)).requests.map((request) => ({ ...request, sent: JSON.parse(request.body), headers: Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value])) }));
export const count = async () => (await told(1_000_000_000)).count;

/** What is said in twenty turns, twice as much as the model takes. */
export function history(mark, reply) {
  const words = Array.from({ length: 560 }, (_, i) => ["harbour", "tide", "gauge", "ledger", "berth"][(i * i + i) % 5]).join(" ");
  return Array.from({ length: 20 }, (_, i) => [user(`${mark} turn ${i}. ${i === 1 ? FACT : ""} ${words} (${i})`), reply(`noted ${i}`)]).flat();
}

function log(session) {
  const out = execFileSync(SCROLLBACK, ["--store", STORE, "--json", "show", session, "--all"], { maxBuffer: 1 << 28 });
  return out.toString().trim().split("\n").map((line) => JSON.parse(line).message);
}

/** The log, once it holds so many messages and no more: a reply is written while the client already reads it. */
export async function kept(name, messages) {
  let found = [];
  for (let i = 0; i < 30 && found.length < messages; i++) {
    if (i) await sleep(100);
    found = log(name);
  }
  assert.equal(found.length, messages, `${name}: messages kept`);
  return found;
}

/** What a client gets, but for the tokens of its request and for what it follows. */
export function essence(value) {
  const left = ["input_tokens", "total_tokens", "previous_response_id"];
  return JSON.parse(JSON.stringify(value, (name, inner) => (left.includes(name) ? undefined : inner)));
}

function askedAlike(direct, through) {
  const { tools: wantedTools = [], ...wanted } = direct.sent;
  const { tools = [], ...got } = through.sent;
  assert.deepEqual(got, wanted);
  assert.deepEqual(tools.slice(0, wantedTools.length), wantedTools);
  assert.ok(tools.slice(wantedTools.length).every((tool) => OWN.includes(tool.name)));
  for (const name of Object.keys(direct.headers).filter((name) => /^(authorization|x-api-key|anthropic-|openai-|user-agent|x-stainless-)/.test(name)))
    assert.equal(through.headers[name], direct.headers[name], name);
}

/** A script gets the same with and without Scrollback, and, unless it sends only what is new, asks the same. */
export async function same(open, name, script, asks = askedAlike) {
  let mark = await count();
  const without = await script(open(UPSTREAM, name));
  const direct = await requests(mark);
  mark = await count();
  const through = await script(open(DOOR, name));
  const reached = await requests(mark);
  assert.deepEqual(essence(through), essence(without));
  assert.equal(reached.length, direct.length);
  reached.forEach((request, i) => asks(direct[i], request));
  return { got: through, last: reached.at(-1).sent };
}

export async function failure(script) {
  try {
    await script();
  } catch (error) {
    return { kind: error.constructor.name, status: error.status, body: error.error, said: error.message, wait: error.headers?.get?.("retry-after") };
  }
  throw new Error("should have failed");
}

export function noTrace(got) {
  const text = JSON.stringify(got);
  assert.deepEqual([...OWN, "scrollback"].filter((name) => text.includes(name)), []);
}

/** Runs cases one after the other; ends the process with whether all passed. */
export async function run(cases) {
  const chosen = Object.entries(cases).filter(([name]) => process.argv.length < 3 || process.argv.includes(name));
  let failed = 0;
  for (const [name, play] of chosen) {
    const begun = Date.now();
    try {
      await play();
      console.log(`ok      ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n${error.stack}`);
    }
  }
  console.log(`${chosen.length - failed} of ${chosen.length} passed`);
  process.exit(failed ? 1 : 0);
}
