/**
 * [P] The cost calculator's input from the query string: every field is one parameter, so a calculation has an address
 * and needs no script. Input is kept as typed, errors included.
 */
import { sizedFigures } from './dollars.ts';
import type { CountName, Counts, Served } from './estimate.ts';
import type { DetailClass, PriceList, PricingRow } from './price-list.ts';

type Typed = Readonly<Partial<Record<CountName, string>>>;

/** A calculation as the query asks for it. */
export interface Calculation {
  readonly model: string;
  /** A Group's name; empty: base prices. */
  readonly group: string;
  readonly tier: string;
  readonly region: string;
  readonly image: string;
  readonly typed: Typed;
}

/** A calculation that can be shown: its model exists, and so do group, tier, region and image. */
export interface Calculated {
  readonly row: PricingRow;
  readonly group: string;
  readonly served: Served;
  readonly typed: Typed;
  /** What the model is priced by; a field that holds no whole number counts as none. */
  readonly counts: Counts;
  readonly faulty: ReadonlySet<CountName>;
}

/** The query parameter of each count, in the order of the fields. */
export const COUNT_PARAMETERS: Readonly<Record<CountName, string>> = {
  input: 'input',
  imageInput: 'image_in',
  audioInput: 'audio_in',
  cached: 'cached',
  cacheWrite5m: 'write5m',
  cacheWrite1h: 'write1h',
  output: 'output',
  reasoning: 'reasoning',
  imageOutput: 'image_out',
  audioOutput: 'audio_out',
  webSearch: 'searches',
  webFetch: 'fetches',
  fileSearch: 'file_searches',
  generations: 'n',
};
export const COUNT_NAMES: readonly CountName[] = [
  'input',
  'imageInput',
  'audioInput',
  'cached',
  'cacheWrite5m',
  'cacheWrite1h',
  'output',
  'reasoning',
  'imageOutput',
  'audioOutput',
  'webSearch',
  'webFetch',
  'fileSearch',
  'generations',
];

/** The values of the fields before anybody has typed. */
const EXAMPLE: Typed = { input: '2,000', cached: '10,000', output: '800', generations: '1' };
const LONGEST_TYPED = 24;

/** Reads a calculation from the query; undefined: the query asks for none. */
export function parseCalculation(parameters: URLSearchParams): Calculation | undefined {
  const model = parameters.get('calc');
  if (model === null) return undefined;
  // missing fields count as empty; if all are missing, the example is shown
  const saysTokens = COUNT_NAMES.some((name) => name !== 'generations' && parameters.has(COUNT_PARAMETERS[name]));
  const typed: Partial<Record<CountName, string>> = {};
  for (const name of COUNT_NAMES) {
    const example = saysTokens && name !== 'generations' ? '' : (EXAMPLE[name] ?? '0');
    typed[name] = (parameters.get(COUNT_PARAMETERS[name]) ?? example).trim().slice(0, LONGEST_TYPED);
  }
  const text = (name: string): string => parameters.get(name) ?? '';
  return { model, group: text('at'), tier: text('tier'), region: text('region'), image: text('image'), typed };
}

/**
 * The calculation to show: the one that is asked for if its model exists, else an example; undefined if there is no
 * model. `shownGroup` is the group whose prices the list shows.
 */
export function resolveCalculation(
  list: PriceList,
  asked: Calculation | undefined,
  shownGroup: string | undefined,
  example: PricingRow | undefined,
): Calculated | undefined {
  const row = list.pricing.rows.find(({ modelName }) => modelName === asked?.model) ?? example ?? list.pricing.rows[0];
  if (!row) return undefined;
  const group = asked ? asked.group : offeringGroup(list, row, shownGroup);
  const typed = asked ? asked.typed : EXAMPLE;
  return {
    row,
    typed,
    ...parseCounts(row, typed),
    served: servedBy(row, asked),
    group: list.pricing.groups.some(({ name }) => name === group) ? group : '',
  };
}

function parseCounts(row: PricingRow, typed: Typed): Pick<Calculated, 'counts' | 'faulty'> {
  const counts: Partial<Record<CountName, bigint>> = {};
  const faulty = new Set<CountName>();
  for (const name of countsOf(row)) {
    const count = parseCount(typed[name] ?? '0');
    if (count === undefined) faulty.add(name);
    counts[name] = count ?? 0n;
  }
  return { counts, faulty };
}

function servedBy({ figures }: PricingRow, asked: Calculation | undefined): Served {
  const { tier = '', region = '', image = '' } = asked ?? {};
  const position = sizedFigures(figures).findIndex((_, index) => String(index) === image);
  return {
    tier: figures.serviceTiers.has(tier) ? tier : '',
    region: figures.regions.has(region) ? region : '',
    image: position < 0 ? undefined : position,
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

const WHOLE: Readonly<Record<DetailClass, 'input' | 'output'>> = {
  imageInput: 'input',
  audioInput: 'input',
  reasoning: 'output',
  imageOutput: 'output',
  audioOutput: 'output',
};

/** The counts that a model's price depends on. */
export function countsOf({ quotaType, stated, figures }: PricingRow): readonly CountName[] {
  if (quotaType === 'Request') return ['generations'];
  return COUNT_NAMES.filter((name) => {
    switch (name) {
      case 'input':
        return true;
      case 'output':
      case 'cacheWrite5m':
      case 'cacheWrite1h':
        return stated[name];
      case 'cached':
        return stated.cache;
      case 'webSearch':
      case 'webFetch':
      case 'fileSearch':
        return figures.perUse.has(name);
      case 'generations':
        return false;
      default:
        return hasOwnRate(figures, name);
    }
  });
}

/** Whether a part of the input or of the output costs other than the rest of it, in any tier. */
function hasOwnRate(figures: PricingRow['figures'], name: DetailClass): boolean {
  return [figures, ...figures.serviceTiers.values()]
    .flatMap((table) => [table, ...table.contextTiers])
    .some(({ perToken }) => perToken[name] !== perToken[WHOLE[name]]);
}
