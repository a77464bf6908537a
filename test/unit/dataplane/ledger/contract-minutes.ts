/** The contract of limits by the minute. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { CountLimit, MinuteMeasure } from '../../../../dataplane/ledger/ledger.ts';
import { amountOf, NO_TOKENS_LOAD, NOTHING_CONSUMED, REQUEST_CONSUMED } from '../../../../dataplane/ledger/load.ts';
import { brief, holdRequest, progress, settlement, slot } from './calls.ts';
import type { TestClock } from './calls.ts';
import { HELD, SHORT } from './contract-scenario.ts';
import type { AddScenario } from './contract-scenario.ts';

const MINUTE_MS = 60_000;

function perMinute(measure: MinuteMeasure, amount: number, scope: CountLimit['scope'] = 'Key'): CountLimit {
  return { scope, id: `${scope.toLowerCase()}/limited/one`, measure, amount };
}

/** At the beginning of a second, so that what leaves a window and when are round figures. */
function atSecond(clock: TestClock): void {
  clock.nowMs = Math.ceil(clock.nowMs / 1000) * 1000;
}

export function minuteScenarios(scenario: AddScenario): void {
  scenario('as many requests as a minute allows, and again when the first has left it', async ({ ledger }, clock) => {
    atSecond(clock);
    const limit = perMinute('Requests', 2);
    assert.deepEqual(await ledger.take('a', [limit], NO_TOKENS_LOAD), {
      outcome: 'Taken',
      states: [{ limit, left: 1, resetMs: 61_000 }],
    });
    clock.nowMs += 10_000;
    assert.deepEqual(await ledger.take('b', [limit], NO_TOKENS_LOAD), {
      outcome: 'Taken',
      states: [{ limit, left: 0, resetMs: 61_000 }],
    });
    clock.nowMs += 500;
    const full = { outcome: 'Full', full: limit, left: 0, retryMs: 50_500 };
    assert.deepEqual(await ledger.take('c', [limit], NO_TOKENS_LOAD), full);
    clock.nowMs += full.retryMs - 1;
    assert.equal((await ledger.take('c', [limit], NO_TOKENS_LOAD)).outcome, 'Full');
    clock.nowMs += 1;
    assert.equal((await ledger.take('c', [limit], NO_TOKENS_LOAD)).outcome, 'Taken');
    assert.equal((await ledger.take('d', [limit], NO_TOKENS_LOAD)).outcome, 'Full');
  });

  scenario('requests that have ended count until their minute is over', async ({ ledger }, clock) => {
    atSecond(clock);
    const limit = perMinute('Requests', 1);
    await ledger.take('sent', [limit], NO_TOKENS_LOAD);
    ledger.release('sent', REQUEST_CONSUMED);
    assert.equal((await ledger.take('next', [limit], NO_TOKENS_LOAD)).outcome, 'Full');
    clock.nowMs += MINUTE_MS + 1000;
    assert.equal((await ledger.take('next', [limit], NO_TOKENS_LOAD)).outcome, 'Taken');
  });

  scenario('a call that was not sent gives back what it took', async ({ ledger }) => {
    const limits = [perMinute('Requests', 1), perMinute('OutputTokens', 100, 'Account')];
    await ledger.take('a', limits, { inputTokens: 0, outputTokens: 80 });
    ledger.release('a', NOTHING_CONSUMED);
    assert.equal((await ledger.take('b', limits, { inputTokens: 0, outputTokens: 100 })).outcome, 'Taken');
  });

  scenario('all or none: a refused call uses nothing of any limit', async ({ ledger }) => {
    const [requests, tokens] = [perMinute('Requests', 5), perMinute('InputTokens', 100, 'Account')];
    const place = slot('Channel', 'r/c', 9);
    await ledger.take('a', [tokens], { inputTokens: 60, outputTokens: 0 });
    const refused = await ledger.take('b', [place, requests, tokens], { inputTokens: 41, outputTokens: 0 });
    assert.deepEqual([refused.outcome, refused.outcome === 'Full' && refused.full], ['Full', tokens]);
    assert.equal(ledger.gauges().slots.Channel, 0);
    const taken = await ledger.take('c', [requests, tokens], { inputTokens: 40, outputTokens: 0 });
    assert.deepEqual(taken.outcome === 'Taken' && taken.states?.map(({ left }) => left), [4, 0]);
  });

  scenario('a settlement corrects tokens to what was used, in both directions', async ({ ledger }) => {
    const limits = [perMinute('InputTokens', 1000), perMinute('OutputTokens', 1000)];
    const left = async (callId: string): Promise<unknown> => {
      const result = await ledger.take(callId, limits, NO_TOKENS_LOAD);
      return result.outcome === 'Taken' && result.states?.map((state) => state.left);
    };
    await ledger.take('a', limits, { inputTokens: 100, outputTokens: 900 });
    await ledger.admit(holdRequest('a', 1n));
    assert.deepEqual(await left('between'), [900, 100]);
    const tokens = { input: 250, cached: 5000, cacheWrite5m: 20, cacheWrite1h: 30, output: 40 };
    await ledger.settle(settlement('a', 1n, { progress: progress(1n, { tokens }) }));
    assert.deepEqual(await left('after'), [700, 960]);
  });

  scenario('a call above the whole limit is admitted alone, and counts in full', async ({ ledger }, clock) => {
    atSecond(clock);
    const limits = [perMinute('OutputTokens', 100)];
    assert.equal((await ledger.take('large', limits, { inputTokens: 0, outputTokens: 5000 })).outcome, 'Taken');
    assert.equal((await ledger.take('small', limits, { inputTokens: 0, outputTokens: 1 })).outcome, 'Full');
    await ledger.admit(holdRequest('large', 1n));
    const tokens = { input: 0, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 130 };
    await ledger.settle(settlement('large', 1n, { progress: progress(1n, { tokens }) }));
    assert.equal((await ledger.take('small', limits, { inputTokens: 0, outputTokens: 1 })).outcome, 'Full');
    assert.equal((await ledger.take('none', limits, NO_TOKENS_LOAD)).outcome, 'Taken');
    clock.nowMs += MINUTE_MS + 1000;
    assert.equal((await ledger.take('small', limits, { inputTokens: 0, outputTokens: 100 })).outcome, 'Taken');
  });

  scenario('a call that ends after its minute corrects nothing that counts', async ({ ledger }, clock) => {
    atSecond(clock);
    const limits = [perMinute('OutputTokens', 100)];
    await ledger.take('long', limits, { inputTokens: 0, outputTokens: 100 });
    clock.nowMs += 2 * MINUTE_MS;
    await ledger.take('new', limits, { inputTokens: 0, outputTokens: 30 });
    ledger.release('long', { requests: 1, inputTokens: 0, outputTokens: 100_000 });
    const taken = await ledger.take('other', limits, { inputTokens: 0, outputTokens: 70 });
    assert.deepEqual(taken.outcome === 'Taken' && taken.states?.map(({ left }) => left), [0]);
  });

  scenario('another channel after a failure counts there, and the first keeps the request', async ({ ledger }) => {
    const [first, second] = ['first', 'second'].map((id): CountLimit => ({
      scope: 'Channel',
      id: `channel/r/${id}`,
      measure: 'Requests',
      amount: 1,
    }));
    assert.ok(first && second);
    await ledger.take('a', [perMinute('Requests', 1), first], NO_TOKENS_LOAD);
    ledger.release('a', REQUEST_CONSUMED, ['Group', 'Channel']);
    assert.equal((await ledger.take('a', [perMinute('Requests', 1), second], NO_TOKENS_LOAD)).outcome, 'Taken');
    assert.equal((await ledger.take('b', [first], NO_TOKENS_LOAD)).outcome, 'Full');
  });

  scenario('limits and money in one step: neither without the other', async ({ ledger }) => {
    const limit = perMinute('Requests', 1, 'Account');
    const poor = holdRequest('poor', 50n, { limits: { keyLimitNanoUsd: 10n }, counts: [limit] });
    assert.deepEqual(brief(await ledger.admit(poor)), SHORT('Key', 10n));
    const { states, ...held } = (await ledger.admit(holdRequest('a', 5n, { counts: [limit] }))) as {
      states: readonly { left: number }[];
    };
    assert.deepEqual(held, HELD(5n));
    assert.deepEqual(
      states.map(({ left }) => left),
      [0],
    );
    const refused = await ledger.admit(holdRequest('b', 5n, { counts: [limit] }));
    assert.equal(refused.outcome, 'Full');
    assert.equal(ledger.gauges().heldNanoUsd, 5n);
  });

  scenario('any 60 seconds have at most the limit, and as much as fits is granted', async ({ ledger }, clock) => {
    const [history] = fc.sample(
      fc.array(fc.record({ tokens: fc.nat({ max: 60 }), used: fc.nat({ max: 60 }), passMs: fc.nat({ max: 9000 }) }), {
        minLength: 150,
        maxLength: 150,
      }),
      { numRuns: 1, seed: 7 },
    );
    assert.ok(history);
    const limit = perMinute('InputTokens', 100);
    const counted: { readonly second: number; readonly atMs: number; amount: number }[] = [];
    let [granted, refused] = [0, 0];
    for (const [n, { tokens, used, passMs }] of history.entries()) {
      clock.nowMs += passMs;
      const second = Math.floor(clock.nowMs / 1000);
      const load = { inputTokens: tokens, outputTokens: 0 };
      const before = counted.filter((each) => each.second + 60 >= second).reduce((sum, { amount }) => sum + amount, 0);
      const { outcome } = await ledger.take(`call-${n}`, [limit], load);
      const fits = tokens === 0 || before + amountOf(limit, load) <= limit.amount;
      assert.equal(outcome, fits ? 'Taken' : 'Full', `${n}: ${before} and ${tokens}`);
      if (!fits) {
        refused++;
        continue;
      }
      granted++;
      const mine = { second, atMs: clock.nowMs, amount: tokens };
      counted.push(mine);
      const inMinute = counted.filter(({ atMs }) => atMs > clock.nowMs - MINUTE_MS);
      assert.ok(inMinute.reduce((sum, { amount }) => sum + amount, 0) <= limit.amount);
      // less than it took, so that the sum above holds for what was used as well
      const consumed = Math.min(used, tokens);
      ledger.release(`call-${n}`, { requests: 1, inputTokens: consumed, outputTokens: 0 });
      mine.amount = consumed;
    }
    assert.ok(granted > 30 && refused > 10, `${granted} and ${refused}`);
  });
}
