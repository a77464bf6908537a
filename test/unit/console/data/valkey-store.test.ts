/** Usage of the fleet's shared ledger, on a real server. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { openValkeyReader } from '../../../../dataplane/ledger/valkey-reader.ts';
import type { CallStatus, UsageRecord } from '#usage/record.ts';
import { openValkeyLedger } from '../../../../dataplane/ledger/valkey.ts';
import { openValkeyUsageStore } from '../../../../console/data/valkey-store.ts';
import { startValkey, valkey } from '../../../support/valkey.ts';
import { holdRequest, NEWER_STATUS, settlement } from '../../dataplane/ledger/calls.ts';
import { LONG_TIMEOUT } from '../../dataplane/ledger/valkey/subject.ts';
import { ACCOUNTS, NOON_MS, asRefunded, checkBook, plannedCall, query, recordOf } from './cases.ts';
import type { PlannedCall } from './cases.ts';

const LIMITS = { accountCreditNanoUsd: 9_000_000_000_000_000_000n };

if (valkey.skip) {
  it.skip('the usage of a shared ledger');
} else {
  const server = await startValkey();
  afterAll(() => server[Symbol.asyncDispose]());
  const open = async (over: string = '') => {
    const url = `${server.url}?prefix=b${randomUUID().slice(0, 8)}${over}`;
    const ledger = await openValkeyLedger({ url, dataDir: undefined, over: { ...LONG_TIMEOUT, clock: () => NOON_MS } });
    const settle = async (record: UsageRecord, job: boolean): Promise<void> => {
      await ledger.admit({ ...holdRequest(record.callId, record.costNanoUsd, { origin: record, limits: LIMITS }) });
      await ledger.settle(
        settlement(record.callId, record.costNanoUsd, {
          origin: record,
          status: record.status as CallStatus,
          durationMs: record.durationMs,
          progress: { costNanoUsd: record.costNanoUsd, tokens: record.tokens, usageSource: record.usageSource },
          ...(job && { job: { jobId: `job-${record.callId}`, pollMs: NOON_MS } }),
        }),
      );
    };
    return {
      url,
      ledger,
      settle,
      refund: (record: UsageRecord) => ledger.finishJob({ jobId: `job-${record.callId}`, origin: record }, 'Failed'),
    };
  };

  describe('the usage of a shared ledger', () => {
    it('agrees with the records while they are added and refunded, and accounts are dropped', async () => {
      const small = plannedCall.map((call) => ({ ...call, costNanoUsd: call.costNanoUsd % 1_000_000_000n }));
      const batch = fc.record({
        calls: fc.array(small, { maxLength: 25 }),
        asked: fc.array(query, { minLength: 1, maxLength: 3 }),
        size: fc.integer({ min: 1, max: 20 }),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(batch, { minLength: 1, maxLength: 4 }),
          fc.constantFrom(10, 1_000_000),
          async (batches, maxRows) => {
            const { url, ledger, settle, refund } = await open();
            const book = openValkeyUsageStore(openValkeyReader(url), { maxRows, maxRowsPerAccount: 1_000_000 });
            let all: UsageRecord[] = [];
            let late: UsageRecord[] = [];
            let number = 0;
            try {
              for (const { calls, asked, size } of batches) {
                for (const record of late) await refund(record);
                all = all.map((record) => (late.includes(record) ? asRefunded(record) : record));
                const made = calls.map((call: PlannedCall) => recordOf(call, `call-${number++}`));
                for (const [at, record] of made.entries()) await settle(record, calls[at]?.refunded ?? false);
                all.push(...made);
                late = made.filter((_, at) => calls[at]?.refunded);
                for (const each of [...asked, { accounts: ACCOUNTS }]) await checkBook(book, all, each, size);
              }
            } finally {
              book.close();
              await ledger.close();
            }
          },
        ),
        { numRuns: 8 },
      );
    });

    it('copies and sums records with a status that a newer gateway has written', async () => {
      const { url, ledger, settle } = await open();
      const book = openValkeyUsageStore(openValkeyReader(url));
      for (const [at, status] of (['Succeeded', NEWER_STATUS, 'Withheld'] as const).entries())
        await settle(recordOf({ ...SOME, status, costNanoUsd: 5n }, `c${at}`), false);
      assert.equal((await book.sums({ accounts: ACCOUNTS })).all.costNanoUsd, 15n);
      const found = await Promise.all(['c0', 'c1', 'c2'].map((id) => ledger.readUsage('key-1', id)));
      assert.deepEqual(
        found.map((record) => [record?.status, record?.costNanoUsd]),
        [
          ['Succeeded', 5n],
          ['Postponed', 5n],
          ['Withheld', 5n],
        ],
      );
      book.close();
      await ledger.close();
    });

    it('drops what the ledger drops, and detects a store that was emptied', async () => {
      const { url, ledger, settle } = await open();
      const book = openValkeyUsageStore(openValkeyReader(url));
      const asked = { accounts: ACCOUNTS };
      for (let at = 0; at < 12; at++) await settle(recordOf({ ...SOME, costNanoUsd: BigInt(at) }, `c${at}`), false);
      assert.equal((await book.sums(asked)).all.costNanoUsd, 66n);
      const [stream = ''] = (await server.command(
        'KEYS',
        `*${new URL(url).searchParams.get('prefix')}*s:team-a/main`,
      )) as string[];
      await server.command('XTRIM', stream, 'MAXLEN', '4');
      assert.equal((await book.sums(asked)).all.costNanoUsd, 8n + 9n + 10n + 11n);
      const entries = (await server.command('XRANGE', stream, '-', '+')) as [string, unknown][];
      await server.command('XDEL', stream, entries[1]?.[0] ?? '');
      assert.equal((await book.sums(asked)).all.costNanoUsd, 8n + 10n + 11n);
      await server.command('FLUSHALL');
      await assert.rejects(book.sums(asked), LedgerUnavailable);
      book.close();
      await ledger.close();
    });
  });
}

const SOME: PlannedCall = {
  account: 'team-a/main',
  keyUid: 'key-1',
  model: 'gpt',
  status: 'Succeeded',
  createdMs: NOON_MS,
  costNanoUsd: 5n,
  tokens: { input: 1, cached: 2, output: 3 },
  refunded: false,
};
