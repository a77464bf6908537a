/**
 * [P] Sums over columns: by day, key and model at once, in one pass. Amounts are exact 64-bit integers of nano-USD, which hold nine
 * billion dollars; tokens and calls are whole numbers.
 */
import type { Names, RecordColumns } from './columns.ts';
import { rowsAskedFor } from './rows.ts';
import type { CallQuery, SpendingSum, SpendingSums } from './usage.ts';

const DAY_MS = 86_400_000;

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

/** All columns share these names. A step adds `rowsAtOnce` rows at most; columns must not change between steps. */
export function sumColumns(all: readonly RecordColumns[], query: CallQuery, { keys, models, rowsAtOnce }: { readonly keys: Names; readonly models: Names; readonly rowsAtOnce: number }): Summing {
  const spans = all.map((columns) => ({ columns, ...rowsAskedFor(columns, query) })).filter(({ begin, end }) => begin < end);
  const firstDay = Math.min(...spans.map(({ columns, begin }) => dayOf(columns, begin)));
  const [byDay, byKey, byModel] = [new Cells(), new Cells(), new Cells()];
  let [index, at] = [0, spans[0]?.begin ?? 0];

  function addRows(columns: RecordColumns, end: number, wants: (row: number) => boolean): void {
    for (; at < end; at++) {
      const row = columns.order[at] ?? 0;
      if (!wants(row)) continue;
      byDay.add(dayOf(columns, at) - firstDay, columns, row);
      byKey.add(columns.key[row] ?? 0, columns, row);
      byModel.add(columns.model[row] ?? 0, columns, row);
    }
  }

  return {
    step() {
      let left = rowsAtOnce;
      for (let span = spans[index]; span && left > 0; span = spans[index]) {
        const before = at;
        addRows(span.columns, Math.min(span.end, at + left), span.wants);
        left -= at - before;
        if (at < span.end) break;
        index++;
        at = spans[index]?.begin ?? 0;
      }
      return index < spans.length;
    },
    result: () => ({
      all: total(byDay),
      byDay: new Map([...byDay.sums()].map(([day, sum]) => [new Date((firstDay + day) * DAY_MS).toISOString().slice(0, 10), sum])),
      byKey: dearestFirst(byKey, keys),
      byModel: dearestFirst(byModel, models),
    }),
  };
}

function dayOf(columns: RecordColumns, at: number): number {
  return Math.floor((columns.created[columns.order[at] ?? 0] ?? 0) / DAY_MS);
}

function total(cells: Cells): SpendingSum {
  let [calls, costNanoUsd, inputTokens, outputTokens] = [0, 0n, 0, 0];
  for (const [, sum] of cells.sums()) {
    calls += sum.calls;
    costNanoUsd += sum.costNanoUsd;
    inputTokens += sum.inputTokens;
    outputTokens += sum.outputTokens;
  }
  return { calls, costNanoUsd, inputTokens, outputTokens };
}

function dearestFirst(cells: Cells, names: Names): Map<string, SpendingSum> {
  const named = [...cells.sums()].map(([cell, sum]) => [names.nameOf(cell), sum] as const);
  return new Map(named.sort(([aName, a], [bName, b]) => {
    if (a.costNanoUsd !== b.costNanoUsd) return a.costNanoUsd > b.costNanoUsd ? -1 : 1;
    return aName < bName ? -1 : 1;
  }));
}
