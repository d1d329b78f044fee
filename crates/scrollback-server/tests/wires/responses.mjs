// What users of the openai library for Node meet at the Responses API; the cases are those of responses.py, and compared in the same way.

import assert from "node:assert/strict";
import { DOOR, FACT, PROXY, UPSTREAM, count, essence, failure, history, kept, load, noTrace, requests, run, same, user } from "./kit.mjs";

const { OpenAI } = load("openai");
const SEALED = { store: false, include: ["reasoning.encrypted_content"] };
const tool = (name, field) => ({ type: "function", name, strict: false, parameters: { type: "object", properties: { [field]: { type: "string" } } } });
const TOOLS = [tool("weather", "city"), tool("tide", "port")];
const assistant = (content) => ({ role: "assistant", content });

const open = (url, session) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: "sk-canary-5f1d0c", maxRetries: 0, timeout: 30_000, defaultHeaders: session ? { "x-scrollback-session": session } : {} });

async function say(client, input, { stream, ...more } = {}) {
  const body = { model: "gpt-mock", input, ...more };
  const events = [];
  let response;
  if (stream) {
    for await (const event of await client.responses.create({ ...body, stream: true })) events.push(event);
    response = events.at(-1).response;
  } else {
    response = await client.responses.create(body);
  }
  const words = response.output.flatMap((item) => (item.type === "message" ? item.content : [])).map((part) => part.text).join("");
  return { response, events, text: words, calls: response.output.filter((item) => item.type === "function_call"), echo: response.output };
}

async function turns(client, texts, options) {
  const items = [];
  const replies = [];
  for (const text of texts) {
    items.push(user(text));
    replies.push(await say(client, items, options));
    items.push(...replies.at(-1).echo);
  }
  return replies;
}

async function chain(client, texts, options) {
  const replies = [];
  for (const text of texts) replies.push(await say(client, text, { ...options, ...(replies.length ? { previous_response_id: replies.at(-1).response.id } : {}) }));
  return replies;
}

async function loop(client, script, options, follows) {
  let [items, more] = [[user(script)], {}];
  const replies = [];
  for (;;) {
    const reply = await say(client, items, { tools: TOOLS, ...options, ...more });
    replies.push(reply);
    if (!reply.calls.length) return replies;
    const results = reply.calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: `${call.name}: fine` }));
    items = follows ? results : [...items, ...reply.echo, ...results];
    more = follows ? { previous_response_id: reply.response.id } : {};
  }
}

const kinds = (items) => items.map((item) => item.role ?? item.type);
/** The model gets everything, and no id to follow. */
const followsNothing = (_, through) => PROXY && assert.deepEqual(["previous_response_id", "conversation"].filter((name) => name in through.sent), []);

/** The events of a stream tell one response, in order. */
function sound({ response, events }) {
  if (!events.length) return;
  assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, i) => i));
  assert.deepEqual(new Set(events.filter((event) => event.response).map((event) => event.response.id)), new Set([response.id]));
  assert.deepEqual(events.filter((event) => event.type === "response.output_item.done").map((event) => event.item), response.output);
}

const SCRIPT = '\n@think which?\n@say I look\n@call weather {"city":"Oslo"}\n@call weather {"city":"Turku"}\n@then\n@think and\n@call tide {"port":"Oban"}';

