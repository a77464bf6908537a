/** A settlement that is told only what its process does not know: it comes to the same answer, the same record and the same line of the journal. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { cleanProgress } from '#ledger/amounts.ts';
import type { HoldRequest, Limits, Settlement } from '#ledger/ledger.ts';
import { bookedLine, bookedResult, parseBooked } from '#ledger/valkey/booked.ts';
import type { BookedCall } from '#ledger/valkey/booked.ts';
import { Bucket } from '#ledger/valkey/bucket.ts';
import { admitText, bookText, holdText } from '#ledger/valkey/call-texts.ts';
import { openLink } from '#ledger/valkey/link.ts';
import { bucketBases, parseValkeyUrl } from '#ledger/valkey/location.ts';
import { RouteTexts } from '#ledger/valkey/routes.ts';
import { capped, encodeStep, limitWords, originWords, parseRecord, progressWords, settleStep, WORD_END } from '#ledger/valkey/steps.ts';
import type { Reply, Step } from '#ledger/valkey/steps.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import { DAY_MS, holdRequest, NOON_MS, origin, progress, settlement, slot } from './calls.ts';
import { PATIENT, urlOf } from './valkey-subject.ts';
import type { Place } from './valkey-subject.ts';

const routes = new RouteTexts();

/** An encoded step taken apart: it must have as many words as it says. */
function stepOf(text: string): Step {
  const [name = '', count, ...args] = text.split(WORD_END);
  assert.equal(args.length, Number(count), name);
  return { name, args };
}

function bookedCall(request: HoldRequest, settled: Settlement, [day, month]: readonly [string, string]): BookedCall {
  return { request, day, month, settlement: settled, progress: cleanProgress(settled.progress), route: routes.of(settled.origin) };
}

/** What a journal writes of a reply that tells everything. */
function fullLine(reply: Reply, { settlement: { callId, origin: { channel } } }: BookedCall): string {
  return `${JSON.stringify(['C', callId, reply, ['', '0', channel]])}\n`;
}

/** What somebody else may have chosen. */
const odd = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom('"', '\\', '\n', '\x1e', '\0', 'a\0b\x1e', '\u2028', '\ud800', 'Zürich "1"', '模型'));
const oddOrigin = fc.record({ callId: odd, keyUid: odd, account: odd, group: odd, model: odd, channel: odd, catalog: odd });
const oddCount = fc.oneof(fc.double(), fc.nat(), fc.constantFrom(-1, Number.NaN, Number.POSITIVE_INFINITY, 2.5));
const oddAmount = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n });
const oddProgress = fc.record({
  costNanoUsd: oddAmount, usageSource: fc.constantFrom('Provider', 'Estimated', 'Partial'),
  tokens: fc.record({ input: oddCount, cached: oddCount, cacheWrite5m: oddCount, cacheWrite1h: oddCount, output: oddCount }),
});
const oddLimits = fc.record({
  keyLimitNanoUsd: fc.option(oddAmount, { nil: null }), period: fc.constantFrom('Never', 'Daily', 'Monthly'), keyGeneration: fc.bigInt({ min: 0n }),
  accountCreditNanoUsd: oddAmount, accountGeneration: fc.bigInt({ min: 0n }),
});
const oddRequest = fc.record({ origin: oddOrigin, createdMs: oddCount, limits: oddLimits, amountNanoUsd: oddAmount, minimumNanoUsd: oddAmount, progress: oddProgress })
  .map(({ origin: from, createdMs, ...rest }): HoldRequest => ({ ...rest, origin: { ...from, createdMs } }));
const oddSlots = fc.array(fc.record({ scope: fc.constantFrom('Key', 'Group', 'Channel'), id: odd, limit: fc.nat() }), { maxLength: 3 });

/** The words of a hold, one by one. */
function holdArgs({ origin: from, limits, amountNanoUsd, minimumNanoUsd, progress: latest }: HoldRequest): string[] {
  const [limit, period, credit] = limitWords(limits);
  return [
    ...originWords(from), limit, period, String(limits.keyGeneration), credit, String(limits.accountGeneration),
    String(capped(amountNanoUsd)), String(capped(minimumNanoUsd)), ...progressWords(latest),
  ];
}

