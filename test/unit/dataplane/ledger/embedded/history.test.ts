/**
 * The same histories on the real file, with real crashes: what was acknowledged is what the model has.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { DAY_MS, brief, origin, progress, settlement, testClock } from '../calls.ts';
import type { TestClock } from '../calls.ts';
import type { LedgerUnderTest } from '../contract-scenario.ts';
import { openSubject } from './subject.ts';
import { billOf, chargeFor, histories, HistoryState } from '../histories.ts';
import type { Step } from '../histories.ts';
import {
  assertSpending,
  createModel,
  modelConfirm,
  modelCrash,
  modelFinish,
  modelHold,
  modelSettle,
} from '../model.ts';

class History {
  readonly #clock: TestClock;
  readonly #world = new HistoryState();
  readonly #model = createModel();
  readonly #settled = new Map<string, bigint>();
  #subject: LedgerUnderTest;

  constructor(open: LedgerUnderTest, clock: TestClock) {
    this.#subject = open;
    this.#clock = clock;
  }

  async take(step: Step): Promise<void> {
    const { ledger } = this.#subject;
    switch (step.kind) {
      case 'hold': {
        const request = this.#world.request(step);
        const expected = modelHold(this.#model, request, this.#world.nowMs);
        assert.deepEqual(brief(await ledger.admit(request)), expected);
        modelConfirm(this.#model, request.origin.callId);
        return;
      }
      case 'progress': {
        const callId = this.#world.callId(step.slot);
        await ledger.recordProgress(new Map([[callId, progress(step.cost)]]));
        const call = this.#model.calls.get(callId);
        if (call) call.progress = step.cost;
        return;
      }
      case 'settle':
        return this.#settle(step.slot, step.cost);
      case 'finish':
        return this.#finish(step.slot, step.cost);
      case 'settleAgain': {
        const callId = this.#world.previousCallId(step.slot);
        const first = this.#settled.get(callId);
        if (first !== undefined)
          assert.equal((await ledger.settle(settlement(callId, 999n))).record.costNanoUsd, first);
        return;
      }
      case 'crash':
        return this.#crash();
      case 'editKey':
      case 'editAccount':
        return this.#world.edit(step);
      case 'pass':
      case 'setBack':
        this.#world.turnClock(step);
        this.#clock.nowMs = this.#world.nowMs;
        return;
      case 'confirm':
      case 'withdraw':
      case 'flush':
        return;
    }
  }

  async #settle(slot: number, cost: bigint): Promise<void> {
    const callId = this.#world.callId(slot);
    if (!this.#model.calls.has(callId)) return;
    const { record } = await this.#subject.ledger.settle(chargeFor(callId, cost));
    const expected = modelSettle(this.#model, callId, cost);
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd], [expected?.billed, expected?.unbilled]);
    this.#settled.set(callId, record.costNanoUsd);
    this.#world.endCall(slot);
  }

  async #finish(slot: number, cost: bigint): Promise<void> {
    const callId = this.#world.previousCallId(slot);
    const expected = modelFinish(this.#model, callId, cost);
    const { keyUid = '', account = '' } = this.#model.calls.get(callId) ?? {};
    if (!expected) return;
    const ledger = this.#subject.ledger;
    const job = { jobId: callId, origin: origin(callId, { keyUid, account }) };
    await ledger.finishJob(job, 'Completed', billOf(cost));
    const record = await ledger.readUsage(keyUid, callId);
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [expected.billed, expected.unbilled]);
    this.#settled.set(callId, expected.billed);
  }

  async #crash(): Promise<void> {
    modelCrash(this.#model);
    this.#subject = await this.#subject.crash();
    for (let slot = 0; slot < 7; slot++) {
      const callId = this.#world.callId(slot);
      const call = this.#model.calls.get(callId);
      if (!call) continue;
      const record = await this.#subject.ledger.readUsage(call.keyUid, callId);
      assert.deepEqual(
        [record?.status, record?.costNanoUsd, record?.unbilledNanoUsd],
        ['Abandoned', call.settled?.billed, call.settled?.unbilled],
      );
      this.#settled.set(callId, call.settled?.billed ?? 0n);
      this.#world.endCall(slot);
    }
  }

  async assertAgrees(): Promise<void> {
    const { ledger } = this.#subject;
    await assertSpending(ledger, this.#model, { nowMs: this.#world.nowMs });
  }
}

test('every random history on the file agrees with the model', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const clock = testClock();
      const subject = await openSubject(clock, { retention: { maxAgeMs: 10_000 * DAY_MS } });
      const history = new History(subject, clock);
      try {
        for (const step of steps) await history.take(step);
        await history.assertAgrees();
        await history.take({ kind: 'crash' });
        await history.assertAgrees();
      } finally {
        await subject.close();
      }
    }),
    { numRuns: 20 },
  );
});
