/** [P] Columns of what was billed, what it cost and what it earned, which add up on the page. */
import { formatCount, formatUsd, pluralize, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { addAllMargins } from '../data/add-sums.ts';
import type { MarginSum } from '#usage/tables.ts';
import { UNKNOWN } from './margin.ts';
import type { Column } from './table.ts';

interface MarginColumns {
  /** The lines that add up to the foot. */
  readonly sums: readonly MarginSum[];
  /** The person may see what calls cost the platform. */
  readonly margins: boolean;
}

/** Says how the columns belong together. */
export const MARGINS_ADD_UP =
  'Billed is upstream cost and margin together, and what was billed for calls whose upstream cost is unknown.';

/** All amounts with as many places as the smallest digit of any of them needs, so that they add up as shown. */
export function marginColumns<Row>(
  sumOf: (row: Row) => MarginSum,
  { sums, margins }: MarginColumns,
): readonly Column<Row>[] {
  const all = addAllMargins(sums);
  if (!all) return [];
  const places = exactPlaces(sums.flatMap(({ billedNanoUsd, known }) => [billedNanoUsd, known.upstreamNanoUsd]));
  const column = (title: string, cell: (sum: MarginSum) => Html | string): Column<Row> => ({
    title,
    num: true,
    cell: (row) => cell(sumOf(row)),
    foot: cell(all),
  });
  return [
    column('Calls', ({ calls }) => formatCount(calls)),
    column('Billed', ({ billedNanoUsd }) => renderUsd(billedNanoUsd, places)),
    ...(margins && all.known.calls < all.calls ? [column('Of this, cost unknown', unknownPart(places))] : []),
    ...(margins
      ? [
          column(
            'Upstream cost',
            ofKnown(({ known }) => known.upstreamNanoUsd, places),
          ),
          column('Margin', ofKnown(marginOf, places)),
          column('Margin, %', percentOf),
        ]
      : []),
  ];
}

/** What the calls of known cost earned. */
export function marginOf({ known }: MarginSum): bigint {
  return known.billedNanoUsd - known.upstreamNanoUsd;
}

function unknownPart(places: number): (sum: MarginSum) => Html {
  return ({ calls, billedNanoUsd, known }) => {
    const unknown = calls - known.calls;
    if (unknown === 0) return html`<span class="soft">${formatUsd(0n, places)}</span>`;
    return html`${renderUsd(billedNanoUsd - known.billedNanoUsd, places)}<small>${pluralize(unknown, 'call')}</small>`;
  };
}

function ofKnown(of: (sum: MarginSum) => bigint, places: number): (sum: MarginSum) => Html {
  return (sum) => (sum.known.calls === 0 ? UNKNOWN : renderUsd(of(sum), places));
}

function percentOf(sum: MarginSum): Html | string {
  const { billedNanoUsd } = sum.known;
  if (billedNanoUsd <= 0n) return NOTHING;
  return `${(Number((marginOf(sum) * 1000n) / billedNanoUsd) / 10).toFixed(1)} %`;
}

const MAX_PLACES = 9;

/** The fewest places, at least two, that show each of these amounts exactly. */
export function exactPlaces(amounts: readonly bigint[]): number {
  for (let places = 2; places < MAX_PLACES; places++) {
    const unit = 10n ** BigInt(MAX_PLACES - places);
    if (amounts.every((amount) => amount % unit === 0n)) return places;
  }
  return MAX_PLACES;
}
