/** A minute of chaos on four gateways that share one Valkey. Longer: `node tools/chaos/fleet.ts --minutes 10`. */
import assert from 'node:assert/strict';
import { afterAll, describe, it } from 'vitest';
import { seedOfRun } from '../../support/api/scene.ts';
import { valkey } from '../../support/valkey.ts';
import { closeConnections } from '../../../tools/chaos/client.ts';
import { playFleetRound } from '../../../tools/chaos/fleet-round.ts';

const seed = seedOfRun();

describe.skipIf(valkey.skip)('a fleet in chaos', () => {
  afterAll(() => closeConnections());

  it(`nothing is overspent, lost or leaked (node tools/chaos/fleet.ts --seed ${seed} --round 1)`, async () => {
    const { violations, evidence: { records, samples } } =
      await playFleetRound(seed, 1, { ledger: 'valkey', longStop: true });
    assert.deepEqual(violations, []);
    assert.ok(records.filter(({ status }) => status === 'Succeeded').length > 10, `${records.length} records`);
    assert.ok(samples.length > 20, `${samples.length} samples`);
  });
});
