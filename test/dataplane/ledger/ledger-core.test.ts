/**
 * Histories in memory, against the model: with grants that wait for their commit, and with a disk that is written at times.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createBooks, noChanges } from '#ledger/books.ts';
import type { Books } from '#ledger/books.ts';
import { ACCOUNT_COLUMNS, encodeChanges, HOLD_COLUMNS, KEY_COLUMNS, PROGRESS_COLUMNS, restoreBooks } from '#ledger/embedded-rows.ts';
import { confirmHold, placeHold, readKeySpending, recordProgress, settleCall, withdrawHold } from '#ledger/ledger-core.ts';
import type { PendingHold } from '#ledger/ledger-core.ts';
import type { Value } from '#ledger/row-reader.ts';
import { progress, settlement } from './calls.ts';
import { ACCOUNTS, histories, KEYS, PERIODS, World } from './histories.ts';
import type { Step } from './histories.ts';
import { accountSums, createModel, keySums, modelConfirm, modelCrash, modelHold, modelSettle, modelSpending, modelWithdraw } from './model.ts';
import type { Model } from './model.ts';

/** A disk: rows by their first column. */
class Disk {
  #tables = { keys: new Map<Value, Value[]>(), accounts: new Map<Value, Value[]>(), holds: new Map<Value, Value[]>() };

  write(books: Books, nowMs: number): void {
    const batch = encodeChanges(books, books.changes, { whole: false, nowMs });
    books.changes = noChanges();
    for (const row of chunk(batch.keys, KEY_COLUMNS.length)) this.#tables.keys.set(row[0]!, row);
    for (const row of chunk(batch.accounts, ACCOUNT_COLUMNS.length)) this.#tables.accounts.set(row[0]!, row);
    for (const row of chunk(batch.holds, HOLD_COLUMNS.length)) this.#tables.holds.set(row[0]!, row);
    for (const row of chunk(batch.progress, PROGRESS_COLUMNS.length + 1)) {
      const hold = this.#tables.holds.get(row.at(-1)!);
      assert.ok(hold, 'progress of a hold that is on disk');
      PROGRESS_COLUMNS.forEach((column, index) => {
        hold[HOLD_COLUMNS.indexOf(column)] = row[index]!;
      });
    }
    for (const callId of batch.gone) this.#tables.holds.delete(callId);
  }

  read(nowMs: number): Books {
    const books = createBooks();
    const rows = (table: Map<Value, Value[]>): Value[][] => [...table.values()].map((row) => row.map((value) => (typeof value === 'number' ? BigInt(value) : value)));
    const { keys, accounts, holds } = this.#tables;
    restoreBooks(books, { keys: rows(keys), accounts: rows(accounts), holds: rows(holds).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)) }, nowMs);
    return books;
  }

  get holds(): number {
    return this.#tables.holds.size;
  }
}

function chunk(values: readonly Value[], width: number): Value[][] {
  assert.equal(values.length % width, 0);
  return Array.from({ length: values.length / width }, (_, n) => values.slice(n * width, (n + 1) * width));
}

class History {
  readonly world = new World();
  readonly disk = new Disk();
  books = createBooks();
  model = createModel();
  readonly #pending = new Map<string, PendingHold>();
  #onDisk: Model = createModel();

  take(step: Step): void {
    switch (step.kind) {
      case 'hold': return this.#hold(step);
      case 'confirm': return this.#decide(step.slot, confirmHold, modelConfirm);
      case 'withdraw': return this.#decide(step.slot, withdrawHold, modelWithdraw);
      case 'progress': return this.#progress(step);
      case 'settle': return this.#settle(step.slot, step.cost);
      case 'settleAgain': return this.#settleAgain(step.slot);
      case 'editKey':
      case 'editAccount': return this.world.edit(step);
      case 'pass':
      case 'setBack': return this.world.turnClock(step);
      case 'flush': return this.#flush();
      case 'crash': return this.#crash();
    }
  }

  #hold(step: Extract<Step, { kind: 'hold' }>): void {
    const callId = this.world.callId(step.slot);
    if (this.#pending.has(callId)) return;
    const request = this.world.request(step);
    const expected = modelHold(this.model, request, this.world.nowMs);
    const { result, pending } = placeHold(this.books, request, this.world.nowMs);
    assert.deepEqual(result, expected);
    if (!pending) return;
    this.#pending.set(callId, pending);
    this.#assertWithinLimits(request);
  }

