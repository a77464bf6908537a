/** Optional fields of records: what each store writes of them, and that it reads what it and earlier versions wrote. */
import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { openFile } from '../../../../dataplane/ledger/embedded/schema.ts';
import { admitOperation, settleOperation, textOf } from '../../../../dataplane/ledger/valkey/operations.ts';
import { parseJob, parseRecord } from '../../../../dataplane/ledger/valkey/replies.ts';
import type { RecordReply } from '../../../../dataplane/ledger/valkey/replies.ts';
import { openUsageMirror } from '../../../../console/data/usage-mirror.ts';
import { OPTIONAL_FIELDS } from '#usage/optional-fields.ts';
import type { UsageRecord } from '#usage/record.ts';
import { correctedRow, CORRECTED_COLUMNS, decodeRecord, RECORD_COLUMNS, recordRow } from '#usage/rows.ts';
import { holdRequest, origin, progress, settlement } from '../../dataplane/ledger/calls.ts';

const LINES = [{ dimension: 'input', quantity: 10, rateUsd: '3' }];
const FIELDS = { lines: LINES, session: 's-1', upstreamCostNanoUsd: 7n, keyName: 'ci', labels: 'team=red' };
const RECORD: UsageRecord = {
  ...origin('a'),
  ...progress(30n),
  status: 'Succeeded',
  unbilledNanoUsd: 0n,
  durationMs: 5,
};

/** Any of the fields, each absent or not. */
const some = fc
  .record(Object.fromEntries(Object.keys(FIELDS).map((name) => [name, fc.boolean()])))
  .map((has): Partial<typeof FIELDS> => Object.fromEntries(Object.entries(FIELDS).filter(([name]) => has[name])));

const asRead = (row: ReturnType<typeof recordRow>) =>
  row.map((value) => (typeof value === 'number' ? BigInt(value) : value));

/** The record of a settled call, as Valkey has it. */
function onValkey(fields: Partial<typeof FIELDS>, over: Partial<RecordReply> = {}): UsageRecord {
  const { tokens, cost } = settleOperation(settlement('a', 30n, { progress: { ...progress(30n), ...fields } }), []);
  const { route } = admitOperation(holdRequest('a', 30n, { origin: fields }), []);
  const reply = { account: RECORD.account, call: 'a', key: RECORD.keyUid, createdMs: String(RECORD.createdMs) };
  const texts = { tokens: textOf(tokens), cost: textOf(cost), route: textOf(route), unbilled: '0', durationMs: '5' };
  return parseRecord({ ...reply, ...texts, status: 'Succeeded', ...over }).record;
}

describe('the optional fields of a record', () => {
  it('are read from rows and from Valkey as they were written, whichever there are', () => {
    fc.assert(
      fc.property(some, (fields) => {
        const record = { ...RECORD, ...fields };
        assert.deepEqual(decodeRecord(asRead(recordRow(record))), record);
        assert.deepEqual(onValkey(fields), record);
      }),
    );
  });

  it('have the places on Valkey that earlier versions gave them', () => {
    const { tokens, job } = settleOperation(
      settlement('a', 30n, {
        progress: { ...progress(30n), ...FIELDS },
        job: { jobId: 'j', pollMs: 1, terms: 'terms' },
      }),
      [],
    );
    const lines = '[["input",10,"3"]]';
    assert.equal(tokens, JSON.stringify([10, 1, 2, 3, 30, 'Partial', lines, '7', 'terms']));
    assert.ok(job);
    assert.equal(parseJob({ is: 'job', job: 'j', state: 'Running', tokens: textOf(tokens) }).terms, 'terms');
    const { route } = admitOperation(holdRequest('a', 1n, { origin: { keyName: 'ci' } }), []);
    const { group, model, channel, catalog } = RECORD;
    assert.equal(route, JSON.stringify([group, model, channel, catalog, '', 'ci']));
    const first = { tokens: '[10,1,2,3,30,"Partial"]', route: JSON.stringify([group, model, channel, catalog]) };
    assert.deepEqual(onValkey({}, first), RECORD);
    const empty = { ...first, tokens: '[10,1,2,3,30,"Partial","",null,"terms"]' };
    assert.deepEqual(onValkey({}, empty), RECORD);
  });

  it('have a column each in the file of the ledger and in mirrors', () => {
    const names = (db: DatabaseSync): unknown[] =>
      db
        .prepare('PRAGMA table_info(usage)')
        .all()
        .map(({ name }) => name);
    const file = openFile(':memory:');
    for (const column of RECORD_COLUMNS) assert.ok(names(file).includes(column), column);
    file.close();
    const mirror = openUsageMirror();
    mirror.close();
    assert.deepEqual(
      CORRECTED_COLUMNS.slice(-2),
      OPTIONAL_FIELDS.filter(({ of }) => of === 'Progress').map(({ column }) => column),
    );
    assert.equal(correctedRow({ ...RECORD, ...FIELDS }).length, CORRECTED_COLUMNS.length);
  });
});