describe('the text of a step', () => {
  it('is the one of its words, whatever they are', () => {
    fc.assert(fc.property(oddRequest, oddSlots, oddCount, fc.boolean(), (request, slots, durationMs, moved) => {
      const word = routes.of(request.origin);
      assert.equal(holdText(request, word), encodeStep({ name: 'hold', args: holdArgs(request) }));
      const slotWords = slots.flatMap(({ id, limit }) => [id, String(limit)]);
      assert.equal(admitText(request, word, slots), encodeStep({ name: 'admit', args: [String(slotWords.length), ...slotWords, ...holdArgs(request)] }));
      const { callId } = request.origin;
      const ids = slots.map(({ id }) => id);
      const settled = { callId, progress: request.progress, status: 'ClientClosed' as const, durationMs, origin: request.origin };
      const [, cost, tokens, where, status, took] = settleStep(settled, []).args;
      const to = moved ? word.word : '';
      assert.equal(where, word.word);
      assert.equal(bookText(settled, cleanProgress(request.progress), to, ids), encodeStep({ name: 'book', args: [callId, cost ?? '', tokens ?? '', to, status ?? '', took ?? '', ...ids] }));
      for (const text of [holdText(request, word), admitText(request, word, slots), bookText(settled, cleanProgress(request.progress), to, ids)]) stepOf(text);
    }));
  });

  const call = holdRequest('a', 600n);
  const route = routes.of(call.origin);

  it('has as many words as it says', () => {
    const held = stepOf(holdText(call, route));
    assert.deepEqual(held.args.slice(0, 4), ['a', 'key-1', 'team-a/team-a', String(NOON_MS)]);
    const both = stepOf(admitText(call, route, [slot('Key', 'one', 2), slot('Channel', 'r/c', 1)]));
    assert.deepEqual(both.args, ['4', 'key/one', '2', 'channel/r/c', '1', ...held.args]);
    assert.deepEqual(stepOf(bookText(settlement('a', 5n), progress(5n), '', ['key/one'])).args, ['a', '5', '[10,1,2,3,5,"Partial"]', '', 'Succeeded', '1234', 'key/one']);
  });

  it('has no words that somebody else put into an identifier', () => {
    const strange = holdRequest('a\0b', 1n, { origin: { keyUid: 'k\x1e', account: '\0' } });
    assert.deepEqual(stepOf(holdText(strange, routes.of(strange.origin))).args.slice(0, 3), ['a\uFFFDb', 'k\uFFFD', '\uFFFD']);
  });

  it('names the route that the call has now', () => {
    const other = { ...call.origin, catalog: 'model-gateway/anthropic@2' };
    assert.equal(routes.of(call.origin), route);
    assert.equal(routes.of(other).word, JSON.stringify([other.group, other.model, other.channel, other.catalog]));
    assert.equal(routes.of(call.origin).word, route.word);
  });
});

describe('a line of the journal', () => {
  it('is the one that JSON makes, whatever the identifiers are', () => {
    fc.assert(fc.property(oddOrigin, (from) => {
      const request = holdRequest(from.callId, 9n, { origin: from });
      const { callId, keyUid, account, group, model, channel, catalog } = from;
      const settled = settlement(callId, 5n, { origin: request.origin });
      const call = bookedCall(request, settled, ['20777', '24322']);
      const booked = parseBooked(['booked', '7', '100', '60', '20', '40'], call);
      const word = JSON.stringify([group, model, channel, catalog]);
      const full = ['settled', account, callId, keyUid, String(NOON_MS), word, '[10,1,2,3,5,"Provider"]', '5', '0', 'Succeeded', '1234', '60', '-', '7', '100', '60', '20', '40', '20777', '24322'];
      const line = bookedLine(booked, bookedResult(booked, call), call);
      assert.equal(line, fullLine(full, call));
      assert.deepEqual(JSON.parse(line), ['C', callId, full, ['', '0', channel]]);
      assert.equal(line.indexOf('\n'), line.length - 1);
    }));
  });
});

