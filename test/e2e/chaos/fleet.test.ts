/**
 * A minute of chaos on four gateways that share one Valkey. Longer, and on a Cluster: `npm run chaos -- --ledger cluster
 * --minutes 10`.
 */
import assert from 'node:assert/strict';
import { afterAll, describe, it } from 'vitest';
import { closeConnections } from '../../chaos/client.ts';
import { playRound } from '../../chaos/round.ts';
import { openWorld } from '../../chaos/world.ts';
import { seedOfRun } from '../../support/api/scene.ts';
import { prlimit } from '../../support/full-disk.ts';
import { valkey } from '../../support/valkey.ts';

const seed = seedOfRun();

describe.skipIf(valkey.skip || prlimit.skip)('a fleet in chaos', () => {
  afterAll(() => closeConnections());

  it(`nothing is overspent, lost or leaked (npm run chaos -- --ledger valkey --seed ${seed} --round 1)`, async () => {
    await using world = await openWorld('valkey');
    const {
      violations,
      evidence: { records, samples },
    } = await playRound(world, seed, 1);
    assert.deepEqual(violations, []);
    assert.ok(records.filter(({ status }) => status === 'Succeeded').length > 10, `${records.length} records`);
    assert.ok(samples.length > 20, `${samples.length} samples`);
  });
});
