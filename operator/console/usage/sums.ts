/**
 * [P] Sums over columns: by day, key and model at once, in one pass. Amounts are exact 64-bit integers of nano-USD, which hold nine
 * billion dollars; tokens and calls are whole numbers.
 */
import type { Names, RecordColumns } from './columns.ts';
import { rowsAskedFor } from './rows.ts';
import type { CallQuery, SpendingSum, SpendingSums } from './usage.ts';

const DAY_MS = 86_400_000;
const NO_CALLS: SpendingSum = { calls: 0, costNanoUsd: 0n, inputTokens: 0, outputTokens: 0 };

/** Sums of many things, each with its number. */
class Cells {
  #calls = new Float64Array(64);
  #cost = new BigInt64Array(64);
  #input = new Float64Array(64);
  #output = new Float64Array(64);

  add(cell: number, columns: RecordColumns, row: number): void {
    if (cell >= this.#calls.length) this.#grow(cell + 1);
    this.#calls[cell] = (this.#calls[cell] ?? 0) + 1;
    this.#cost[cell] = BigInt.asIntN(64, (this.#cost[cell] ?? 0n) + (columns.cost[row] ?? 0n));
    this.#input[cell] = (this.#input[cell] ?? 0) + (columns.input[row] ?? 0);
    this.#output[cell] = (this.#output[cell] ?? 0) + (columns.output[row] ?? 0);
  }

  /** Of those that something was added to, in the order of their numbers. */
  *sums(): Generator<readonly [cell: number, sum: SpendingSum]> {
    for (let cell = 0; cell < this.#calls.length; cell++) {
      const [calls = 0, costNanoUsd = 0n, inputTokens = 0, outputTokens = 0] = [this.#calls[cell], this.#cost[cell], this.#input[cell], this.#output[cell]];
      if (calls > 0) yield [cell, { calls, costNanoUsd, inputTokens, outputTokens }];
    }
  }

  #grow(needed: number): void {
    const size = Math.max(needed, this.#calls.length * 2);
    const [calls, cost, input, output] = [new Float64Array(size), new BigInt64Array(size), new Float64Array(size), new Float64Array(size)];
    calls.set(this.#calls);
    cost.set(this.#cost);
    input.set(this.#input);
    output.set(this.#output);
    [this.#calls, this.#cost, this.#input, this.#output] = [calls, cost, input, output];
  }
}

interface Summing {
  /** The next part of the rows; false: all are added. */
  step(): boolean;
  result(): SpendingSums;
}

/** A step adds `rowsAtOnce` rows at most; columns must not change between steps. */
export function sumColumns(all: readonly RecordColumns[], query: CallQuery, rowsAtOnce: number): Summing {
  const spans = all.map((columns) => ({ columns, ...rowsAskedFor(columns, query) })).filter(({ begin, end }) => begin < end);
  const firstDay = Math.min(...spans.map(({ columns, begin }) => dayOf(columns, begin)));
  const byDay = new Cells();
  const [byKey, byModel] = [new Map<string, SpendingSum>(), new Map<string, SpendingSum>()];
  let [ofKeys, ofModels] = [new Cells(), new Cells()]; // numbered as in the columns at hand
  let [index, at] = [0, spans[0]?.begin ?? 0];

  function addRows(columns: RecordColumns, end: number, wants: (row: number) => boolean): void {
    for (; at < end; at++) {
      const row = columns.order[at] ?? 0;
      if (!wants(row)) continue;
      byDay.add(dayOf(columns, at) - firstDay, columns, row);
      ofKeys.add(columns.key[row] ?? 0, columns, row);
      ofModels.add(columns.model[row] ?? 0, columns, row);
    }
  }

  function endSpan({ keys, models }: RecordColumns): void {
    addNamed(byKey, ofKeys, keys);
    addNamed(byModel, ofModels, models);
    [ofKeys, ofModels] = [new Cells(), new Cells()];
    at = spans[++index]?.begin ?? 0;
  }

  return {
    step() {
      let left = rowsAtOnce;
      for (let span = spans[index]; span && left > 0; span = spans[index]) {
        const before = at;
        addRows(span.columns, Math.min(span.end, at + left), span.wants);
        left -= at - before;
        if (at < span.end) break;
        endSpan(span.columns);
      }
      return index < spans.length;
    },
    result: () => ({
      all: total(byDay),
      byDay: new Map([...byDay.sums()].map(([day, sum]) => [new Date((firstDay + day) * DAY_MS).toISOString().slice(0, 10), sum])),
      byKey: dearestFirst(byKey),
      byModel: dearestFirst(byModel),
      wholeSinceMs: wholeSince(all),
    }),
  };
}

function dayOf(columns: RecordColumns, at: number): number {
  return Math.floor((columns.created[columns.order[at] ?? 0] ?? 0) / DAY_MS);
}

function total(cells: Cells): SpendingSum {
  let sum = NO_CALLS;
  for (const [, each] of cells.sums()) sum = added(sum, each);
  return sum;
}

function added(a: SpendingSum, b: SpendingSum): SpendingSum {
  return { calls: a.calls + b.calls, costNanoUsd: a.costNanoUsd + b.costNanoUsd, inputTokens: a.inputTokens + b.inputTokens, outputTokens: a.outputTokens + b.outputTokens };
}

function addNamed(sums: Map<string, SpendingSum>, cells: Cells, names: Names): void {
  for (const [cell, sum] of cells.sums()) {
    const name = names.nameOf(cell);
    sums.set(name, added(sums.get(name) ?? NO_CALLS, sum));
  }
}

/** From when on no call is missing in any of them. */
export function wholeSince(all: readonly RecordColumns[]): number {
  return Math.max(0, ...all.map(({ wholeSinceMs }) => wholeSinceMs));
}

function dearestFirst(sums: ReadonlyMap<string, SpendingSum>): Map<string, SpendingSum> {
  return new Map([...sums].sort(([aName, a], [bName, b]) => {
    if (a.costNanoUsd !== b.costNanoUsd) return a.costNanoUsd > b.costNanoUsd ? -1 : 1;
    return aName < bName ? -1 : 1;
  }));
}
