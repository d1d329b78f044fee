// What users of the openai library for Node meet; the cases are those of suite.py, and compared in the same way.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

const { OpenAI } = createRequire(`${process.env.NODE_HOME}/`)("openai");
const { UPSTREAM, PROXY, STORE, SCROLLBACK } = process.env;
const DOOR = PROXY || UPSTREAM;
const tool = (name, field) => ({ type: "function", function: { name, parameters: { type: "object", properties: { [field]: { type: "string" } } } } });
const TOOLS = [tool("weather", "city"), tool("tide", "port")];
const FACT = "The code of crate 17 is Kestrel-4921, and Ingrid signed for it at dusk.";
const user = (content) => ({ role: "user", content });

const open = (url, session, more = {}) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: "sk-canary-5f1d0c", maxRetries: 0, timeout: 30_000, defaultHeaders: session ? { "x-scrollback-session": session } : {}, ...more });
const requests = async (after) => (await (await fetch(`${UPSTREAM}/__requests?after=${after}`)).json()).requests;
const count = async () => (await (await fetch(`${UPSTREAM}/__requests?after=1000000000`)).json()).count;
const sent = (request) => JSON.parse(request.body);

function log(session, ...more) {
  const out = execFileSync(SCROLLBACK, ["--store", STORE, "--json", "show", session, "--all", ...more], { maxBuffer: 1 << 28 });
  return out.toString().trim().split("\n").map((line) => JSON.parse(line).message);
}

async function say(client, messages, { stream, model = "mock", ...more } = {}) {
  if (!stream) {
    const done = await client.chat.completions.create({ model, messages, ...more });
    const { message, finish_reason } = done.choices[0];
    return { text: message.content ?? "", calls: message.tool_calls ?? [], finish: finish_reason, output: done.usage.completion_tokens, echo: message, chunks: [] };
  }
  const runner = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true }, ...more });
  const chunks = [];
  for await (const chunk of runner) chunks.push(structuredClone(chunk));
  const done = await runner.finalChatCompletion();
  const { message, finish_reason } = done.choices[0];
  const text = chunks.flatMap((chunk) => chunk.choices).map((choice) => choice.delta.content ?? "").join("");
  assert.equal(text, message.content ?? "", "the deltas add up");
  const calls = (message.tool_calls ?? []).map(({ id, type, function: { name, arguments: given } }) => ({ id, type, function: { name, arguments: given } }));
  const echo = { role: "assistant", content: message.content, ...(calls.length ? { tool_calls: calls } : {}) };
  return { text, calls, finish: finish_reason, output: done.usage.completion_tokens, echo, chunks };
}

async function loop(client, script, stream) {
  const messages = [user(script)];
  const replies = [];
  for (;;) {
    const reply = await say(client, messages, { stream, tools: TOOLS });
    messages.push(reply.echo);
    replies.push(reply);
    if (!reply.calls.length) return replies;
    for (const call of reply.calls) messages.push({ role: "tool", tool_call_id: call.id, content: `${call.function.name}: fine` });
  }
}

const essence = ({ text, calls, finish, output }) => ({ text, calls, finish, output });

/** A script gets the same, and asks the same, with and without Scrollback. */
async function same(name, script) {
  let mark = await count();
  const without = await script(open(UPSTREAM, name));
  const direct = await requests(mark);
  mark = await count();
  const through = await script(open(DOOR, name));
  assert.deepEqual(through.map(essence), without.map(essence));
  const reached = await requests(mark);
  assert.equal(reached.length, direct.length);
  reached.forEach((request, i) => {
    const [got, wanted] = [sent(request), sent(direct[i])];
    assert.deepEqual(got.messages, wanted.messages);
    assert.deepEqual((got.tools ?? []).slice(0, wanted.tools?.length ?? 0), wanted.tools ?? []);
    assert.equal(request.headers.authorization ?? request.headers.Authorization, "Bearer sk-canary-5f1d0c");
  });
  if (!PROXY) return through;
  const kept = await settled(name, sent(direct.at(-1)).messages.length + 1);
  const said = (message) => [message.role, message.content ?? "", message.tool_calls?.length ?? 0];
  assert.deepEqual(kept.slice(0, -1).map(said), sent(direct.at(-1)).messages.map(said));
  assert.equal(kept.at(-1).content ?? "", through.at(-1).text);
  return through;
}

/** The log, once it holds so many messages: a reply is written while the client already reads it. */
async function settled(name, messages) {
  for (let i = 0; i < 30; i++) {
    if (log(name).length >= messages) break;
    await sleep(100);
  }
  const kept = log(name);
  assert.equal(kept.length, messages, `${name}: messages kept`);
  return kept;
}

async function failure(script) {
  try {
    await script();
  } catch (error) {
    return { kind: error.constructor.name, status: error.status, body: error.error, wait: error.headers?.get?.("retry-after") };
  }
  throw new Error("should have failed");
}

