// Servers of ours with other settings, and a model whose words come when the suite lets them. All of them end with the scene.
import { createServer } from 'node:http';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { atEnd } from './kit.mjs';

/** Another server, with settings of its own: { base, command(…), stops(), returns() }; it returns to the same address and store. */
export async function another(settings) {
  const home = mkdtempSync(path.join(os.tmpdir(), 'another-'));
  const files = ['--store', path.join(home, 'log.db'), '--config', path.join(home, 'scrollback.toml')];
  const env = { ...process.env, HOME: home };
  writeFileSync(files[3], settings);
  const start = (where) => spawn(process.env.SCROLLBACK, ['serve', '--listen', where, ...files], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let server = start('127.0.0.1:0');
  const stops = () => {
    server.kill();
    return server.exitCode === null && server.signalCode === null ? once(server, 'exit') : null;
  };
  atEnd(async () => {
    await stops();
    rmSync(home, { recursive: true, force: true });
  });
  const base = await address(server);
  /** Runs a command beside it, as its owner would. */
  const command = (...words) => execFileSync(process.env.SCROLLBACK, [...words, ...files], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env });
  const returns = () => {
    server = start(new URL(base).host);
    return address(server);
  };
  return { base, command, stops, returns };
}

/** { base, command(…), says(delta), ends(), fails(message), stops() }: `says({ content })` goes to whoever waits for an answer; `serve` are settings of the server. */
export async function puppet(serve = '') {
  const state = { answer: null };
  const upstream = createServer((request, answer) => {
    request.resume().on('end', () => {
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.flushHeaders();
      state.answer = answer;
    });
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  atEnd(() => {
    upstream.close();
    upstream.closeAllConnections();
  });
  const server = await another(`[serve]\nupstream = "puppet"\n${serve}\n[upstreams.puppet]\nurl = "http://127.0.0.1:${upstream.address().port}/v1"\nwire = "chat"\n[chat]\nmodel = "puppet"\n`);
  const write = (choice) => state.answer.write(`data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'puppet', choices: [{ index: 0, ...choice }] })}\n\n`);
  return {
    ...server,
    isAsked: () => state.answer !== null,
    says: (delta) => write({ delta, finish_reason: null }),
    ends() {
      write({ delta: {}, finish_reason: 'stop' });
      state.answer.end('data: [DONE]\n\n');
      state.answer = null;
    },
    fails(message) {
      state.answer.end(`data: ${JSON.stringify({ error: { message } })}\n\n`);
      state.answer = null;
    },
  };
}

/** Where it listens, as it says itself. */
function address(server) {
  let said = '';
  return new Promise((found, lost) => {
    const hear = (piece) => {
      const at = /http:\/\/127\.0\.0\.1:\d+/.exec(said += piece);
      if (at) found(at[0]);
    };
    server.stdout.on('data', hear);
    server.stderr.on('data', hear);
    server.on('exit', () => lost(new Error(`the server ended: ${said}`)));
  });
}
