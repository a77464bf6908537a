/** What is acknowledged when: with commits and syncs that a test ends itself. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { createBalances } from '../../../../../dataplane/ledger/balances.ts';
import { Changes } from '../../../../../dataplane/ledger/embedded/changes.ts';
import { Committer } from '../../../../../dataplane/ledger/embedded/committer.ts';
import type { LedgerFault } from '../../../../../dataplane/ledger/embedded/committer.ts';
import { placeHold } from '../../../../../dataplane/ledger/ledger-core.ts';
import type { PendingHold } from '../../../../../dataplane/ledger/ledger-core.ts';
import { holdRequest, NOON_MS } from '../calls.ts';

/** A committer of a file that fails as a test decides, with a log of what was done and told. */
function scene({ timeoutMs = 60_000 } = {}) {
  const balances = createBalances();
  const changes = new Changes(balances, () => undefined);
  Object.assign(balances, { log: changes, recent: changes });
  const seen: string[] = [];
  const syncs: PromiseWithResolvers<void>[] = [];
  const disk = { commitFails: false };
  const committer = new Committer({
    balances,
    changes,
    sync: 'full',
    timeoutMs,
    onFault: ({ state }: LedgerFault) => seen.push(state),
    checkpoint: async () => void seen.push('checkpoint'),
    file: {
      commit: () => {
        if (changes.isEmpty) return;
        if (disk.commitFails) throw new Error('disk full');
        seen.push(`commit ${[...changes.holds].map(([id, hold]) => (hold ? `+${id}` : `-${id}`)).join(' ')}`);
        changes.written(true);
      },
      sync: () => {
        const sync = Promise.withResolvers<void>();
        syncs.push(sync);
        seen.push('sync');
        return sync.promise;
      },
    },
  });
  const hold = (callId: string): void => {
    const { pending } = placeHold(balances, holdRequest(callId, 1n), NOON_MS);
    assert.ok(pending satisfies PendingHold | undefined);
    committer.held(pending, callId).then(
      () => seen.push(`held ${callId}`),
      () => seen.push(`refused ${callId}`),
    );
  };
  const until = async (what: string): Promise<void> => {
    while (!seen.includes(what)) await sleep(1);
  };
  return { committer, seen, syncs, disk, hold, until };
}

test('after a failed sync, nothing is acknowledged before a checkpoint', async () => {
  const { committer, seen, syncs, hold, until } = scene();
  hold('a');
  await until('sync');
  syncs[0]?.reject(new Error('EIO'));
  await until('checkpoint');
  while (syncs.length < 2) await sleep(1);
  syncs[1]?.resolve();
  await until('held a');
  assert.deepEqual(seen, ['commit +a', 'sync', 'Failing', 'checkpoint', 'sync', 'Recovered', 'held a']);
  await committer.stop(0);
});

test('a sync acknowledges only what was committed before it', async () => {
  const { committer, seen, syncs, disk, hold, until } = scene();
  hold('a');
  await until('sync');
  disk.commitFails = true;
  hold('b');
  await until('Failing');
  syncs[0]?.resolve();
  await until('held a');
  await sleep(20);
  assert.ok(!seen.includes('held b') && committer.failing);
  disk.commitFails = false;
  while (syncs.length < 2) await sleep(1);
  syncs[1]?.resolve();
  await until('held b');
  assert.deepEqual(seen, ['commit +a', 'sync', 'Failing', 'held a', 'commit +b', 'sync', 'Recovered', 'held b']);
  await committer.stop(0);
});

test('a hold whose sync is late is withdrawn in the file before it is refused', async () => {
  const { committer, seen, disk, hold, until } = scene({ timeoutMs: 100 });
  hold('a');
  await until('sync');
  disk.commitFails = true;
  await sleep(250);
  assert.ok(!seen.includes('refused a'), 'its withdrawal is not committed yet');
  disk.commitFails = false;
  await until('refused a');
  assert.deepEqual(seen, ['commit +a', 'sync', 'Failing', 'commit -a', 'refused a']);
  await committer.stop(0);
});

test('a hold that was never committed is refused without a withdrawal', async () => {
  const { committer, seen, syncs, disk, hold, until } = scene({ timeoutMs: 100 });
  disk.commitFails = true;
  hold('a');
  await until('refused a');
  assert.deepEqual(seen, ['Failing', 'refused a']);
  disk.commitFails = false;
  await until('sync');
  syncs[0]?.resolve();
  await until('Recovered');
  assert.ok(!committer.failing);
  await committer.stop(0);
});
