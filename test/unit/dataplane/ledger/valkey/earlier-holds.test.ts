/** Holds that a gateway of an earlier version has written, packed, into a store that both use during an upgrade. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { brief, holdRequest, settlement } from '../calls.ts';
import type { Spending } from '../calls.ts';
import { HELD, SHORT } from '../contract-scenario.ts';
import { endScene, eventually, open, start } from './scene.ts';

const ACCOUNT = 'team-a/team-a';
const inTotal: Partial<Spending> = { keyLimitNanoUsd: 1_000n, accountCreditNanoUsd: 2_000n };
const over = { timeoutMs: 60_000, refillMs: 300, leaseMs: 1_500 };

/** Writes the call at KEYS[1] as an earlier version did: packed, without a copy in KEYS[2]. */
const AS_EARLIER = `
  local state, text = string.match(redis.call('GET', KEYS[1]), '^(.)(.*)$')
  local hold = cjson.decode(text)
  local quota, credit = hold.spending[1], hold.spending[2]
  local packed = struct.pack('<ddddBddc1I4I4ddI2c0I2c0I2c0I2c0I2c0I2c0', 0, tonumber(hold.amount), 0,
    tonumber(quota.amount), 0, 0, tonumber(credit.amount), quota.window, hold.day, hold.month, hold.createdMs,
    hold.renewedMs, #hold.key, hold.key, #hold.account, hold.account, #hold.instance, hold.instance, #hold.cost,
    hold.cost, #hold.route, hold.route, #hold.tokens, hold.tokens)
  if quota.name then
    packed = packed .. struct.pack('<dB', hold.admitted, 1) .. struct.pack('<BddddBc0', 0, 0, tonumber(quota.amount),
      quota.start, quota.stop, #quota.name, quota.name)
  else packed = packed .. struct.pack('<dB', hold.admitted, 0) end
  if state == 'R' then packed = struct.pack('<I2c0', #hold.pointer, hold.pointer) .. packed end
  redis.call('SET', KEYS[1], state .. packed, 'KEEPTTL')
  redis.call('HDEL', KEYS[2], 'c:a')
  return state`;

async function makeEarlier(server: ValkeyServer, state: 'H' | 'R'): Promise<void> {
  const written = await server.command('EVAL', AS_EARLIER, '2', '{mgw0}:c:a', '{mgw0}:copies');
  assert.equal(String(written), state);
}

describe.skipIf(valkey.skip)("an earlier version's hold", () => {
  afterEach(endScene);

  for (const [what, limits] of [
    ['in total', inTotal],
    ['in a week', { ...inTotal, period: 'Weekly' }],
  ] as const)
    it(`under a limit ${what} bounds its settlement`, async () => {
      const server = await start();
      const { ledger } = await open(server, { over });
      assert.deepEqual(await ledger.admit(holdRequest('a', 600n, { limits })), HELD(600n));
      await makeEarlier(server, 'H');
      assert.deepEqual(brief(await ledger.admit(holdRequest('b', 401n, { limits }))), SHORT('Key', 400n));
      const { record, keySpentNanoUsd, keyRemainingNanoUsd } = await ledger.settle(settlement('a', 1_500n));
      assert.deepEqual(
        [record.costNanoUsd, record.unbilledNanoUsd, keySpentNanoUsd, keyRemainingNanoUsd],
        [1_000n, 500n, 1_000n, 0n],
      );
      assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 1_000n, heldNanoUsd: 0n });
    });

  it('is replaced by a hold of this version', async () => {
    const server = await start();
    const { ledger } = await open(server, { over });
    await ledger.admit(holdRequest('a', 600n, { limits: inTotal }));
    await makeEarlier(server, 'H');
    assert.deepEqual(await ledger.admit(holdRequest('a', 900n, { limits: inTotal })), HELD(900n));
    assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 0n, heldNanoUsd: 900n });
  });

  it('that was reaped is settled after all', async () => {
    const server = await start();
    const { ledger: dying } = await open(server, { over });
    await dying.admit(holdRequest('a', 600n, { limits: inTotal }));
    const { ledger } = await open(server, { over });
    const confirmed = async (): Promise<boolean> => String(await server.command('KEYS', '{mgw0}:u:*')) === '';
    await eventually('it is confirmed', confirmed);
    await dying.close();
    await eventually('it is reaped', async () => (await ledger.readUsage('key-1', 'a'))?.status === 'Abandoned');
    await makeEarlier(server, 'R');
    assert.equal((await ledger.settle(settlement('a', 250n))).record.costNanoUsd, 250n);
    assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 250n, heldNanoUsd: 0n });
  });
});
