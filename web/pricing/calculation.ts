/**
 * [P] The cost calculator's input from the query string: every field is one parameter, so a calculation has an address
 * and needs no script. Input is kept as typed, errors included.
 */
import type { Counts } from './estimate.ts';
import type { PriceList, PricingRow } from './price-list.ts';

export type CountName = keyof Counts;

/** A calculation as the query asks for it. */
export interface Calculation {
  readonly model: string;
  /** A Group's name; empty: base prices. */
  readonly group: string;
  /** As typed. */
  readonly typed: Readonly<Record<CountName, string>>;
}

/** A calculation that can be shown: its model exists. */
export interface Calculated {
  readonly row: PricingRow;
  readonly group: string;
  readonly typed: Calculation['typed'];
  /** undefined where it is not a whole number. */
  readonly counts: Readonly<Record<CountName, bigint | undefined>>;
}

/** The query parameter of each count. */
export const COUNT_PARAMETERS: Readonly<Record<CountName, string>> = {
  input:
    'input', cached: 'cached', cacheWrite5m: 'write5m', cacheWrite1h: 'write1h', output: 'output', generations: 'n',
};
const COUNT_NAMES: readonly CountName[] = ['input', 'cached', 'cacheWrite5m', 'cacheWrite1h', 'output', 'generations'];

/** The values of the fields before anybody has typed. */
const EXAMPLE: Calculation['typed'] = {
  input: '2,000', cached: '10,000', cacheWrite5m: '0', cacheWrite1h: '0', output: '800', generations: '1',
};
const LONGEST_TYPED = 24;

/** Reads a calculation from the query; undefined: the query asks for none. */
export function parseCalculation(parameters: URLSearchParams): Calculation | undefined {
  const model = parameters.get('calc');
  if (model === null) return undefined;
  // missing fields count as empty; if all are missing, the example is shown
  const saysTokens = COUNT_NAMES.some((name) => name !== 'generations' && parameters.has(COUNT_PARAMETERS[name]));
  const typed = (name: CountName): string => (
    parameters.get(COUNT_PARAMETERS[name]) ??
      (saysTokens && name !== 'generations' ? '' : EXAMPLE[name])).trim().slice(0, LONGEST_TYPED);
  return {
    model,
    group: parameters.get('at') ?? '',
    typed: {
      input: typed('input'), cached:
        typed('cached'), cacheWrite5m: typed('cacheWrite5m'), cacheWrite1h: typed('cacheWrite1h'),
      output: typed('output'), generations: typed('generations'),
    },
  };
}

/**
 * The calculation to show: the one that is asked for if its model exists, else an example; undefined if there is no
 * model. `shownGroup` is the group whose prices the list shows.
 */
export function resolveCalculation(list: PriceList, asked:
  | Calculation | undefined, shownGroup: string | undefined, example: PricingRow | undefined): Calculated | undefined {
  const row = list.pricing.rows.find(({ modelName }) => modelName === asked?.model) ?? example ?? list.pricing.rows[0];
  if (!row) return undefined;
  const group = asked ? asked.group : offeringGroup(list, row, shownGroup);
  const typed = asked ? asked.typed : EXAMPLE;
  const count = (name: CountName): bigint | undefined => parseCount(typed[name]);
  return {
    row,
    group: list.pricing.groups.some(({ name }) => name === group) ? group : '',
    typed,
    counts: {
      input: count('input'), cached:
        count('cached'), cacheWrite5m: count('cacheWrite5m'), cacheWrite1h: count('cacheWrite1h'),
      output: count('output'), generations: count('generations'),
    },
  };
}

/** The group whose prices the list shows, where it offers the model. */
function offeringGroup({ groups }: PriceList, { modelName }: PricingRow, shown: string | undefined): string {
  return shown !== undefined && groups.get(shown)?.offers.has(modelName) ? shown : '';
}

/** Reads a whole number of at most 15 digits, with or without separators; empty text is 0. undefined: it is not one. */
export function parseCount(typed: string): bigint | undefined {
  const digits = typed.replace(/[\s,_'’]/g, '');
  return /^\d{0,15}$/.test(digits) ? BigInt(digits) : undefined;
}

/** The counts that a model's price depends on. */
export function countsOf({ quotaType, stated }: PricingRow): readonly CountName[] {
  const isStated: Partial<Record<CountName, boolean>> = { ...stated, cached: stated.cache };
  return COUNT_NAMES.filter((name) =>
    (name === 'generations') === (quotaType === 'Request') && isStated[name] !== false);
}
