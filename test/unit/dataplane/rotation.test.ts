/** When a proxy without an operator leaves rotation, and when it is back. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { keepRotation } from '../../../dataplane/rotation.ts';

const QUIET = { info: () => undefined, warn: () => undefined };
const TICK_MS = 3_000;

function setUp(leaveAfterMs = 60_000) {
  const state = { connected: true, others: false, answers: true, noted: 0, asked: 0 };
  const answer = async <T>(value: T): Promise<T> => {
    if (!state.answers) throw new LedgerUnavailable('gone');
    return value;
  };
  let nowMs = 0;
  let tick: (() => void) | undefined;
  const rotation = keepRotation({
    ledger: {
      noteConnected() {
        state.noted++;
        return answer(undefined);
      },
      othersConnected() {
        state.asked++;
        return answer(state.others);
      },
    },
    connected: () => state.connected,
    leaveAfterMs,
    clock: { monotonicMs: () => nowMs },
    every(ms, run) {
      assert.equal(ms, TICK_MS);
      tick = run;
      return () => {
        tick = undefined;
      };
    },
    log: QUIET,
  });
  const pass = async (ms: number): Promise<void> => {
    for (const untilMs = nowMs + ms; nowMs < untilMs;) {
      nowMs += TICK_MS;
      tick?.();
      await new Promise(setImmediate);
    }
  };
  return { rotation, state, pass };
}

describe('a proxy', () => {
  it('notes itself while it is connected, until it is stopped', async () => {
    const { rotation, state, pass } = setUp();
    await pass(30_000);
    assert.deepEqual([state.noted, state.asked, rotation.left], [10, 0, false]);
    rotation.stop();
    await pass(30_000);
    assert.equal(state.noted, 10);
  });

  it('leaves rotation when others have been connected for a minute while it was not, and is back at once', async () => {
    const { rotation, state, pass } = setUp();
    state.connected = false;
    state.others = true;
    await pass(60_000);
    assert.equal(rotation.left, false);
    await pass(6_000);
    assert.equal(rotation.left, true);
    assert.equal(state.noted, 0);
    state.connected = true;
    assert.equal(rotation.left, false);
  });

  it('stays while nobody is connected, however long, and for a minute after others are', async () => {
    const { rotation, state, pass } = setUp();
    state.connected = false;
    await pass(3_600_000);
    assert.equal(rotation.left, false);
    state.others = true; // the operators are back, and this proxy is the last to reconnect
    await pass(45_000);
    assert.equal(rotation.left, false);
    await pass(30_000);
    assert.equal(rotation.left, true);
    state.others = false; // they are cut off too
    await pass(3_000);
    assert.equal(rotation.left, false);
  });

  it('is back while the ledger does not answer, but not for one failure', async () => {
    const { rotation, state, pass } = setUp();
    state.connected = false;
    state.others = true;
    await pass(66_000);
    state.answers = false;
    await pass(6_000);
    assert.equal(rotation.left, true);
    await pass(12_000);
    assert.equal(rotation.left, false);
    state.answers = true;
    await pass(45_000);
    assert.equal(rotation.left, false, 'the minute begins anew');
    await pass(30_000);
    assert.equal(rotation.left, true);
  });

  it('stays if it is told so, or if its ledger is its own', async () => {
    const { rotation, state, pass } = setUp(0);
    state.connected = false;
    state.others = true;
    await pass(600_000);
    assert.deepEqual([rotation.left, state.asked], [false, 0]);
    const alone = keepRotation({
      ledger: {},
      connected: () => false,
      leaveAfterMs: 1,
      clock: { monotonicMs: () => 0 },
      every: () => assert.fail('there is nothing to look at'),
      log: QUIET,
    });
    assert.equal(alone.left, false);
    alone.stop();
  });
});
