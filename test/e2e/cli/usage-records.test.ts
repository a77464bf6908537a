/** `mgw usage` on both ledgers: filters and formats. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openEmbeddedLedger } from '../../../dataplane/ledger/embedded.ts';
import type { Ledger } from '../../../dataplane/ledger/ledger.ts';
import { openValkeyLedger } from '../../../dataplane/ledger/valkey.ts';
import { parseSince } from '../../../bin/commands/usage.ts';
import { usageWriter } from '../../../bin/usage/format.ts';
import { sumWriter } from '../../../bin/usage/sums.ts';
import { holdRequest, NEWER_STATUS, NOON_MS, origin, progress, settlement } from '../../unit/dataplane/ledger/calls.ts';
import { mgw, tempFolder } from '../../support/cli.ts';
import type { TempFolder } from '../../support/cli.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import type { ValkeyServer } from '../../support/valkey.ts';

const CALLS = [
  {
    callId: 'call-1',
    keyUid: 'key-1',
    account: 'team-a/a',
    model: 'model-1',
    createdMs: NOON_MS,
    keyName: 'ci',
    labels: 'cost-center=4711,stage=test',
  },
  {
    callId: 'call-2',
    keyUid: 'key-2',
    account: 'team-a/a',
    model: 'model,"2"',
    createdMs: NOON_MS + 1_000,
    keyName: 'chat',
    labels: 'cost-center=47',
    session: 'thread-1',
  },
  { callId: 'call-3', keyUid: 'key-3', account: 'team-b/b', model: '=model-1', createdMs: NOON_MS + 2_000 },
];
const DEADLINE_MS = 120_000;

async function fill(ledger: Ledger): Promise<void> {
  for (const call of CALLS) {
    await ledger.admit(
      holdRequest(call.callId, 50_000_000n, { origin: call, limits: { accountCreditNanoUsd: 10n ** 12n } }),
    );
    // as if a newer gateway had written the last one
    const [status, usageSource] =
      call.callId === 'call-3' ? [NEWER_STATUS, 'Guessed'] : (['Succeeded', 'Provider'] as const);
    await ledger.settle(
      settlement(call.callId, 12_500_000n, {
        origin: origin(call.callId, call),
        progress: progress(12_500_000n, { usageSource }),
        status,
      }),
    );
  }
}

interface Line {
  readonly id: string;
  readonly cost_usd: string;
  readonly created_at: string;
}

let folder: TempFolder;
let server: ValkeyServer | undefined;
const ledgers: Ledger[] = [];
const places: { name: string; flags: string[] }[] = [];

beforeAll(async () => {
  folder = await tempFolder();
  const file = await openEmbeddedLedger({ path: `${folder.path}/ledger.db` });
  ledgers.push(file);
  await fill(file);
  places.push({ name: 'a file', flags: ['--data', folder.path] });
  if (valkey.skip) return;
  server = await startValkey();
  const shared = await openValkeyLedger({ url: server.url, over: { refillMs: 0 } });
  ledgers.push(shared);
  await fill(shared);
  places.push({ name: 'Valkey', flags: ['--ledger', server.url] });
});
afterAll(async () => {
  for (const ledger of ledgers) await ledger.close();
  await server?.[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** The file has the record within seconds of the settlement. */
async function whenThere(flags: readonly string[]): Promise<Line[]> {
  const untilMs = performance.now() + DEADLINE_MS;
  for (;;) {
    const { exitCode, stdout, stderr } = await mgw(['usage', ...flags, '--format', 'json']);
    assert.equal(exitCode, 0, stderr);
    const lines = JSON.parse(stdout) as Line[];
    if (lines.length === CALLS.length || performance.now() > untilMs) return lines;
    await sleep(100);
  }
}