describe('a short reply', { skip: valkey.skip }, async () => {
  if (valkey.skip) return;
  const server = await startValkey();
  after(() => server[Symbol.asyncDispose]());

  const withBucket = async (test: (bucket: Bucket) => Promise<void>, place: Place = { server, prefix: `b${randomUUID().slice(0, 8)}`, query: '' }): Promise<void> => {
    const location = parseValkeyUrl(urlOf(place));
    const link = openLink(location);
    const settings = { keepMs: DAY_MS, records: 100, lenient: false, ...PATIENT, instance: randomUUID(), clock: () => NOON_MS };
    const opened = Promise.withResolvers<void>();
    const bucket = new Bucket({
      link, base: bucketBases(location)[0] ?? assert.fail(), settings, contribute: async () => [], onRejoined: () => undefined,
      onState: (state) => (state === 'Open' ? opened.resolve() : undefined),
    });
    bucket.start();
    await opened.promise;
    try {
      await test(bucket);
    } finally {
      bucket.close();
      link.close();
    }
  };

  const hold = async (bucket: Bucket, request: HoldRequest): Promise<readonly [day: string, month: string]> => {
    const [word, , day = '', month = ''] = await bucket.ask(stepOf(holdText(request, routes.of(request.origin))));
    assert.equal(word, 'held');
    return [day, month];
  };

  const book = (bucket: Bucket, settled: Settlement, route = ''): Promise<Reply> => bucket.ask(stepOf(bookText(settled, cleanProgress(settled.progress), route, [])));

  const moved = origin('a', { group: 'vip', channel: 'other/backup', catalog: 'model-gateway/other@7' });
  const huge = 9_000_000_000n * 10n ** 9n;
  const cases: readonly (readonly [name: string, limits: Partial<Limits>, heldNanoUsd: bigint, settled: Settlement])[] = [
    ['within its hold', { keyLimitNanoUsd: 100n }, 80n, settlement('a', 30n)],
    ['of a key without a limit', {}, 80n, settlement('a', 30n)],
    ['beyond its hold', { keyLimitNanoUsd: 100n }, 20n, settlement('a', 90n)],
    ['of which not all can be billed', { keyLimitNanoUsd: 100n, period: 'Daily' }, 20n, settlement('a', 190n)],
    ['in a quota by the month', { keyLimitNanoUsd: 100n, period: 'Monthly' }, 20n, settlement('a', 20n)],
    ['that ran elsewhere in the end', {}, 20n, settlement('a', 20n, { origin: moved, status: 'ProviderCut' })],
    ['of amounts beyond every number', { keyLimitNanoUsd: huge, accountCreditNanoUsd: huge }, huge - 3n, settlement('a', 2n ** 80n)],
    ['with figures that are no counts', {}, 20n, settlement('a', -4n, { durationMs: Number.NaN, progress: { ...progress(-4n), tokens: { ...progress(0n).tokens, input: -1, output: 2.5 } } })],
  ];
  for (const [name, limits, heldNanoUsd, settled] of cases) {
    it(`of a call ${name} says what a long one does`, async () => {
      const request = holdRequest('a', heldNanoUsd, { limits });
      const told: { result?: unknown; line?: string; kept?: unknown } = {};
      const asked: typeof told = {};
      await withBucket(async (bucket) => {
        const call = bookedCall(request, settled, await hold(bucket, request));
        const reply = await bucket.ask(settleStep(settled, []));
        assert.equal(reply[0], 'settled');
        Object.assign(told, { result: parseRecord(reply), line: fullLine(reply, call), kept: await bucket.ask({ name: 'usage', args: ['a'] }) });
      });
      await withBucket(async (bucket) => {
        const call = bookedCall(request, settled, await hold(bucket, request));
        const reply = await book(bucket, settled, settled.origin === moved ? call.route.word : '');
        assert.equal(reply[0], 'booked');
        const booked = parseBooked(reply, call);
        const result = bookedResult(booked, call);
        Object.assign(asked, { result, line: bookedLine(booked, result, call), kept: await bucket.ask({ name: 'usage', args: ['a'] }) });
      });
      assert.deepEqual(asked, told);
    });
  }

  it('is for the process that holds the call, and once', () => withBucket(async (bucket) => {
    const request = holdRequest('a', 80n);
    await hold(bucket, request);
    assert.deepEqual(await book(bucket, settlement('nobody', 1n)), ['unknown']);
    assert.equal((await book(bucket, settlement('a', 30n)))[0], 'booked');
    const again = await book(bucket, settlement('a', 77n));
    assert.equal(again[0], 'done');
    assert.equal(parseRecord(again).record.costNanoUsd, 30n);
  }));

  it('is not for another one: it is told everything', async () => {
    const place = { server, prefix: `b${randomUUID().slice(0, 8)}`, query: '' };
    await withBucket(async (bucket) => void await hold(bucket, holdRequest('a', 80n)), place);
    await withBucket(async (bucket) => {
      const reply = await book(bucket, settlement('a', 30n));
      assert.equal(reply[0], 'settled');
      assert.equal(parseRecord(reply).record.channel, origin('a').channel);
    }, place);
  });

  it('of a step that fails leaves no book half changed, and no other step', async () => {
    const place = { server, prefix: `b${randomUUID().slice(0, 8)}`, query: '' };
    await withBucket(async (bucket) => {
      const base = bucketBases(parseValkeyUrl(urlOf(place)))[0] ?? assert.fail();
      await hold(bucket, holdRequest('a', 80n));
      await server.command('SET', `${base}s:team-a/team-a`, 'no stream');
      const other = holdRequest('b', 5n);
      const [failed, held] = await Promise.allSettled([book(bucket, settlement('a', 30n)), hold(bucket, other)]);
      assert.equal(failed.status, 'rejected');
      assert.equal(held.status, 'fulfilled');
      assert.deepEqual(await bucket.ask({ name: 'account', args: ['team-a/team-a'] }), ['account', '0', '85']);
      assert.deepEqual((await bucket.ask({ name: 'usage', args: ['a'] }))[0], 'running');
      await server.command('DEL', `${base}s:team-a/team-a`);
      assert.equal((await book(bucket, settlement('a', 30n)))[0], 'booked');
      assert.deepEqual(await bucket.ask({ name: 'account', args: ['team-a/team-a'] }), ['account', '30', '5']);
      // a settled call is kept for a while, a hold as long as it lasts
      assert.ok(Number(await server.command('PTTL', `${base}c:a`)) > 0);
      assert.equal(Number(await server.command('PTTL', `${base}c:b`)), -1);
    }, place);
  });
});
