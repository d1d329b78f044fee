// What users of Anthropic's library for Node meet; the cases are those of messages.py, and compared in the same way.

import assert from "node:assert/strict";
import { DOOR, FACT, PROXY, UPSTREAM, count, failure, history, kept, load, noTrace, requests, run, same, user } from "./kit.mjs";

const { Anthropic } = load("@anthropic-ai/sdk");
const MARK = { type: "ephemeral" };
const SYSTEMS = ["You keep the harbour's books.", [{ type: "text", text: "You keep the harbour's books." }, { type: "text", text: "Be brief.", cache_control: MARK }]];
const THINKING = { type: "enabled", budget_tokens: 1024 };
const tool = (name, field) => ({ name, description: `the ${name}`, input_schema: { type: "object", properties: { [field]: { type: "string" } } } });
const TOOLS = [tool("weather", "city"), tool("tide", "port")];
const assistant = (content) => ({ role: "assistant", content });

const open = (url, session, more = { apiKey: "sk-canary-5f1d0c" }) =>
  new Anthropic({ baseURL: url, maxRetries: 0, timeout: 30_000, ...more, defaultHeaders: { "x-scrollback-session": session, ...more.defaultHeaders } });

async function say(client, messages, { stream, ...more } = {}) {
  const body = { model: "claude-mock", max_tokens: 300, messages, ...more };
  const events = [];
  let message;
  if (stream) {
    const runner = client.messages.stream(body);
    for await (const event of runner) events.push(structuredClone(event));
    message = await runner.finalMessage();
  } else {
    message = await client.messages.create(body);
  }
  const words = message.content.filter((block) => block.type === "text").map((block) => block.text).join("");
  return { message, events, text: words, calls: message.content.filter((block) => block.type === "tool_use"), echo: assistant(message.content) };
}

async function turns(client, texts, options) {
  const messages = [];
  const replies = [];
  for (const text of texts) {
    messages.push(user(text));
    replies.push(await say(client, messages, options));
    messages.push(replies.at(-1).echo);
  }
  return replies;
}

async function loop(client, script, options) {
  const messages = [user(script)];
  const replies = [];
  for (;;) {
    const reply = await say(client, messages, { tools: TOOLS, ...options });
    messages.push(reply.echo);
    replies.push(reply);
    if (!reply.calls.length) return replies;
    messages.push(user(reply.calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: `${call.name}: fine` }))));
  }
}