const cases = {
  async turns_are_the_same() {
    for (const stream of [false, true]) {
      for (const options of [{ instructions: "Be brief." }, { instructions: "Be brief.", ...SEALED }]) {
        const name = `node-turns-${stream}-${options.store}`;
        const texts = [`${name}\n@say Good morning 潮位 🌊`, "@think let me see\n@say two", "@say three"];
        const { got } = await same(open, name, (client) => turns(client, texts, { stream, ...options }));
        if (PROXY) assert.deepEqual((await kept(name, 1 + 7)).at(-1), got.at(-1).response.output[0]);
      }
    }
  },

  async the_librarys_own_stream_adds_up() {
    const { got } = await same(open, "node-own-stream", async (client) => {
      const runner = client.responses.stream({ model: "gpt-mock", input: '@think hm\n@say one two three\n@call tide {"port":"Oban"}', tools: TOOLS });
      const events = [];
      for await (const event of runner) events.push(structuredClone(event));
      return [await runner.finalResponse(), events];
    });
    assert.deepEqual(kinds(got[0].output), ["reasoning", "assistant", "function_call"]);
  },

  async a_chain_of_turns() {
    for (const stream of [false, true]) {
      const name = `node-chain-${stream}`;
      const texts = [`${name}\n@say one`, "@think hm\n@say two", "@say three"];
      const { last } = await same(open, name, (client) => chain(client, texts, { stream }), followsNothing);
      if (!PROXY) continue;
      assert.deepEqual(kinds(last.input), ["user", "assistant", "user", "reasoning", "assistant", "user"]);
      await kept(name, 7);
    }
  },

  async a_chain_folds() {
    if (!PROXY) return;
    const [name, client, mark] = ["node-fold", open(DOOR, "node-fold"), await count()];
    const texts = history(name, assistant).filter((message) => message.role === "user").slice(0, 14).map((message, i) => `${message.content}\n@say noted ${i}`);
    const replies = await chain(client, texts);
    assert.deepEqual(replies.map((reply) => reply.text), texts.map((_, i) => `noted ${i}`));
    const last = await say(client, "@search crate 17 Kestrel", { previous_response_id: replies.at(-1).response.id, stream: true });
    assert.ok(last.text.includes(FACT), last.text);
    sound(last);
    const asked = await requests(mark);
    assert.equal(asked.length, 16);
    asked.forEach((request) => followsNothing(null, request));
    assert.ok(asked.every((request) => request.body.length < 48_000) && asked.at(-1).body.includes("[#"));
    await kept(name, 30);
  },

  async a_conversation_has_a_name() {
    if (!PROXY) return;
    const [client, mark] = [open(DOOR), await count()];
    const made = await client.conversations.create({ metadata: { topic: "tides" }, items: [{ type: "message", role: "user", content: "node begins" }] });
    assert.equal((await say(client, "@say one", { conversation: made.id })).text, "one");
    assert.equal((await say(client, "@say two", { conversation: { id: made.id }, stream: true })).text, "two");
    assert.deepEqual(kinds((await requests(mark)).at(-1).sent.input), ["user", "user", "assistant", "user"]);
    const listed = [];
    for await (const item of client.conversations.items.list(made.id, { order: "asc", limit: 2 })) listed.push(item);
    assert.deepEqual(listed.map((item) => item.content[0].text), ["node begins", "@say one", "one", "@say two", "two"]);
    await kept(made.id, 5);
  },

  async tools_in_two_rounds() {
    for (const stream of [false, true]) {
      for (const options of [{}, SEALED]) {
        const name = `node-tools-${stream}-${options.store}`;
        const { got } = await same(open, name, (client) => loop(client, name + SCRIPT, { stream, ...options }));
        assert.deepEqual(got.map((reply) => reply.calls.length), [2, 1, 0]);
        if (PROXY) await kept(name, 1 + 4 + 2 + 2 + 1 + 1);
      }
      const name = `node-tools-chain-${stream}`;
      await same(open, name, (client) => loop(client, name + SCRIPT, { stream }, true), followsNothing);
      if (PROXY) await kept(name, 11);
    }
  },

  async mixed_calls_are_parted_and_joined_again() {
    if (!PROXY) return;
    for (const stream of [false, true]) {
      for (const [options, follows] of [[{}, false], [SEALED, false], [{}, true]]) {
        const [name, mark] = [`node-mixed-${stream}-${options.store}-${follows}`, await count()];
        const script = `${name}\n@think hm\n@say I look\n@search lighthouse\n@call weather {"city":"Oslo"}\n@recall_page 0\n@call tide {"port":"Oban"}`;
        const [first] = await loop(open(DOOR, name), script, { stream, ...options }, follows);
        assert.deepEqual(first.calls.map((call) => call.name), ["weather", "tide"]);
        noTrace([first.response, first.events]);
        sound(first);
        const [, { sent }] = await requests(mark);
        assert.deepEqual(sent.input.filter((item) => item.type === "function_call").map((item) => item.name), ["search_history", "weather", "recall_page", "tide"]);
        assert.equal(sent.input.filter((item) => item.type === "function_call_output").length, 4);
        await kept(name, 8);
      }
    }
  },

  async recall_is_invisible() {
    if (!PROXY) return;
    for (const stream of [false, true]) {
      const [name, mark] = [`node-recall-${stream}`, await count()];
      const [client, options] = [open(DOOR, name), { stream, instructions: "Be brief.", ...SEALED }];
      const items = [...history(name, assistant), user("@think where?\n@say One moment.\n@search crate 17 Kestrel")];
      const reply = await say(client, items, options);
      assert.equal((await requests(mark)).length, 2);
      assert.ok(reply.text.includes(FACT), reply.text);
      assert.deepEqual([reply.calls, reply.response.status, reply.response.usage.output_tokens], [[], "completed", 18]);
      noTrace([reply.response, reply.events]);
      sound(reply);
      items.push(...reply.echo, user("@say on"));
      assert.equal((await say(client, items, options)).text, "on");
      await kept(name, 1 + items.length + 1);
    }
  },

  async tokens_are_counted_and_a_conversation_is_compacted() {
    const short = [];
    for (const url of [UPSTREAM, DOOR]) short.push(await open(url, "node-count").responses.inputTokens.count({ model: "gpt-mock", input: "How high?" }));
    // What goes on as it came is counted by the model, with our tools if there are any.
    const ours = short[1].input_tokens - short[0].input_tokens;
    assert.deepEqual({ ...short[1], input_tokens: 0 }, { ...short[0], input_tokens: 0 });
    assert.ok(PROXY ? ours > 100 && ours < 1500 : ours === 0, String(ours));
    if (!PROXY) return;
    const client = open(DOOR, "node-compact");
    const made = await client.responses.compact({ model: "gpt-mock", input: history("node-compact", assistant) });
    assert.equal(made.output.at(-1).type, "compaction");
    const reply = await say(client, [...made.output, user("@search crate 17 Kestrel")]);
    assert.ok(reply.text.includes(FACT), reply.text);
    await kept("node-compact", 42);
  },

  async errors_are_the_models_own() {
    for (const status of [400, 401, 404, 429, 500, 503]) {
      for (const stream of [false, true]) {
        const told = [];
        for (const url of [UPSTREAM, DOOR]) told.push(await failure(() => say(open(url, `node-${status}-${stream}`), `@error ${status}`, { stream })));
        assert.deepEqual(told[1], told[0]);
      }
    }
    const overloaded = [];
    for (const url of [UPSTREAM, DOOR]) overloaded.push(await failure(() => say(open(url, "node-over"), "node over\n@overloaded\n@say one two three four five", { stream: true })));
    assert.deepEqual(overloaded[1], overloaded[0]);
    const failed = [];
    for (const url of [UPSTREAM, DOOR]) failed.push(await say(open(url, "node-failed"), "node failed\n@failed\n@say one two three four five", { stream: true }));
    assert.deepEqual(essence(failed[1]), essence(failed[0]));
    if (PROXY) await kept("node-failed", 1);
  },
};

await run(cases);
