/**
 * What the ledger costs on Valkey: `node test/bench/valkey.ts [--keys 100000] [--accounts 10000] [--seconds 5]`. One
 * server, one data plane's ledger, over loopback. A call is one hold and one settlement.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openEmbeddedLedger } from '../../dataplane/ledger/embedded.ts';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { openValkeyLedger } from '../../dataplane/ledger/valkey.ts';
import { holdRequest, origin, settlement } from '../unit/dataplane/ledger/calls.ts';
import { startValkey } from '../support/valkey.ts';
import type { ValkeyServer } from '../support/valkey.ts';
import { cpuSeconds } from './proc.ts';

const { values } = parseArgs({
  options: {
    keys: {
      type: 'string',
      default: '100000',
    },
    accounts: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '5' },
  },
});
const [keys, accounts, seconds] = [Number(values.keys), Number(values.accounts), Number(values.seconds)];
const IN_FLIGHT = 64;
const LONG_TIMEOUT = { timeoutMs: 60_000, refillMs: 0 };

let calls = 0;

function payerOf(n: number): { keyUid: string; account: string } {
  const id = n.toString(16).padStart(12, '0');
  const account = n % accounts;
  return { keyUid: `6f1c9e3a-0000-4000-8000-${id}`, account: `team-${account}/team-${account}` };
}

/** A call of one lane, from hold to settlement; `onHeld` gets the duration of the hold. */
async function call(ledger: Ledger, key: number, onHeld: (ms: number) => void): Promise<void> {
  const id = `req_${(++calls).toString(16).padStart(32, '0')}`;
  const payer = payerOf(key);
  const beganMs = performance.now();
  const result = await ledger.admit(
    holdRequest(id, 30_000_000n, {
      origin: {
        ...payer,
        createdMs: Date.now(),
      },
      limits: { keyLimitNanoUsd: 10n ** 15n, accountCreditNanoUsd: 10n ** 15n },
    }),
  );
  onHeld(performance.now() - beganMs);
  if (result.outcome !== 'Held') throw new Error(result.outcome);
  await ledger.settle(settlement(id, 12_345_678n, { origin: origin(id, payer) }));
}

async function lanes(count: number, work: () => Promise<boolean>): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async () => {
      while (await work());
    }),
  );
}

/** `restMs`: between two calls of a lane; none: as fast as it goes. */
async function measure(name: string, ledger: Ledger, server?: ValkeyServer, restMs = 0): Promise<void> {
  const held: number[] = [];
  const [own, theirs] = [process.cpuUsage(), server ? cpuSeconds(server.pid()) : 0];
  const beganMs = performance.now();
  let done = 0;
  await lanes(IN_FLIGHT, async () => {
    await call(ledger, done % keys, (ms) => held.push(ms));
    done++;
    if (restMs > 0) await sleep(restMs * 2 * Math.random());
    return performance.now() - beganMs < seconds * 1_000;
  });
  const { user, system } = process.cpuUsage(own);
  const serverUs = server ? `, server ${(((cpuSeconds(server.pid()) - theirs) * 1e6) / done).toFixed(1)} µs` : '';
  held.sort((a, b) => a - b);
  const quantile = (q: number): string => (held[Math.floor(held.length * q)] ?? 0).toFixed(2);
  console.log(
    `${name}: ${Math.round((done / (performance.now() - beganMs)) * 1_000)} calls/s, processor time per ` +
      `call: data plane ${((user + system) / done).toFixed(1)} µs${serverUs}; hold p50 ${quantile(0.5)} ms, p99 ` +
      `${quantile(0.99)} ms (${IN_FLIGHT} in flight)`,
  );
}

async function memory(server: ValkeyServer): Promise<number> {
  const text = String(await server.command('INFO', 'memory'));
  return Number(/^used_memory:(\d+)/m.exec(text)?.[1]);
}

const dataDir = mkdtempSync(join(tmpdir(), 'mgw-bench-'));
{
  await using server = await startValkey();
  console.log(
    String(await server.command('INFO', 'server'))
      .split('\r\n')
      .filter((line) => /^(?:redis|valkey)_version/.test(line))
      .join(' '),
  );
  const ledger = await openValkeyLedger({ url: `${server.url}?records=0`, dataDir, over: LONG_TIMEOUT });
  await measure('warm-up', ledger, server);
  await measure('on Valkey', ledger, server);
  await measure('on Valkey, some 1,000 calls/s', ledger, server, IN_FLIGHT);
  await server.command('FLUSHALL');
  await ledger.close();
  const filling = await openValkeyLedger({ url: `${server.url}?records=0`, over: { ...LONG_TIMEOUT, keepMs: 1 } });
  const before = await memory(server);
  let filled = 0;
  const streams = Array.from({ length: accounts }, (_, n) => `{mgw0}:s:${payerOf(n).account}`);
  await lanes(IN_FLIGHT, async () => {
    if (filled >= keys) return false;
    await call(filling, filled++, () => undefined);
    return filled < keys;
  });
  await sleep(3_000);
  // records are reported separately
  for (let at = 0; at < streams.length; at += 1_000) await server.command('DEL', ...streams.slice(at, at + 1_000));
  console.log(
    `${keys} keys and ${accounts} accounts: ${Math.round(((await memory(server)) - before) / keys)} bytes ` +
      `per key, its share of an account included`,
  );
  await measure(`with ${keys} keys`, filling, server);
  await filling.close();
  const keeping = await openValkeyLedger({ url: server.url, over: LONG_TIMEOUT });
  const [start, first] = [await memory(server), calls];
  await measure('with records', keeping, server);
  console.log(`${Math.round(((await memory(server)) - start) / (calls - first))} bytes per call whose record is kept`);
  await keeping.close();
}
const file = await openEmbeddedLedger({ path: join(dataDir, 'ledger.db') });
await measure('embedded, for comparison', file);
await file.close();
rmSync(dataDir, { recursive: true });