describe('mgw usage', () => {
  for (const place of ['a file', 'Valkey']) {
    const skip = place === 'Valkey' && valkey.skip;
    it.skipIf(skip)(`lists each call in ${place}, also while it is in use, and filters`, async () => {
      const flags = places.find(({ name }) => name === place)?.flags ?? [];
      const lines = await whenThere(flags);
      assert.deepEqual(
        lines
          .map(({ id, cost_usd, created_at }) => [id, cost_usd, created_at])
          .toSorted(([a = ''], [b = '']) => a.localeCompare(b)),
        CALLS.map(({ callId, createdMs }) => [callId, '0.0125', new Date(createdMs).toISOString()]),
      );
      const ids = async (...filter: string[]): Promise<string[]> =>
        (JSON.parse((await mgw(['usage', ...flags, '--format', 'json', ...filter])).stdout) as Line[]).map(
          ({ id }) => id,
        );
      assert.deepEqual(await ids('--key', 'key-2'), ['call-2']);
      assert.deepEqual(await ids('--account', 'team-a/a', '--since', new Date(NOON_MS + 1_000).toISOString()), [
        'call-2',
      ]);
      assert.deepEqual(await ids('--model', '=model-1'), ['call-3']);
      assert.deepEqual(await ids('--since', '2199-01-01'), []);
      assert.deepEqual(await ids('--key', 'team-a/ci'), ['call-1']);
      assert.deepEqual(await ids('--namespace', 'team-b'), ['call-3']);
      assert.deepEqual(await ids('--label', 'cost-center=47'), ['call-2']);
      assert.deepEqual(await ids('--session', 'thread-1'), ['call-2']);
      const summed = await mgw(['usage', ...flags, '--by', 'label:cost-center', '--format', 'csv']);
      assert.deepEqual(summed.stdout.split('\r\n').toSorted(), [
        '',
        ',1,16,0,0.0125',
        '47,1,16,0,0.0125',
        '4711,1,16,0,0.0125',
        'label:cost-center,calls,input_tokens,output_tokens,cost_usd',
      ]);
      const table = (await mgw(['usage', ...flags])).stdout.trimEnd().split('\n');
      assert.match(table[0] ?? '', /^CREATED +KEY +ACCOUNT/);
      assert.equal(table.at(-1), '3 calls, 0.0375 USD');
      assert.match((await mgw(['usage', ...flags, '--format', 'csv'])).stdout, /,Postponed,Guessed,/);
      assert.match(table.find((line) => line.includes('team-b/b')) ?? '', / Postponed .* 0\.0125/);
    });
  }

  it('reports missing arguments', async () => {
    const none = await mgw(['usage']);
    assert.deepEqual([none.exitCode, none.stdout], [64, '']);
    assert.match(none.stderr, /--ledger URL, --data DIR or --config DIR/);
    const missing = await mgw(['usage', '--data', `${folder.path}/nowhere`]);
    assert.deepEqual([missing.exitCode, /no such ledger/.test(missing.stderr)], [1, true]);
    await folder.write('broken/ledger.db', 'this is no database, and never was one');
    assert.match((await mgw(['usage', '--data', `${folder.path}/broken`])).stderr, /cannot be read as a ledger/);
    assert.match(
      (await mgw(['usage', '--ledger', 'valkey://127.0.0.1:1'])).stderr,
      /cannot be reached: connect ECONNREFUSED|cannot be reached/,
    );
  });

  it('writes CSV that spreadsheets read correctly', () => {
    const writer = usageWriter('csv');
    const record = {
      ...origin('id', { model: '=1+1, "x"' }),
      ...progress(5n),
      status: 'Succeeded' as const,
      unbilledNanoUsd: 0n,
      durationMs: 3,
    };
    const [line = ''] = writer.row(record).split('\r\n');
    assert.ok(line.includes(`,"'=1+1, ""x""",`), line);
    assert.ok(line.includes(',0.000000005,0.00,3,'), line);
    assert.equal(writer.begin.split(',').length, 23);
    assert.match(writer.begin, /,session,key_name,namespace,labels\r\n$/);
    const named = writer.row({ ...record, keyName: 'ci', labels: 'cost-center=4711,stage=test' });
    assert.match(named, /,,ci,team-a,"cost-center=4711,stage=test"\r\n$/);
    assert.match(line, /,,,team-a,$/);
  });

  it('names keys as far as the record does', () => {
    const writer = usageWriter('table');
    const record = {
      ...origin('id'),
      ...progress(5n),
      status: 'Succeeded' as const,
      unbilledNanoUsd: 0n,
      durationMs: 3,
    };
    assert.match(writer.row({ ...record, keyName: 'ci' }), /Z {2}team-a\/ci {2}/);
    assert.match(writer.row(record), /Z {2}key-1 {2}/);
  });

  it('sums records by a name, the most expensive first', () => {
    const record = {
      ...origin('id'),
      ...progress(5n),
      status: 'Succeeded' as const,
      unbilledNanoUsd: 0n,
      durationMs: 3,
    };
    const sum = (by: string, format: 'table' | 'json'): string => {
      const writer = sumWriter(by, format);
      writer.row({ ...record, keyName: 'ci' });
      writer.row({ ...record, keyUid: 'key-2', costNanoUsd: 7_000_000n });
      writer.row({ ...record, keyName: 'ci' });
      return writer.begin + writer.end();
    };
    const lines = sum('key', 'table').split('\n');
    assert.deepEqual(
      lines.map((line) => line.split(/ {2,}/)),
      [
        ['KEY', 'CALLS', 'IN', 'OUT', 'COST USD'],
        ['key-2', '1', '16', '5', '0.007'],
        ['team-a/ci', '2', '32', '10', '0.00000001'],
        [''],
      ],
    );
    assert.deepEqual(JSON.parse(sum('namespace', 'json')), [
      { namespace: 'team-a', calls: 3, input_tokens: 48, output_tokens: 15, cost_usd: '0.00700001' },
    ]);
  });

  it("includes the platform's cost and the margin on request", () => {
    const record = {
      ...origin('id'),
      ...progress(5n, { upstreamCostNanoUsd: 7n }),
      status: 'Succeeded' as const,
      unbilledNanoUsd: 0n,
      durationMs: 3,
    };
    const { upstreamCostNanoUsd: _cost, ...unknown } = record;
    const csv = usageWriter('csv', { margins: true });
    assert.ok(csv.begin.endsWith(',upstream_cost_usd,margin_usd\r\n'));
    assert.ok(csv.row(record).endsWith(',0.000000007,-0.000000002\r\n'));
    assert.ok(csv.row(unknown).endsWith(',,\r\n'));
    const table = usageWriter('table', { margins: true });
    assert.match(table.begin, /COST USD +UPSTREAM USD +MARGIN USD +ID/);
    assert.match(table.row(unknown), /unknown +unknown/);
    table.row(record);
    assert.equal(
      table.end(),
      '2 calls, 0.00000001 USD, upstream 0.000000007 USD, margin -0.000000002 USD of 1 call whose cost is known\n',
    );
    assert.ok(!usageWriter('json').row(record).includes('upstream'));
  });

  it('writes JSON as one list, even if it is empty', () => {
    const writer = usageWriter('json');
    assert.deepEqual(JSON.parse(writer.begin + writer.end()), []);
  });

  it('parses times', () => {
    assert.equal(parseSince('90m', NOON_MS), NOON_MS - 90 * 60_000);
    assert.equal(parseSince('7d', NOON_MS), NOON_MS - 7 * 86_400_000);
    assert.equal(parseSince('2026-11-01', NOON_MS), Date.UTC(2026, 10, 1));
    assert.equal(parseSince('2026-11-01T12:00', NOON_MS), Date.UTC(2026, 10, 1, 12));
    assert.equal(parseSince('2026-11-01T12:00:00+02:00', NOON_MS), Date.UTC(2026, 10, 1, 10));
    for (const text of ['', 'yesterday', '7', '7y', '2026-13-01', '12:00'])
      assert.throws(() => parseSince(text, NOON_MS), /must be a time back/, text);
  });
});
