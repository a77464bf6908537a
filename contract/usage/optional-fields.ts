/**
 * [P] The fields that later versions have added to usage records. The rows of the ledger's file and of mirrors, and the
 * records on Valkey, are made from this table, so that a further field is written here once. It is append only: its
 * order is that of the columns, and of the values on Valkey. Records of earlier versions lack the later fields.
 */
import { decodeLines, encodeLines } from '#price/bill.ts';
import type { UsageRecord } from './record.ts';

type Fields = Pick<UsageRecord, 'lines' | 'session' | 'upstreamCostNanoUsd' | 'keyName' | 'labels'>;

interface OptionalField {
  readonly column: string;
  /** Whether it is fixed when the call is admitted, or follows from what the call has consumed. */
  readonly of: 'Origin' | 'Progress';
  /** An empty text means that the field is absent. */
  readonly kind: 'Text' | 'Amount';
  /** Its value in a row; undefined or empty: absent. */
  readonly valueIn: (fields: Fields) => string | bigint | undefined;
  /** Reads the value's text. */
  readonly parse: (text: string) => Fields;
}

export const OPTIONAL_FIELDS: readonly OptionalField[] = [
  {
    column: 'lines',
    of: 'Progress',
    kind: 'Text',
    valueIn: ({ lines }) => encodeLines(lines),
    parse: (text) => {
      const lines = decodeLines(text);
      return lines ? { lines } : {};
    },
  },
  {
    column: 'session',
    of: 'Origin',
    kind: 'Text',
    valueIn: ({ session }) => session,
    parse: (session) => ({ session }),
  },
  {
    column: 'upstream_cost_nano_usd',
    of: 'Progress',
    kind: 'Amount',
    valueIn: ({ upstreamCostNanoUsd }) => upstreamCostNanoUsd,
    parse: (text) => ({ upstreamCostNanoUsd: BigInt(text) }),
  },
  {
    column: 'key_name',
    of: 'Origin',
    kind: 'Text',
    valueIn: ({ keyName }) => keyName,
    parse: (keyName) => ({ keyName }),
  },
  {
    column: 'labels',
    of: 'Origin',
    kind: 'Text',
    valueIn: ({ labels }) => labels,
    parse: (labels) => ({ labels }),
  },
];

export const ORIGIN_FIELDS = OPTIONAL_FIELDS.filter(({ of }) => of === 'Origin');
export const PROGRESS_FIELDS = OPTIONAL_FIELDS.filter(({ of }) => of === 'Progress');

/** The texts of these fields in their order; undefined: absent. */
export function optionalTexts(of: readonly OptionalField[], fields: Fields): (string | undefined)[] {
  return of.map(({ valueIn }) => {
    const value = valueIn(fields);
    return value === undefined || value === '' ? undefined : String(value);
  });
}

/** Reads the texts of these fields; undefined or empty ones are absent. */
export function parseOptional(of: readonly OptionalField[], texts: readonly (string | undefined)[]): Fields {
  return of.reduce<Fields>((fields, { parse }, index) => {
    const text = texts[index] ?? '';
    return text === '' ? fields : { ...fields, ...parse(text) };
  }, {});
}

/** The values of these fields in a row of SQLite. */
export function optionalValues(of: readonly OptionalField[], fields: Fields): (string | bigint | null)[] {
  return of.map(({ kind, valueIn }) => valueIn(fields) ?? (kind === 'Text' ? '' : null));
}
