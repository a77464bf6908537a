/**
 * [P] Reads a row's values in order, each as what it must be: a file that says something else is damaged.
 */

export type Value = string | number | bigint | null;
/** Integers are read as BigInt. */
export type Row = readonly Value[];

export interface RowReader {
  text(): string;
  /** An integer of any size. */
  amount(): bigint;
  amountOrNull(): bigint | null;
  /** An integer that a number holds exactly. */
  count(): number;
  countOrNull(): number | null;
  oneOf<T extends string>(values: readonly T[]): T;
}

export function readRow(row: Row): RowReader {
  let at = 0;
  const amountOrNull = (): bigint | null => {
    const value = row[at++];
    if (typeof value !== 'bigint' && value !== null) throw new Error('a value in the file is no integer');
    return value;
  };
  const amount = (): bigint => required(amountOrNull());
  const text = (): string => {
    const value = row[at++];
    if (typeof value !== 'string') throw new Error('a value in the file is no text');
    return value;
  };
  return {
    text, amount, amountOrNull,
    count: () => Number(amount()),
    countOrNull: () => {
      const value = amountOrNull();
      return value === null ? null : Number(value);
    },
    oneOf: (values) => {
      const word = text();
      const known = values.find((value) => value === word);
      if (known === undefined) throw new Error(`the file has an unknown word: ${word}`);
      return known;
    },
  };
}

function required(value: bigint | null): bigint {
  if (value === null) throw new Error('a value is missing in the file');
  return value;
}