  /** The first promise of all, by the model's sums, as if the grant were confirmed already. */
  #assertWithinLimits({ origin, limits }: ReturnType<World['request']>): void {
    const confirmed = structuredClone(this.model);
    modelConfirm(confirmed, origin.callId);
    const { admittedMs } = confirmed.calls.get(origin.callId)!;
    const key = keySums(confirmed, origin.keyUid, limits.period, admittedMs);
    const account = accountSums(confirmed, origin.account);
    if (limits.keyLimitNanoUsd !== null) assert.ok(key.spent + key.held <= limits.keyLimitNanoUsd);
    assert.ok(account.spent + account.held <= limits.accountCreditNanoUsd);
  }

  #decide(slot: number, inBooks: typeof confirmHold, inModel: typeof modelConfirm): void {
    const callId = this.world.callId(slot);
    const pending = this.#pending.get(callId);
    if (!pending) return;
    this.#pending.delete(callId);
    inBooks(this.books, pending);
    inModel(this.model, callId);
  }

  #progress({ slot, cost }: Extract<Step, { kind: 'progress' | 'settle' | 'settleAgain' }>): void {
    const callId = this.world.callId(slot);
    recordProgress(this.books, new Map([[callId, progress(cost)]]), this.world.nowMs);
    const call = this.model.calls.get(callId);
    if (call) call.progress = cost;
  }

  #settle(slot: number, cost: bigint): void {
    const callId = this.world.callId(slot);
    this.#pending.delete(callId);
    const settled = settleCall(this.books, settlement(callId, cost), this.world.nowMs);
    const expected = modelSettle(this.model, callId, cost);
    assert.deepEqual([settled?.record.costNanoUsd, settled?.record.unbilledNanoUsd], [expected?.billed, expected?.unbilled]);
    if (!settled) return;
    this.world.endCall(slot);
  }

  #settleAgain(slot: number): void {
    const callId = this.world.previousCallId(slot);
    const again = settleCall(this.books, settlement(callId, 999n), this.world.nowMs);
    const first = this.model.calls.get(callId)?.settled;
    // what a dead process settled is answered from the file
    if (again) assert.equal(again.record.costNanoUsd, first?.billed);
  }

  #flush(): void {
    this.disk.write(this.books, this.world.nowMs);
    this.#onDisk = structuredClone(this.model);
  }

  #crash(): void {
    const running = [...this.books.holds.values()].map(({ origin }) => origin.callId);
    this.books = this.disk.read(this.world.nowMs);
    this.model = structuredClone(this.#onDisk);
    modelCrash(this.model);
    for (const { origin, progress } of this.books.holds.values())
      settleCall(this.books, { callId: origin.callId, progress, status: 'Abandoned', durationMs: 0 }, this.world.nowMs);
    this.#pending.clear();
    this.#flush();
    assert.equal(this.disk.holds, 0);
    for (let slot = 0; slot < 7; slot++)
      if (running.includes(this.world.callId(slot)) || this.model.calls.has(this.world.callId(slot))) this.world.endCall(slot);
  }

  assertAgrees(): void {
    const { nowMs } = this.world;
    for (const key of KEYS) {
      for (const period of PERIODS) {
        const { spentNanoUsd, heldNanoUsd, totalSpentNanoUsd } = readKeySpending(this.books, key, { period, nowMs });
        assert.deepEqual({ spentNanoUsd, heldNanoUsd, totalSpentNanoUsd }, modelSpending(this.model, key, period, nowMs));
      }
    }
    for (const account of ACCOUNTS) {
      const book = this.books.accounts.get(account);
      assert.deepEqual({ spent: book?.spentNanoUsd ?? 0n, held: book?.heldNanoUsd ?? 0n }, accountSums(this.model, account));
    }
  }

  /** Everything ends: nothing may stay held, and no window beyond the few that are kept. */
  finish(): void {
    for (let slot = 0; slot < 7; slot++) this.#settle(slot, 1n);
    this.assertAgrees();
    this.#flush();
    assert.deepEqual([this.books.holds.size, this.books.heldNanoUsd, this.disk.holds], [0, 0n, 0]);
    for (const { day, month, total, past } of this.books.keys.values()) {
      assert.deepEqual([day.holds, month.holds, total.heldNanoUsd], [0, 0, 0n]);
      assert.ok(past.length <= 4 && past.every(({ holds, heldNanoUsd }) => holds === 0 && heldNanoUsd === 0n));
    }
  }
}

test('every history ends as the model says, to the nano, at every step', () => {
  fc.assert(fc.property(histories, (steps) => {
    const history = new History();
    for (const step of steps) {
      history.take(step);
      history.assertAgrees();
    }
    history.finish();
  }), { numRuns: 400 });
});
