/**
 * `node test/bench/hostile.ts [--seconds 10]`: what a well-behaved tenant waits while a hostile one does its worst
 * with one key and 64 connections: the p99 of small calls without and with the attack, and their ratio, which should be
 * at most 2. The gateway and the attacker are processes of their own; leave them a processor each.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { listenOn } from '../../dataplane/listen.ts';
import { hostileBody } from '../fuzz/cpu-time.ts';
import { startMeasured } from '../fuzz/measured.ts';
import { randomFrom } from '../fuzz/random.ts';
import { numberFlag, readFlags } from '../support/flags.ts';
import { KEYS } from '../support/manifests.ts';

const HELP = 'node test/bench/hostile.ts [--seconds 10]';
const GOOD_CONNECTIONS = 4;
const HOSTILE_CONNECTIONS = 64;
const BODIES = 48;
const PATHS = [
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/responses',
  '/v1/embeddings',
] as const;
const ANSWER = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-model',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

interface Sent {
  readonly url: string;
  readonly key: string;
  readonly body: Buffer;
  readonly agent: Agent;
}

/** Resolves with the status, once the answer has ended; 0: the connection broke. */
function post({ url, key, body, agent }: Sent): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      url,
      {
        method: 'POST',
        agent,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length },
      },
      (response) => {
        response.resume();
        response.on('close', () => resolve(response.statusCode ?? 0));
      },
    );
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

/** Calls on some connections until told to stop; returns how long each took, ascending. */
async function measure(url: string, seconds: number): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: GOOD_CONNECTIONS });
  const body = Buffer.from(JSON.stringify({ model: 'gpt-model', messages: [{ role: 'user', content: 'hello' }] }));
  const untilMs = performance.now() + seconds * 1000;
  const times: number[] = [];
  const call = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const startMs = performance.now();
      const status = await post({ url: `${url}/v1/chat/completions`, key: KEYS.main, body, agent });
      if (status !== 200) throw new Error(`the well-behaved tenant got ${status}`);
      times.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: GOOD_CONNECTIONS }, call));
  agent.destroy();
  return times.sort((a, b) => a - b);
}

/** The attacker's process: until it is killed. */
async function attack(url: string): Promise<void> {
  const random = randomFrom(1);
  const bodies = Array.from({ length: BODIES }, (_, index) =>
    hostileBody(random, index % 2 ? 65_000 : 1_000_000, 'text-model'),
  );
  const agent = new Agent({ keepAlive: true, maxSockets: HOSTILE_CONNECTIONS });
  process.send?.('ready');
  const loop = async (): Promise<never> => {
    for (;;) await post({ url: url + random.pick(PATHS), key: KEYS.narrow, body: random.pick(bodies), agent });
  };
  await Promise.all(Array.from({ length: HOSTILE_CONNECTIONS }, loop));
}

function p99(times: readonly number[]): number {
  return times[Math.floor(times.length * 0.99)] ?? 0;
}

async function compare(seconds: number): Promise<void> {
  const provider = createServer((asked, response) => {
    asked.resume();
    asked.on('end', () => response.setHeader('content-type', 'application/json').end(ANSWER));
  });
  const port = await listenOn(provider, { host: '127.0.0.1', port: 0 });
  const gateway = await startMeasured(`http://127.0.0.1:${port}`);
  await measure(gateway.url, 2);
  const calm = await measure(gateway.url, seconds);
  const attacker = fork(import.meta.filename, ['--attack', gateway.url]);
  await once(attacker, 'message');
  await measure(gateway.url, 2);
  const attacked = await measure(gateway.url, seconds);
  attacker.kill();
  for (const [name, times] of [
    ['calm', calm],
    ['attacked', attacked],
  ] as const) {
    const median = times[times.length >> 1] ?? 0;
    console.log(`${name}: ${times.length} calls, p50 ${median.toFixed(1)} ms, p99 ${p99(times).toFixed(1)} ms`);
  }
  console.log(`p99 ratio: ${(p99(attacked) / p99(calm)).toFixed(2)}`);
  await gateway.stop();
  provider.closeAllConnections();
  provider.close();
}

const [mode, url = ''] = process.argv.slice(2);
if (mode === '--attack') await attack(url);
else await compare(numberFlag(readFlags(HELP, ['seconds']).seconds ?? '10', 'seconds', HELP));
