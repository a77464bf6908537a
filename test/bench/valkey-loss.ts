/**
 * Measures what is lost when the server is killed under load, for each kind of persistence: `node
 * test/bench/valkey-loss.ts [--seconds 4]`. It counts acknowledged settlements that the server (or the replica that
 * takes over) has lost, and those of them that are still missing after the data plane has replayed its journal. The
 * machine itself keeps running.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openValkeyLedger } from '../../dataplane/ledger/valkey.ts';
import { holdRequest, settlement } from '../unit/dataplane/ledger/calls.ts';
import { numberFlag, readFlags } from '../support/flags.ts';
import { startValkey } from '../support/valkey.ts';
import type { ValkeyServer } from '../support/valkey.ts';

interface Way {
  readonly name: string;
  readonly settings: readonly (readonly [string, string])[];
  /** Another server takes over; `wait`: it must have a step before that is acknowledged. */
  readonly replica?: { readonly wait: 0 | 1 };
}

const AOF = ['appendonly', 'yes'] as const;
const WAYS: readonly Way[] = [
  { name: 'AOF, appendfsync always', settings: [AOF, ['appendfsync', 'always']] },
  { name: 'AOF, appendfsync everysec', settings: [AOF, ['appendfsync', 'everysec']] },
  { name: 'RDB, a snapshot every second or so', settings: [['save', '1 1']] },
  { name: 'nothing is kept', settings: [] },
  { name: 'a replica takes over, asynchronous', settings: [], replica: { wait: 0 } },
  { name: 'a replica takes over, wait=1', settings: [], replica: { wait: 1 } },
];
const HELP = 'node test/bench/valkey-loss.ts [--seconds 4]   (of load before the server is killed)';
const loadMs = 1_000 * numberFlag(readFlags(HELP, ['seconds']).seconds ?? '4', 'seconds', HELP);
const IN_FLIGHT = 64;

for (const way of WAYS) {
  const dataDir = mkdtempSync(join(tmpdir(), 'mgw-loss-'));
  await using primary = await startValkey({ settings: way.settings });
  await using replica = way.replica ? await startValkey() : undefined;
  if (replica) await follow(replica, primary);
  const acknowledged = await load(`${primary.url}?wait=${way.replica?.wait ?? 0}`, dataDir, primary);
  const next = replica ?? primary;
  if (replica) await replica.command('REPLICAOF', 'NO', 'ONE');
  else await primary.start();
  const lost = await missing(next, acknowledged);
  const ledger = await openValkeyLedger({ url: next.url, dataDir, over: { refillMs: 0 } });
  console.log(
    `${way.name}: ${acknowledged.length} acknowledged, the server does not know ${lost}, after the ` +
      `journals ${await missing(next, acknowledged)}`,
  );
  await ledger.close();
  rmSync(dataDir, { recursive: true });
}

async function follow(replica: ValkeyServer, primary: ValkeyServer): Promise<void> {
  await replica.command('REPLICAOF', '127.0.0.1', String(primary.port));
  while (!String(await replica.command('INFO', 'replication')).includes('master_link_status:up')) await sleep(50);
}

/** The calls whose settlement was acknowledged before the server was killed. */
async function load(url: string, dataDir: string, server: ValkeyServer): Promise<string[]> {
  const ledger = await openValkeyLedger({ url, dataDir, over: { refillMs: 0, timeoutMs: 2_000 } });
  const acknowledged: string[] = [];
  let [running, n] = [true, 0];
  const lanes = Array.from({ length: IN_FLIGHT }, async () => {
    while (running) {
      const id = `call-${n++}`;
      try {
        await ledger.admit(holdRequest(id, 10n, { limits: { accountCreditNanoUsd: 10n ** 15n } }));
        await ledger.settle(settlement(id, 10n));
        acknowledged.push(id);
      } catch {
        running = false;
      }
    }
  });
  await sleep(loadMs);
  await server.kill();
  running = false;
  await ledger.close();
  await Promise.all(lanes);
  return acknowledged;
}

async function missing(server: ValkeyServer, ids: readonly string[]): Promise<number> {
  let known = 0;
  for (let at = 0; at < ids.length; at += 500)
    known += Number(await server.command('EXISTS', ...ids.slice(at, at + 500).map((id) => `{mgw0}:c:${id}`)));
  return ids.length - known;
}
