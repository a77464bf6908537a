/** A key without a slot or money is refused before the gateway does work for its call. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { checkEarly } from '../../../../dataplane/pipeline/early-checks.ts';

const FREE = {
  serviceTiers: new Map(),
  contextTiers: [],
  perToken: {},
  perImage: [],
  perGeneration: 0n,
  perUse: new Map(),
};
const LIMIT = { scope: 'Key', id: 'u', measure: 'Concurrency', amount: 2 };

/** One key with two slots and a quota of one dollar; `free-model` costs nothing. */
function check(model: string, { calls = 0, spentNanoUsd = 0n }): Promise<void> {
  const key = { uid: 'u', account: 'team/a', group: 'g', namespace: 'team', name: 'k', limits: [LIMIT] };
  const quota = { scope: 'Key', amountNanoUsd: 1_000_000_000n };
  const free = { tiers: [[{ price: FREE }]], drained: [] };
  const state = {
    credentials: new Map([['hash', { key: { ...key, quota } }]]),
    accounts: new Map([['team/a', { credit: { scope: 'Account', amountNanoUsd: null }, spending: [] }]]),
    groups: new Map([
      [
        'g',
        {
          offers: new Map([
            ['paid-model', { tiers: [[]], drained: [] }],
            ['free-model', free],
          ]),
        },
      ],
    ]),
  };
  const others = Array.from({ length: calls }, () => ({ authenticated: { key } }));
  const deps = {
    state: { get: () => state },
    ledger: { readKey: async () => ({ spentNanoUsd, periodStartMs: null, resetsMs: null }) },
    running: new Map([{ authenticated: { key: { uid: 'other' } } }, ...others].map((record, index) => [index, record])),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const [given, caller] = [deps, { key, keyHash: 'hash' }] as unknown as Parameters<typeof checkEarly>;
  return checkEarly(given, caller, { model });
}

describe('a call', () => {
  it('of a key whose slots are all in use is refused', async () => {
    await check('paid-model', { calls: 1 });
    await assert.rejects(check('paid-model', { calls: 2 }), { code: 'rate_limit_exceeded' });
  });
  it('of a key without money is refused, although another model of its group is free', async () => {
    await check('paid-model', { spentNanoUsd: 999_999_999n });
    for (const model of ['paid-model', 'unknown-model'])
      await assert.rejects(check(model, { spentNanoUsd: 1_000_000_000n }), { code: 'insufficient_quota' });
    await check('free-model', { spentNanoUsd: 1_000_000_000n });
  });
});
