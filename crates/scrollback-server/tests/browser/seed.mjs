// Conversations to look at: the shipped sample, played through the proxy under each strategy, as a client would.
import { readFileSync } from 'node:fs';
import { api, BASE, fixture } from './kit.mjs';

/** The strategies that fold. */
export const STRATEGIES = ['pages', 'topics', 'summary', 'artifacts'];

/** Plays the sample as the session `name` under a strategy; `turns` of it, all if not given, to the server at `base`. */
export async function played(name, strategy, turns = Infinity, base = BASE) {
  const { messages } = JSON.parse(readFileSync(fixture('samples/petrel.jsonl'), 'utf8').split('\n')[0]);
  let waiting = [];
  let turn = 0;
  for (const message of messages) {
    if (message.role === 'assistant' && !message.tool_calls) continue;
    waiting.push(message);
    if (message.role !== 'user' && message.role !== 'tool') continue;
    if (message.role === 'user' && calls(messages, message)) continue;
    await sent(name, waiting, base);
    waiting = [];
    if ((turn += 1) === 1) await api('PUT', `/sessions/${name}/strategy`, { strategy }, base);
    if (turn >= turns) return;
  }
}

/** A tool is called right after it. */
function calls(messages, message) {
  return Boolean(messages[messages.indexOf(message) + 1]?.tool_calls);
}

async function sent(name, messages, base) {
  const answer = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-scrollback-session': name, 'x-scrollback-history': 'new' },
    body: JSON.stringify({ model: 'gpt-5', messages }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${text}`);
}