const cases = {
  async turns_are_the_same() {
    for (const stream of [false, true]) {
      for (const [i, system] of SYSTEMS.entries()) {
        const name = `node-turns-${i}-${stream}`;
        const texts = [`${name}\n@say Good morning 潮位 🌊`, "@think let me see\n@say two", "@stop max_tokens\n@say cut"];
        const { got } = await same(open, name, (client) => turns(client, texts, { stream, system }));
        assert.equal(got.at(-1).message.stop_reason, "max_tokens");
        if (PROXY) assert.deepEqual((await kept(name, i + 1 + 6)).at(-1).content, got.at(-1).message.content);
      }
    }
  },

  async both_key_headers_arrive() {
    const told = [];
    for (const url of [UPSTREAM, DOOR]) {
      for (const more of [{ apiKey: "sk-one" }, { apiKey: null, authToken: "tok-two" }, { apiKey: null, defaultHeaders: { "x-api-key": "sk-three" } }]) {
        const mark = await count();
        await say(open(url, `node-key-${told.length}`, more), [user("@say fine")]);
        const [{ headers }] = await requests(mark);
        told.push([headers["x-api-key"], headers.authorization]);
      }
    }
    assert.deepEqual(told.slice(3), told.slice(0, 3));
    assert.deepEqual(told.slice(1, 3), [[undefined, "Bearer tok-two"], ["sk-three", undefined]]);
  },

  async four_cache_marks_stay_four() {
    const marked = (text) => user([{ type: "text", text, cache_control: MARK }]);
    const options = { system: [{ type: "text", text: "Be brief.", cache_control: MARK }], tools: [TOOLS[0], { ...TOOLS[1], cache_control: MARK }] };
    await same(open, "node-marks", async (client) => [await say(client, [marked("one"), assistant("noted"), marked("@say four")], options)]);
  },

  async tools_in_two_rounds() {
    for (const stream of [false, true]) {
      const name = `node-tools-${stream}`;
      const script = `${name}\n@think which?\n@say I look\n@call weather {"city":"Oslo"}\n@call weather {"city":"Turku"}\n@then\n@think and\n@call tide {"port":"Oban"}`;
      const { got, last } = await same(open, name, (client) => loop(client, script, { stream, thinking: THINKING, system: SYSTEMS[1] }));
      assert.deepEqual(got.map((reply) => reply.calls.length), [2, 1, 0]);
      assert.equal(last.messages[1].content[0].signature, got[0].message.content[0].signature);
      if (PROXY) await kept(name, 2 + 6);
    }
  },

  async mixed_calls_are_parted_and_joined_again() {
    if (!PROXY) return;
    for (const stream of [false, true]) {
      const [name, mark] = [`node-mixed-${stream}`, await count()];
      const script = `${name}\n@think hm\n@search lighthouse\n@call weather {"city":"Oslo"}\n@recall_page 0\n@call tide {"port":"Oban"}`;
      const [first] = await loop(open(DOOR, name), script, { stream, thinking: THINKING });
      assert.deepEqual(first.calls.map((call) => [call.name, call.input]), [["weather", { city: "Oslo" }], ["tide", { port: "Oban" }]]);
      noTrace([first.message, first.events]);
      const [, { sent }] = await requests(mark);
      const names = sent.messages[1].content.filter((block) => block.type === "tool_use").map((block) => block.name);
      assert.deepEqual(names, ["search_history", "weather", "recall_page", "tide"]);
      assert.equal(sent.messages[2].content.filter((block) => block.type === "tool_result").length, 4);
      await kept(name, 4);
    }
  },

  async a_long_conversation_folds_and_recall_is_invisible() {
    if (!PROXY) return;
    for (const stream of [false, true]) {
      const [name, mark] = [`node-recall-${stream}`, await count()];
      const [client, options] = [open(DOOR, name), { stream, system: SYSTEMS[1], tools: TOOLS, thinking: THINKING }];
      const messages = [...history(name, assistant), user("@think where?\n@say One moment.\n@search crate 17 Kestrel")];
      const reply = await say(client, messages, options);
      assert.equal((await requests(mark)).length, 2);
      assert.ok(reply.text.includes(FACT), reply.text);
      assert.deepEqual([reply.calls, reply.message.stop_reason, reply.message.usage.output_tokens], [[], "end_turn", 18]);
      noTrace([reply.message, reply.events]);
      messages.push(reply.echo, user("@say on"));
      assert.equal((await say(client, messages, options)).text, "on");
      const found = await kept(name, 2 + messages.length + 1);
      assert.deepEqual(found.slice(2, 40).map((message) => message.content), messages.slice(0, 38).map((message) => message.content));
    }
  },

  async tokens_are_counted() {
    const body = { model: "claude-mock", tools: TOOLS };
    const short = [];
    for (const url of [UPSTREAM, DOOR]) short.push(await open(url, "node-count").messages.countTokens({ ...body, messages: [user("How high?")] }));
    // What goes on as it came is counted by the model, with our tools if there are any.
    const ours = short[1].input_tokens - short[0].input_tokens;
    assert.deepEqual({ ...short[1], input_tokens: 0 }, { ...short[0], input_tokens: 0 });
    assert.ok(PROXY ? ours > 100 && ours < 1500 : ours === 0, String(ours));
    if (!PROXY) return;
    const [client, messages] = [open(DOOR, "node-count-long"), [...history("count", assistant), user("@say ok")]];
    messages.push((await say(client, messages)).echo, user("How high?"));
    const { input_tokens } = await client.messages.countTokens({ ...body, messages });
    assert.ok(input_tokens > 1000 && input_tokens <= 6000, String(input_tokens));
  },

  async errors_are_the_models_own() {
    for (const status of [400, 401, 404, 413, 429, 500, 529]) {
      for (const stream of [false, true]) {
        const told = [];
        for (const url of [UPSTREAM, DOOR]) told.push(await failure(() => say(open(url, `node-${status}-${stream}`), [user(`@error ${status}`)], { stream })));
        assert.deepEqual(told[1], told[0]);
      }
    }
  },

  async an_error_in_a_stream_is_raised() {
    const told = [];
    for (const url of [UPSTREAM, DOOR]) told.push(await failure(() => say(open(url, "node-over"), [user("node over\n@overloaded\n@say one two three four five six seven")], { stream: true })));
    assert.deepEqual(told[1], told[0]);
    assert.ok(told[1].said.includes("overloaded_error"), told[1].said);
    if (PROXY) await kept("node-over", 1);
  },
};

await run(cases);
