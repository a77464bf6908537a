/** [P] A model's price in words, in dollars, and the order in which an automatic group tries its members. */
import { formatRange, generationUnit } from '#web/pricing/dollars.ts';
import type { RowDollars } from '#web/pricing/dollars.ts';
import type { PricedOffer, PricingRow } from '#web/pricing/price-list.ts';

type PricedRow = Pick<PricingRow, 'facts' | 'stated' | 'dimensions'>;

/** "$3.00 input, $15.00 output", "$0.04 per image"; tokens are by the million. */
export function priceText(dollars: RowDollars | undefined, row: PricedRow | undefined): string {
  if (!dollars) return 'No price, so it cannot be called';
  if (dollars.quotaType === 'Request') return `${formatRange(dollars.request)} per ${unitOf(row)}`;
  const input = `${formatRange(dollars.input)} input`;
  return (row?.stated.output ?? true) ? `${input}, ${formatRange(dollars.output)} output` : input;
}

/** Names of the direct groups that may serve the model, in order. */
export function triedGroups({ tiers }: PricedOffer): string[] {
  return [...new Set(tiers.flat().map(({ group }) => group))];
}

function unitOf(row: PricedRow | undefined): string {
  const unit = row ? generationUnit(row) : 'request';
  if (unit !== 'image' && unit !== 'request') return unit;
  const endpoints = row?.facts?.endpoints ?? [];
  const [only] = endpoints.length === 1 ? endpoints : [];
  if (only === 'Images') return 'image';
  return only === 'Videos' ? 'video' : 'call';
}
