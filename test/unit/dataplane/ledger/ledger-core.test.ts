/**
 * Random histories in memory, compared with the model: with holds that wait for their commit, and with a disk that is
 * written at times.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { createBalances } from '../../../../dataplane/ledger/balances.ts';
import type { Balances, SettledCall } from '../../../../dataplane/ledger/balances.ts';
import { Changes } from '../../../../dataplane/ledger/embedded/changes.ts';
import { restoreBalances } from '../../../../dataplane/ledger/embedded/restore.ts';
import {
  accountRow,
  decodeCall,
  encodeHold,
  encodeSettlement,
  keyRow,
} from '../../../../dataplane/ledger/embedded/rows.ts';
import {
  confirmHold,
  placeHold,
  readAccountSpending,
  readKeySpending,
  recordProgress,
  settleCall,
  withdrawHold,
} from '../../../../dataplane/ledger/ledger-core.ts';
import type { PendingHold } from '../../../../dataplane/ledger/ledger-core.ts';
import type { LedgerReader } from '#ledger/spending.ts';
import { periodIn } from '#ledger/periods.ts';
import type { Row, Value } from '#usage/rows.ts';
import { brief, progress, settlement, spendingOf } from './calls.ts';
import { histories, HistoryState, TIME_ZONES } from './histories.ts';
import type { Step } from './histories.ts';
import {
  accountSums,
  assertSpending,
  createModel,
  keySums,
  modelConfirm,
  modelCrash,
  modelHold,
  modelSettle,
  modelWithdraw,
} from './model.ts';
import type { Model } from './model.ts';

/** The rows of a file, in memory. Settled calls are filed at every third flush. */
class Disk {
  readonly #keys = new Map<string, Row>();
  readonly #accounts = new Map<string, Row>();
  readonly #calls = new Map<string, Row>();
  readonly #records = new Map<string, SettledCall>();
  #balances = createBalances();
  #changes = new Changes(this.#balances, () => undefined);
  #flushes = 0;

