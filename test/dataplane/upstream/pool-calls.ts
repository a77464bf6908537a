/** Requests on a pool, and a provider for them. */
import { setImmediate as turn } from 'node:timers/promises';
import { Exchange } from '../../../dataplane/upstream/exchange.ts';
import type { UpstreamPool } from '../../../dataplane/upstream/pool.ts';
import { readAll, startHttp } from './provider.ts';

/** None of them runs out in these tests. */
export const TIMEOUTS = { connectMs: 2000, firstByteMs: 50_000, wholeMs: 50_000, idleMs: 5000 };
export const OPTIONS = { allowH2: false, headersTimeout: 0, bodyTimeout: 0 };

export function send(pool: UpstreamPool, path: string, signal = new AbortController().signal): Exchange {
  const exchange = new Exchange({ stream: false, timeouts: TIMEOUTS, signal });
  pool.dispatch({ method: 'POST', path, body: 'x' }, exchange);
  return exchange;
}

/** Until a connection that answered may be used again. */
export async function rest(): Promise<void> {
  await turn();
  await turn();
}

/** Sends so many requests at a time, and waits until their connections are free. */
export async function burst(pool: UpstreamPool, count: number, path = '/'): Promise<void> {
  const running = Array.from({ length: count }, () => send(pool, path));
  for (const { head } of running) await readAll((await head).body);
  await rest();
}

/** Answers at once, but for /held, whose answers wait in `held` to be called for. */
export async function startHolding(): Promise<{ readonly base: string; readonly held: (() => void)[]; readonly ports: (number | undefined)[] }> {
  const held: (() => void)[] = [];
  const ports: (number | undefined)[] = [];
  const base = await startHttp((request, response) => {
    ports.push(request.socket.remotePort);
    if (request.url === '/held') held.push(() => response.end('ok'));
    else response.end('ok');
  });
  return { base, held, ports };
}
