/**
 * A minute of chaos on four gateways that share one Valkey, and some seconds on one gateway whose disk fills up.
 * Longer, and on a Cluster: `node test/chaos/fleet.ts --minutes 10`.
 */
import assert from 'node:assert/strict';
import { afterAll, describe, it } from 'vitest';
import { seedOfRun } from '../../support/api/scene.ts';
import { prlimit } from '../../support/full-disk.ts';
import { valkey } from '../../support/valkey.ts';
import { closeConnections } from '../../chaos/client.ts';
import { playFleetRound } from '../../chaos/fleet-round.ts';

const seed = seedOfRun();

describe.skipIf(valkey.skip || prlimit.skip)('a fleet in chaos', () => {
  afterAll(() => closeConnections());

  for (const [ledger, round] of [
    ['valkey', 1],
    ['file', 2],
  ] as const) {
    const command = `node test/chaos/fleet.ts --ledger ${ledger} --seed ${seed} --round ${round}`;
    it(`nothing is overspent, lost or leaked (${command})`, async () => {
      const {
        violations,
        evidence: { records, samples },
      } = await playFleetRound(seed, round, { ledger, longStop: round === 1 });
      assert.deepEqual(violations, []);
      assert.ok(records.filter(({ status }) => status === 'Succeeded').length > 10, `${records.length} records`);
      assert.ok(samples.length > 20, `${samples.length} samples`);
    });
  }
});
