/** A minute of chaos on four gateways that share one Valkey. Longer: `node test/chaos/fleet.ts --minutes 10`. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { seedOfRun } from '../promises/scene.ts';
import { valkey } from '../support/valkey.ts';
import { closeConnections } from './client.ts';
import { playFleetRound } from './fleet-round.ts';

const seed = seedOfRun();

describe('a fleet in chaos', { skip: valkey.skip }, () => {
  after(() => closeConnections());

  it(`nothing is overspent, lost or leaked (node test/chaos/fleet.ts --seed ${seed} --round 1)`, async () => {
    const { violations, evidence: { records, samples } } = await playFleetRound(seed, 1, { longStop: true });
    assert.deepEqual(violations, []);
    assert.ok(records.filter(({ status }) => status === 'Succeeded').length > 10, `${records.length} records`);
    assert.ok(samples.length > 20, `${samples.length} samples`);
  });
});
