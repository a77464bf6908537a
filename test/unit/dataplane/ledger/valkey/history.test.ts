/**
 * Random histories of several processes on one server, compared with the model of a single one: replies and balances
 * equal those of the calls in their order. Processes die, are reaped, and return. A store that loses its balances at the
 * end has the same ones again.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, describe, test } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { openValkeyLedger } from '../../../../../dataplane/ledger/valkey.ts';
import { loseHolds } from '../../../../support/lose-holds.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { brief, origin, progress, settlement, testClock } from '../calls.ts';
import { ACCOUNTS, billOf, chargeFor, histories, KEYS, HistoryState, TIME_ZONES } from '../histories.ts';
import type { Step } from '../histories.ts';
import { assertSpending, createModel, modelConfirm, modelFinish, modelHold, modelSettle } from '../model.ts';
import { declareDead, LONG_TIMEOUT, urlOf } from './subject.ts';
import type { StoreLocation } from './subject.ts';

const FLEET = 3;
const SLOTS = 7;

interface Member {
  readonly ledger: Ledger;
  readonly instance: string;
}

class History {
  readonly #place: StoreLocation;
  readonly #clock = testClock();
  readonly #world = new HistoryState();
  readonly #model = createModel();
  readonly #members: Member[] = [];
  /** The process of a slot's call. */
  readonly #owners = new Map<string, number>();
  readonly #settled = new Map<string, bigint>();
  #turn = 0;

  constructor(place: StoreLocation) {
    this.#place = place;
  }

  async open(): Promise<void> {
    while (this.#members.length < FLEET) this.#members.push(await this.#join());
  }

  async #join(): Promise<Member> {
    const instance = randomUUID();
    return {
      instance,
      ledger: await openValkeyLedger({
        url: urlOf(this.#place),
        over: { ...LONG_TIMEOUT, instance, clock: () => this.#clock.nowMs },
      }),
    };
  }

  #member(index: number): Member {
    const member = this.#members[index % FLEET];
    assert.ok(member);
    return member;
  }

  async take(step: Step): Promise<void> {
    this.#turn++;
    switch (step.kind) {
      case 'hold':
        return this.#hold(step);
      case 'progress':
        return this.#progress(step.slot, step.cost);
      case 'settle':
        return this.#settle(step.slot, step.cost);
      case 'finish':
        return this.#finish(step.slot, step.cost);
      case 'settleAgain':
        return this.#settleAgain(step.slot);
      case 'crash':
        return this.#crash(this.#turn % FLEET);
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

  /** A call stays with its process. */
  async #hold(step: Extract<Step, { kind: 'hold' }>): Promise<void> {
    const request = this.#world.request(step);
    const { callId } = request.origin;
    const owner = this.#owners.get(callId) ?? this.#turn % FLEET;
    const expected = modelHold(this.#model, request, this.#world.nowMs);
    assert.deepEqual(brief(await this.#member(owner).ledger.admit(request)), expected);
    modelConfirm(this.#model, callId);
    if (expected.outcome === 'Held') this.#owners.set(callId, owner);
  }

  async #progress(slot: number, cost: bigint): Promise<void> {
    const callId = this.#world.callId(slot);
    const call = this.#model.calls.get(callId);
    if (!call) return;
    await this.#member(this.#owners.get(callId) ?? 0).ledger.recordProgress(new Map([[callId, progress(cost)]]));
    call.progress = cost;
  }

  async #settle(slot: number, cost: bigint): Promise<void> {
    const callId = this.#world.callId(slot);
    if (!this.#model.calls.has(callId)) return;
    const { record } = await this.#member(this.#owners.get(callId) ?? 0).ledger.settle(chargeFor(callId, cost));
    const expected = modelSettle(this.#model, callId, cost);
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd], [expected?.billed, expected?.unbilled]);
    this.#settled.set(callId, record.costNanoUsd);
    this.#world.endCall(slot);
  }

  /** By any process, and again by others. */
  async #finish(slot: number, cost: bigint): Promise<void> {
    const callId = this.#world.previousCallId(slot);
    const expected = modelFinish(this.#model, callId, cost);
    const { keyUid = '', account = '' } = this.#model.calls.get(callId) ?? {};
    if (!expected) return;
    const ledger = this.#member(this.#turn).ledger;
    const job = { jobId: callId, origin: origin(callId, { keyUid, account }) };
    await ledger.finishJob(job, 'Completed', billOf(cost));
    const record = await ledger.readUsage(keyUid, callId);
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [expected.billed, expected.unbilled]);
    this.#settled.set(callId, expected.billed);
  }

  /** By any process, at any later time. */
  async #settleAgain(slot: number): Promise<void> {
    const callId = this.#world.previousCallId(slot);
    const first = this.#settled.get(callId);
    if (first === undefined) return;
    const { account, keyUid } = this.#model.calls.get(callId) ?? {};
    const { record } = await this.#member(this.#turn).ledger.settle(
      settlement(callId, 999n, { origin: origin(callId, { account: account ?? '', keyUid: keyUid ?? '' }) }),
    );
    assert.equal(record.costNanoUsd, first);
  }

  /** One process dies, and the next one finds that: its calls are settled in order of their ids. */
  async #crash(index: number): Promise<void> {
    const { ledger, instance } = this.#member(index);
    await ledger.close();
    await declareDead(this.#place, instance, ACCOUNTS);
    const left = [...this.#model.calls]
      .filter(([id, { settled }]) => !settled && this.#owners.get(id) === index)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [callId, call] of left) modelSettle(this.#model, callId, call.progress, true);
    this.#members[index] = await this.#join();
    for (const [callId, call] of left) {
      const record = await this.#member(this.#turn).ledger.readUsage(call.keyUid, callId);
      assert.deepEqual(
        [record?.status, record?.costNanoUsd, record?.unbilledNanoUsd],
        ['Abandoned', call.settled?.billed, call.settled?.unbilled],
      );
    }
    // another test covers late settlements of these
    for (let slot = 0; slot < SLOTS; slot++)
      if (left.some(([id]) => id === this.#world.callId(slot))) this.#world.endCall(slot);
  }

  async assertAgrees(): Promise<void> {
    for (const [index, { ledger }] of this.#members.entries()) {
      const timeZones = TIME_ZONES.slice(index, index + 2);
      await assertSpending(ledger, this.#model, { nowMs: this.#world.nowMs, timeZones });
    }
  }

  /** The store loses all balances, but not their copies. */
  async loseBalances(): Promise<void> {
    const { server, prefix } = this.#place;
    const base = `{${prefix}0}:`;
    const names = [...KEYS.map((key) => `${base}k:${key}`), ...ACCOUNTS.map((account) => `${base}a:${account}`)];
    const lost = await server.command('DEL', ...names);
    await this.assertAgrees();
    assert.equal(await server.command('EXISTS', ...names), lost);
  }

  /** The store loses all holds, but not their copies. Returns their number. */
  loseHolds(): Promise<number> {
    return loseHolds(this.#place.server, `{${this.#place.prefix}0}:`);
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map(({ ledger }) => ledger.close()));
  }
}

describe.skipIf(valkey.skip)('random histories on Valkey', async () => {
  if (valkey.skip) return;
  const server = await startValkey();
  afterAll(() => server[Symbol.asyncDispose]());

  test('agree with the model', async () => {
    let lostHolds = 0;
    await fc.assert(
      fc.asyncProperty(histories, fc.boolean(), async (steps, losesHolds) => {
        const history = new History({ server, prefix: `h${randomUUID().slice(0, 8)}`, query: '' });
        await history.open();
        try {
          for (const step of steps) {
            await history.take(step);
            if (losesHolds) lostHolds += await history.loseHolds();
          }
          await history.assertAgrees();
          await history.loseBalances();
        } finally {
          await history.close();
        }
      }),
      { numRuns: 40 },
    );
    assert.ok(lostHolds > 0, 'some histories lose holds');
  });
});