  /** Connects the balances to this disk. */
  attach(balances: Balances): void {
    this.#balances = balances;
    this.#changes = new Changes(balances, (callId) => this.#records.get(callId));
    Object.assign(balances, { log: this.#changes, recent: this.#changes });
  }

  flush(): void {
    const { holds, settlements, unfiled } = this.#changes;
    const id = BigInt(++this.#flushes);
    for (const [callId, hold] of holds) {
      if (hold) this.#calls.set(callId, [id, encodeHold(hold), null]);
      else this.#calls.delete(callId);
    }
    for (const [callId, call] of settlements) this.#calls.set(callId, [id, null, encodeSettlement(call)]);
    const isFiling = this.#flushes % 3 === 0 || this.#changes.needsFiling;
    if (isFiling) {
      for (const [callId, call] of [...unfiled, ...settlements]) {
        this.#calls.delete(callId);
        this.#records.set(callId, call);
      }
      for (const key of this.#balances.changedKeys) this.#keys.set(key.uid, asRead(keyRow(key)));
      for (const account of this.#balances.changedAccounts) this.#accounts.set(account.id, asRead(accountRow(account)));
    }
    this.#changes.written(isFiling);
  }

  /** Drops unflushed changes. */
  crash(nowMs: number): Balances {
    const balances = this.read(nowMs);
    this.attach(balances);
    for (const row of this.#calls.values()) {
      const call = decodeCall(row);
      if ('settled' in call) this.#changes.restored(call.settled);
    }
    return balances;
  }

  read(nowMs: number): Balances {
    const balances = createBalances();
    const rowsOf = (rows: Map<string, Row>): Row[] => [...rows.values()];
    const stored = { keys: rowsOf(this.#keys), accounts: rowsOf(this.#accounts), calls: rowsOf(this.#calls), jobs: [] };
    restoreBalances(balances, stored, nowMs);
    return balances;
  }
}

/** A row as SQLite returns it. */
function asRead(row: readonly Value[]): Row {
  return row.map((value) => (typeof value === 'number' ? BigInt(value) : value));
}

class History {
  readonly world = new HistoryState();
  readonly disk = new Disk();
  balances = createBalances();
  model = createModel();
  readonly #pending = new Map<string, PendingHold>();

  constructor() {
    this.disk.attach(this.balances);
  }

  #onDisk: Model = createModel();

  take(step: Step): void {
    switch (step.kind) {
      case 'hold':
        return this.#hold(step);
      case 'confirm':
        return this.#decide(step.slot, confirmHold, modelConfirm);
      case 'withdraw':
        return this.#decide(step.slot, withdrawHold, modelWithdraw);
      case 'progress':
        return this.#progress(step);
      case 'settle':
        return this.#settle(step.slot, step.cost);
      case 'settleAgain':
        return this.#settleAgain(step.slot);
      case 'editKey':
      case 'editAccount':
        return this.world.edit(step);
      case 'pass':
      case 'setBack':
        return this.world.turnClock(step);
      case 'finish':
        return; // the ledgers' own histories have jobs
      case 'flush':
        return this.#flush();
      case 'crash':
        return this.#crash();
    }
  }

  #hold(step: Extract<Step, { kind: 'hold' }>): void {
    const callId = this.world.callId(step.slot);
    if (this.#pending.has(callId)) return;
    const request = this.world.request(step);
    const expected = modelHold(this.model, request, this.world.nowMs);
    const { result, pending } = placeHold(this.balances, request, this.world.nowMs);
    assert.deepEqual(brief(result), expected);
    if (!pending) return;
    this.#pending.set(callId, pending);
    // a call that costs nothing is served whatever has been spent
    if (pending.hold.grantedNanoUsd > 0n) this.#assertWithinLimits(request);
  }

  /** The main guarantee, by the model's sums, as if the hold were confirmed already. */
  #assertWithinLimits({ origin, limits: all }: ReturnType<HistoryState['request']>): void {
    const limits = spendingOf(all);
    const confirmed = structuredClone(this.model);
    modelConfirm(confirmed, origin.callId);
    const { admittedMs } = confirmed.calls.get(origin.callId)!;
    const key = keySums(confirmed, origin.keyUid, limits, admittedMs);
    const account = accountSums(confirmed, origin.account);
    if (limits.keyLimitNanoUsd !== null) assert.ok(key.spent + key.held <= limits.keyLimitNanoUsd);
    assert.ok(account.spent + account.held <= limits.accountCreditNanoUsd);
    for (const { window, timeZone = 'UTC', amountNanoUsd } of limits.accountLimits ?? []) {
      const at = window === 'Total' ? undefined : { window: { kind: window, timeZone }, ms: admittedMs };
      const { spent, held } = accountSums(confirmed, origin.account, at);
      assert.ok(spent + held <= amountNanoUsd);
    }
  }

  #decide(slot: number, inBooks: typeof confirmHold, inModel: typeof modelConfirm): void {
    const callId = this.world.callId(slot);
    const pending = this.#pending.get(callId);
    if (!pending) return;
    this.#pending.delete(callId);
    inBooks(this.balances, pending);
    inModel(this.model, callId);
  }

  #progress({ slot, cost }: Extract<Step, { kind: 'progress' | 'settle' | 'settleAgain' }>): void {
    const callId = this.world.callId(slot);
    recordProgress(this.balances, new Map([[callId, progress(cost)]]), this.world.nowMs);
    const call = this.model.calls.get(callId);
    if (call) call.progress = cost;
  }

  #settle(slot: number, cost: bigint): void {
    const callId = this.world.callId(slot);
    this.#pending.delete(callId);
    const settled = settleCall(this.balances, settlement(callId, cost), this.world.nowMs);
    const expected = modelSettle(this.model, callId, cost);
    assert.deepEqual(
      [settled?.record.costNanoUsd, settled?.record.unbilledNanoUsd],
      [expected?.billed, expected?.unbilled],
    );
    if (!settled) return;
    this.world.endCall(slot);
  }

  #settleAgain(slot: number): void {
    const callId = this.world.previousCallId(slot);
    const again = settleCall(this.balances, settlement(callId, 999n), this.world.nowMs);
    const first = this.model.calls.get(callId)?.settled;
    // a dead process's settlement is answered from the file
    if (again) assert.equal(again.record.costNanoUsd, first?.billed);
  }

  #flush(): void {
    this.disk.flush();
    this.#onDisk = structuredClone(this.model);
  }

  #crash(): void {
    const running = [...this.balances.holds.values()].map(({ origin }) => origin.callId);
    this.balances = this.disk.crash(this.world.nowMs);
    this.model = structuredClone(this.#onDisk);
    modelCrash(this.model);
    const left = [...this.balances.holds.values()].sort((a, b) => (a.origin.callId < b.origin.callId ? -1 : 1));
    for (const { origin, progress } of left)
      settleCall(
        this.balances,
        { callId: origin.callId, progress, status: 'Abandoned', durationMs: 0 },
        this.world.nowMs,
      );
    this.#pending.clear();
    this.#flush();
    assert.equal(this.balances.holds.size, 0);
    for (let slot = 0; slot < 7; slot++)
      if (running.includes(this.world.callId(slot)) || this.model.calls.has(this.world.callId(slot)))
        this.world.endCall(slot);
  }

  async assertAgrees(timeZones = TIME_ZONES): Promise<void> {
    const { nowMs } = this.world;
    const { accounts } = this.balances;
    const reader: LedgerReader = {
      readKey: async (key, period) => readKeySpending(this.balances, key, { ...periodIn(period), nowMs }),
      readAccount: async (account, windows = []) => readAccountSpending(accounts.get(account), windows, nowMs),
    };
    await assertSpending(reader, this.model, { nowMs, timeZones });
  }

  /** Ends everything: nothing may stay held, and no window beyond those that are kept. */
  async finish(): Promise<void> {
    for (let slot = 0; slot < 7; slot++) this.#settle(slot, 1n);
    await this.assertAgrees();
    this.#flush();
    assert.deepEqual([this.balances.holds.size, this.disk.read(this.world.nowMs).holds.size], [0, 0]);
    for (const { day, month, total, past } of this.balances.keys.values()) {
      assert.deepEqual([day.holds, month.holds, total.heldNanoUsd], [0, 0, 0n]);
      assert.ok(past.length <= 4 && past.every(({ holds, heldNanoUsd }) => holds === 0 && heldNanoUsd === 0n));
    }
  }
}

test('every random history agrees with the model, to the nano-dollar, at every step', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const history = new History();
      for (const [index, step] of steps.entries()) {
        history.take(step);
        await history.assertAgrees(TIME_ZONES.slice(index % TIME_ZONES.length).slice(0, 1));
      }
      await history.finish();
    }),
    { numRuns: 300 },
  );
});
