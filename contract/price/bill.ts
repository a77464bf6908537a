/** [P] Formats the lines of a bill: as text for the ledger's stores, and for people and programs to read. */
import { roundHalfUp } from './exact.ts';
import { AUDIO_UNITS, unitsOf } from './sheet.ts';

/** One dimension of a bill. The sum of all lines' quantity · rate, rounded half up, is the cost. */
export interface BillLine {
  /**
   * A class of tokens as in a PriceCatalog, `generation`, `second` of a video, `audioSecond`, `character`, or a tool that
   * the provider ran.
   */
  readonly dimension: string;
  readonly quantity: number;
  /** What the group pays in USD per million tokens or characters, per minute of audio, or per unit: an exact decimal. */
  readonly rateUsd: string;
  /** Absent: the standard tier. */
  readonly serviceTier?: string;
  /** The threshold of the context tier in tokens; absent: the request reached no context tier. */
  readonly above?: number;
  /** The region, if it has a price of its own. */
  readonly region?: string;
  /** The model, if it is not the call's own. */
  readonly model?: string;
  /** Of what was generated, where they are known and its price depends on them. */
  readonly size?: string;
  readonly quality?: string;
}

type Marks = Pick<BillLine, 'serviceTier' | 'above' | 'region' | 'model' | 'size' | 'quality'>;

/** A line as views and exports show it. */
export interface BillLineView {
  readonly dimension: string;
  readonly quantity: number;
  /** The quantity that the rate is for: a million tokens or characters, 60 seconds of audio, or one unit. */
  readonly per: number;
  readonly rate_usd: string;
  /** Quantity times rate: exact, or to four places more than the rate where a price per minute has no finite decimal. */
  readonly amount_usd: string;
  /** null: the standard tier. */
  readonly service_tier: string | null;
  /** The threshold of the context tier, in tokens; null: none. */
  readonly context_above: number | null;
  /** null: no regional price. */
  readonly region: string | null;
  /** null: the model of the call itself. */
  readonly model: string | null;
  /** Of images; absent where the price depends on none, or names any. */
  readonly size?: string;
  readonly quality?: string;
}

/** Compact JSON; empty: no lines. */
export function encodeLines(lines: readonly BillLine[] | undefined): string {
  if (!lines || lines.length === 0) return '';
  return JSON.stringify(
    lines.map(({ dimension, quantity, rateUsd, ...marks }) =>
      Object.keys(marks).length === 0 ? [dimension, quantity, rateUsd] : [dimension, quantity, rateUsd, marks],
    ),
  );
}

/** Undefined if there are none. Throws if encodeLines did not write the text. */
export function decodeLines(text: string): readonly BillLine[] | undefined {
  if (text === '') return undefined;
  // written by encodeLines, or by a newer version that adds members
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const rows = JSON.parse(text) as readonly (readonly [string, number, string, Marks?])[];
  return rows.map(([dimension, quantity, rateUsd, marks]) => ({ dimension, quantity, rateUsd, ...marks }));
}

/** The lines with their exact amounts. */
export function viewLines(lines: readonly BillLine[] = []): BillLineView[] {
  return lines.map(({ dimension, quantity, rateUsd, serviceTier, above, region, model, size, quality }) => {
    const per = unitsOf(dimension);
    return {
      dimension,
      quantity,
      per,
      rate_usd: rateUsd,
      amount_usd: amountUsd(quantity, rateUsd, per),
      service_tier: serviceTier ?? null,
      context_above: above ?? null,
      region: region ?? null,
      model: model ?? null,
      ...(size !== undefined && { size }),
      ...(quality !== undefined && { quality }),
    };
  });
}

/**
 * Formats the lines for a table cell: "1000 input at $3 per million; 2 webSearch at $0.01". Empty if there are no
 * lines.
 */
export function formatLines(lines: readonly BillLine[] | undefined): string {
  return viewLines(lines)
    .map((line) => {
      const marks = [
        line.model,
        line.service_tier,
        line.region,
        line.context_above === null ? null : `above ${line.context_above}`,
        line.size ?? null,
        line.quality ?? null,
      ].filter((mark) => mark !== null);
      const rate = `$${line.rate_usd}${perWords(line)}`;
      return `${line.quantity} ${line.dimension} at ${rate}${marks.length === 0 ? '' : ` (${marks.join(', ')})`}`;
    })
    .join('; ');
}

/** " per million", " per minute", or nothing for one unit. */
export function perWords({ per }: Pick<BillLineView, 'per'>): string {
  if (per === AUDIO_UNITS.audioSecond) return ' per minute';
  return per === 1 ? '' : ' per million';
}

/** The quotient is a finite decimal where `per` is a power of ten. */
function amountUsd(quantity: number, rateUsd: string, per: number): string {
  const [whole = '0', fraction = ''] = rateUsd.split('.');
  const places = fraction.length + (per === AUDIO_UNITS.audioSecond ? 4 : String(per).length - 1);
  const amount = BigInt(whole + fraction) * BigInt(quantity) * 10n ** BigInt(places - fraction.length);
  const digits = roundHalfUp(amount, BigInt(per))
    .toString()
    .padStart(places + 1, '0');
  const cut = digits.length - places;
  const rest = digits.slice(cut).replace(/0+$/, '');
  return rest === '' ? digits.slice(0, cut) : `${digits.slice(0, cut)}.${rest}`;
}