const cases = {
  async turns() {
    for (const stream of [false, true]) {
      await same(`node-turns-${stream}`, async (client) => {
        const messages = [{ role: "system", content: "Be brief." }];
        const replies = [];
        for (const text of ["@say Good morning 潮位 🌊", "@say two\\nlines", "@dribble\n@say three ünï"]) {
          messages.push(user(text));
          replies.push(await say(client, messages, { stream }));
          messages.push(replies.at(-1).echo);
        }
        return replies;
      });
    }
  },

  async streams_have_one_beginning_and_one_end() {
    const { chunks } = await say(open(DOOR, "node-shape"), [user("@say one two three")], { stream: true });
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    const choices = chunks.flatMap((chunk) => chunk.choices);
    assert.deepEqual(choices.map((choice) => choice.finish_reason).filter(Boolean), ["stop"]);
    assert.deepEqual(choices.map((choice) => choice.delta.role).filter(Boolean), ["assistant"]);
    assert.ok(chunks.at(-1).usage && !chunks.at(-1).choices.length);
  },

  async tools() {
    for (const stream of [false, true]) {
      const replies = await same(`node-tools-${stream}`, (client) =>
        loop(client, `tools ${stream}\n@say I look\n@call weather {"city":"Oslo"}\n@call weather {"city":"Turku"}\n@then\n@call tide {"port":"Oban"}`, stream));
      assert.deepEqual(replies.map((reply) => reply.calls.length), [2, 1, 0]);
    }
  },

  async mixed_calls_are_parted_and_joined_again() {
    if (!PROXY) return;
    for (const stream of [false, true]) {
      const mark = await count();
      const [first] = await loop(open(DOOR, `node-mixed-${stream}`), `mixed ${stream}\n@search lighthouse\n@call weather {"city":"Oslo"}\n@recall_page 0\n@call tide {"port":"Oban"}`, stream);
      assert.deepEqual(first.calls.map((call) => call.function.name), ["weather", "tide"]);
      const [, second] = (await requests(mark)).map(sent);
      const turn = second.messages.find((message) => message.role === "assistant");
      assert.deepEqual(turn.tool_calls.map((call) => call.function.name), ["search_history", "weather", "recall_page", "tide"]);
      assert.equal(second.messages.filter((message) => message.role === "tool").length, 4);
    }
  },

  async recall_is_invisible() {
    if (!PROXY) return;
    const filler = Array.from({ length: 900 }, (_, i) => ["harbour", "tide", "gauge", "ledger", "berth"][(i * i) % 5]).join(" ");
    const history = Array.from({ length: 10 }, (_, i) => [user(`turn ${i}. ${i === 1 ? FACT : ""} ${filler} ${i}`), { role: "assistant", content: `noted ${i}` }]).flat();
    for (const stream of [false, true]) {
      const mark = await count();
      const reply = await say(open(DOOR, `node-recall-${stream}`), [...history, user("@say One moment.\n@search crate 17 Kestrel")], { stream, model: "mock-8k" });
      assert.equal((await requests(mark)).length, 2);
      assert.ok(reply.text.includes(FACT), reply.text);
      assert.deepEqual([reply.calls, reply.finish], [[], "stop"]);
      assert.ok(new Set(reply.chunks.map((chunk) => chunk.id)).size <= 1);
      await settled(`node-recall-${stream}`, 22);
    }
  },

  async images_arrive_untouched() {
    const url = `data:image/png;base64,${Buffer.from(Array.from({ length: 2000 }, (_, i) => i % 251)).toString("base64")}`;
    await same("node-images", async (client) => [await say(client, [user([{ type: "text", text: "@images" }, { type: "image_url", image_url: { url } }])])]);
  },

  async errors_are_the_models_own() {
    for (const status of [400, 401, 404, 429, 500, 503]) {
      const told = [];
      for (const url of [UPSTREAM, DOOR]) told.push(await failure(() => say(open(url, `node-${status}`), [user(`@error ${status}`)])));
      assert.deepEqual(told[1], told[0]);
    }
    for (const directive of ["cut", "garbage", "midfail"]) {
      const told = [];
      for (const url of [UPSTREAM, DOOR]) told.push((await failure(() => say(open(url, `node-${directive}`), [user(`@${directive}\n@say one two three four`)], { stream: true }))).kind);
      assert.equal(told[1], told[0], directive);
    }
  },

  async a_client_that_goes_away_takes_the_model_with_it() {
    const mark = await count();
    const stream = await open(DOOR, "node-abort").chat.completions.create({ model: "mock", stream: true, messages: [user(`@slow\n@say ${"word ".repeat(300)}`)] });
    let seen = 0;
    for await (const _ of stream) if (++seen === 5) stream.controller.abort();
    let state = "";
    for (let i = 0; i < 80 && state !== "dropped"; i++) {
      await sleep(100);
      state = (await requests(mark))[0].state;
    }
    assert.equal(state, "dropped");
    if (PROXY) assert.deepEqual(log("node-abort").map((message) => message.role), ["user"]);
  },

  async unknown_fields_pass_both_ways() {
    const mark = await count();
    const body = { model: "mock", messages: [{ ...user("@say fine\n@think hm"), name: "ada" }], x_unknown: { a: [1, null] } };
    const done = await open(DOOR, "node-unknown").chat.completions.create(body);
    assert.deepEqual([done.x_mock, done.choices[0].message.reasoning_content], [{ "π": 1.5, null: null }, "hm"]);
    const [request] = (await requests(mark)).map(sent);
    assert.deepEqual([request.x_unknown, request.messages], [body.x_unknown, body.messages]);
  },

  async regenerating_gives_siblings() {
    if (!PROXY) return;
    const client = open(DOOR, "node-again");
    const replies = [await say(client, [user("@random")]), await say(client, [user("@random")])];
    await sleep(300);
    const kept = [0, 1].map((branch) => log("node-again", "--branch", String(branch)).map((message) => message.content));
    assert.deepEqual(new Set(kept.map((path) => path.join("|"))), new Set(replies.map((reply) => `@random|${reply.text}`)));
  },
};

let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  const begun = Date.now();
  try {
    await run();
    console.log(`ok      ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
console.log(`${Object.keys(cases).length - failed} of ${Object.keys(cases).length} passed`);
process.exit(failed ? 1 : 0);
