/** Slots and money in one step: both, or neither. */
import assert from 'node:assert/strict';
import { afterAll, describe, it } from 'vitest';
import type { CountLimit, HoldRequest, Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { brief, holdRequest, origin, settlement, slot, testClock } from '../calls.ts';
import type { BriefResult } from '../calls.ts';
import { openSubject } from './subject.ts';
import { NO_TOKENS_LOAD } from '../../../../../dataplane/ledger/load.ts';

type Admit = (request: HoldRequest, limits: readonly CountLimit[]) => Promise<BriefResult>;

if (valkey.skip) {
  it.skip('slots and money in one step');
} else {
  const server = await startValkey();
  afterAll(() => server[Symbol.asyncDispose]());

  const withLedger = async (test: (ledger: Ledger, admit: Admit) => Promise<void>): Promise<void> => {
    const ledger = (await openSubject(server, testClock())).ledger;
    try {
      await test(ledger, async (request, slots) =>
        brief(await ledger.admit({ ...request, limits: [...request.limits, ...slots] })),
      );
    } finally {
      await ledger.close();
    }
  };

  const [key, channel] = [slot('Key', 'one', 2), slot('Channel', 'r/c', 1)];

  describe('slots and money in one step', () => {
    it('take both if both are free, and settling frees both', () =>
      withLedger(async (ledger, admit) => {
        assert.deepEqual(await admit(holdRequest('a', 600n), [key, channel]), { outcome: 'Held', heldNanoUsd: 600n });
        assert.deepEqual(ledger.gauges(), { holds: 1, heldNanoUsd: 600n, slots: { Key: 1, Group: 0, Channel: 1 } });
        await ledger.settle(settlement('a', 500n));
        assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
        assert.deepEqual(await admit(holdRequest('b', 1n), [key, channel]), { outcome: 'Held', heldNanoUsd: 1n });
      }));

    it('report the full slot, and hold nothing', () =>
      withLedger(async (ledger, admit) => {
        await admit(holdRequest('a', 1n), [key, channel]);
        assert.deepEqual(await admit(holdRequest('b', 600n), [key, channel]), { outcome: 'Full', full: channel });
        assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 0n, heldNanoUsd: 1n });
        // the key has room for one more: none of it was taken
        assert.deepEqual(await ledger.take('c', [key], NO_TOKENS_LOAD), { outcome: 'Taken' });
      }));

    it('take no slot if the money is not enough', () =>
      withLedger(async (ledger, admit) => {
        assert.deepEqual(await admit(holdRequest('a', 2_000_000n), [channel]), {
          outcome: 'Short',
          short: 'Account',
          availableNanoUsd: 1_000_000n,
        });
        assert.deepEqual(ledger.gauges().slots, { Key: 0, Group: 0, Channel: 0 });
        assert.deepEqual(await ledger.take('b', [channel], NO_TOKENS_LOAD), { outcome: 'Taken' });
      }));

    it('take no slot if the limits are outdated', () =>
      withLedger(async (ledger, admit) => {
        await ledger.admit(holdRequest('a', 1n, { limits: { keyGeneration: 5n } }));
        assert.deepEqual(await admit(holdRequest('b', 1n, { limits: { keyGeneration: 4n } }), [channel]), {
          outcome: 'StaleLimits',
        });
        assert.deepEqual(await ledger.take('c', [channel], NO_TOKENS_LOAD), { outcome: 'Taken' });
      }));

    it('keep slots that the call already has', () =>
      withLedger(async (ledger, admit) => {
        await ledger.take('a', [key], NO_TOKENS_LOAD);
        assert.deepEqual(await admit(holdRequest('a', 2_000_000n), [key, channel]), {
          outcome: 'Short',
          short: 'Account',
          availableNanoUsd: 1_000_000n,
        });
        assert.deepEqual(ledger.gauges().slots, { Key: 1, Group: 0, Channel: 0 });
        assert.deepEqual(await admit(holdRequest('a', 1n), [key, channel]), { outcome: 'Held', heldNanoUsd: 1n });
        assert.deepEqual(ledger.gauges().slots, { Key: 1, Group: 0, Channel: 1 });
      }));

    it('admit as many concurrent calls as there are slots', () =>
      withLedger(async (_ledger, admit) => {
        const wide = slot('Channel', 'r/wide', 7);
        const results = await Promise.all(
          Array.from({ length: 40 }, (_none, index) => admit(holdRequest(`call-${index}`, 1n), [wide])),
        );
        assert.equal(results.filter(({ outcome }) => outcome === 'Held').length, 7);
        assert.equal(results.filter(({ outcome }) => outcome === 'Full').length, 33);
      }));
  });

  describe('identifiers with separators', () => {
    it('are unknown, and do not affect other steps of the batch', () =>
      withLedger(async (ledger) => {
        await ledger.admit(holdRequest('plain', 5n));
        await ledger.settle(settlement('plain', 5n));
        const [strange, stranger, plain] = await Promise.all([
          ledger.readUsage('key-1', 'a\x003\0plain'),
          ledger.readJob('key-1', 'j\x1e\0ok'),
          ledger.readUsage('key-1', 'plain'),
        ]);
        assert.equal(strange, undefined);
        assert.equal(stranger, undefined);
        assert.equal(plain?.costNanoUsd, 5n);
      }));

    it('of a job are returned as one', () =>
      withLedger(async (ledger) => {
        await ledger.admit(holdRequest('film', 5n));
        await ledger.settle(settlement('film', 5n, { job: { jobId: 'j\x001', pollMs: 0 }, origin: origin('film') }));
        assert.equal((await ledger.readJob('key-1', 'j\x001'))?.state, 'Running');
        assert.equal((await ledger.claimJobs(Date.now(), 1_000, 10)).length, 1);
      }));
  });
}
