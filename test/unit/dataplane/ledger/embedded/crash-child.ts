/**
 * A process that makes calls until it is killed, and records when each step begins and is acknowledged. It writes the
 * records synchronously to a file, so that none is lost or delayed.
 */
import { openSync, writeSync } from 'node:fs';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import type { LedgerSync } from '../../../../../dataplane/ledger/embedded/committer.ts';
import { holdRequest, origin, progress, settlement } from '../calls.ts';
import { LONG_TIMEOUT } from './subject.ts';

const [path = '', sync = 'normal', round = '0', said = '/dev/null'] = process.argv.slice(2);
const output = openSync(said, 'a');

/** What a step says: what happened, to which call, and an amount. */
export type Line = readonly [
  'try' | 'held' | 'progress' | 'settling' | 'settled' | 'refunding' | 'refunded',
  string,
  string,
];

function say(...line: Line): void {
  writeSync(output, `${line.join(' ')}\n`);
}

async function call(ledger: Awaited<ReturnType<typeof openEmbeddedLedger>>, id: string, key: string): Promise<void> {
  const over = { keyUid: key, account: 'team-a/team-a' };
  const limits = { keyLimitNanoUsd: 2_000_000n, accountCreditNanoUsd: 3_500_000n };
  const first = BigInt(1 + Math.floor(Math.random() * 50));
  say('try', id, String(first));
  const result = await ledger.admit(holdRequest(id, 100n, { origin: over, limits, progress: progress(first) }));
  if (result.outcome !== 'Held') return;
  say('held', id, String(first));
  for (let step = 0; step < Math.random() * 3; step++) {
    const amount = BigInt(1 + Math.floor(Math.random() * 90));
    say('progress', id, String(amount));
    await ledger.recordProgress(new Map([[id, progress(amount)]]));
  }
  // now and then beyond the hold
  const cost = BigInt(1 + Math.floor(Math.random() * 130));
  say('settling', id, String(cost));
  const settled = origin(id, over);
  const { record } = await ledger.settle(settlement(id, cost, { origin: settled, job: { jobId: id, pollMs: 0 } }));
  say('settled', id, String(record.costNanoUsd));
  if (Math.random() < 0.7) return;
  say('refunding', id, '0');
  await ledger.finishJob({ jobId: id, origin: settled }, 'Failed');
  say('refunded', id, '0');
}

if (path !== '') {
  const ledger = await openEmbeddedLedger({ path, sync: sync as LedgerSync, ...LONG_TIMEOUT });
  await Promise.all(
    Array.from({ length: 12 }, async (_, lane) => {
      for (let n = 0; ; n++) await call(ledger, `${round}-${lane}-${n}`, `key-${lane % 3}`);
    }),
  );
}
