import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { contains, edgesOf, spanAt } from '#ledger/periods.ts';
import { isTimeZone } from '#snapshot/time-zone.ts';
import { DAY_MS, NOON_MS } from './calls.ts';

const HOUR_MS = 3_600_000;
const KINDS = ['Day', 'Week', 'Month'] as const;
const ZONES = ['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia'];

function isoSpan(kind: (typeof KINDS)[number], at: string, timeZone?: string): string[] {
  const { startMs, endMs } = spanAt(kind, Date.parse(at), timeZone);
  return [startMs, endMs].map((ms) => new Date(ms).toISOString());
}

describe('a calendar window', () => {
  it('in UTC is a day, a week from Monday or a month', () => {
    assert.deepEqual(isoSpan('Day', '2026-11-20T12:00:00Z'), ['2026-11-20T00:00:00.000Z', '2026-11-21T00:00:00.000Z']);
    assert.deepEqual(isoSpan('Week', '2026-11-22T23:59:59.999Z'), [
      '2026-11-16T00:00:00.000Z',
      '2026-11-23T00:00:00.000Z',
    ]);
    assert.deepEqual(isoSpan('Month', '2028-02-29T12:00:00Z'), [
      '2028-02-01T00:00:00.000Z',
      '2028-03-01T00:00:00.000Z',
    ]);
  });

  it('in a time zone begins at its midnight, and is as long as its clocks say', () => {
    assert.deepEqual(isoSpan('Day', '2026-10-25T12:00:00Z', 'Europe/Berlin'), [
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ]);
    assert.deepEqual(isoSpan('Week', '2026-03-29T12:00:00Z', 'Europe/Berlin'), [
      '2026-03-22T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ]);
    assert.deepEqual(isoSpan('Month', '2026-10-31T15:00:00Z', 'Asia/Tokyo'), [
      '2026-10-31T15:00:00.000Z',
      '2026-11-30T15:00:00.000Z',
    ]);
  });

  it('begins later than midnight where the clocks skip it', () => {
    // Brazil put its clocks forward at midnight
    assert.deepEqual(isoSpan('Day', '2018-11-04T12:00:00Z', 'America/Sao_Paulo'), [
      '2018-11-04T03:00:00.000Z',
      '2018-11-05T02:00:00.000Z',
    ]);
  });

  it('has each moment in exactly one of its kind, between its neighbours', () => {
    const moment = fc.integer({ min: NOON_MS - 400 * DAY_MS, max: NOON_MS + 2_000 * DAY_MS });
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.constantFrom(...ZONES), moment, (kind, timeZone, atMs) => {
        const span = spanAt(kind, atMs, timeZone);
        assert.ok(contains(span, atMs));
        assert.deepEqual(spanAt(kind, span.startMs, timeZone), span);
        assert.deepEqual(spanAt(kind, span.endMs - 1, timeZone), span);
        const edges = edgesOf({ kind, timeZone }, atMs);
        assert.equal(edges.length, 4);
        assert.deepEqual(edges.slice(1, 3), [span.startMs, span.endMs]);
        assert.equal(spanAt(kind, span.endMs, timeZone).endMs, edges[3]);
        assert.equal(spanAt(kind, span.startMs - 1, timeZone).startMs, edges[0]);
        if (kind === 'Day') assert.ok(Math.abs(span.endMs - span.startMs - DAY_MS) <= HOUR_MS);
      }),
    );
  });
});

describe('a time zone', () => {
  it('is one that the database has', () => {
    for (const name of ['UTC', 'Europe/Berlin', 'Etc/GMT+5']) assert.ok(isTimeZone(name), name);
    for (const name of ['', 'Europe/Nowhere', 'Berlin time']) assert.ok(!isTimeZone(name), name);
  });
});
