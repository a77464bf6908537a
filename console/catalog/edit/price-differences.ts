/** [P] What an edit changes in the price list: models that a group gains or loses, and prices that differ. */
import type { TranslatedEdits } from '../compute-change.ts';
import { compilePriceList } from '../../queries/price-lists.ts';
import type { PriceList } from '#web/pricing/price-list.ts';
import { offerDollars } from '#web/pricing/dollars.ts';
import { priceText } from '../price-text.ts';

export interface PriceDifference {
  readonly group: string;
  readonly model: string;
  /** undefined: the group does not offer it. */
  readonly was: string | undefined;
  readonly becomes: string | undefined;
}

/** By group, then by model. */
export function priceDifferences({ old, next }: Pick<TranslatedEdits, 'old' | 'next'>): PriceDifference[] {
  const [before, after] = [pricesOf(compilePriceList(old)), pricesOf(compilePriceList(next))];
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((id) => before.get(id)?.price !== after.get(id)?.price)
    .flatMap((id) => {
      const offer = after.get(id) ?? before.get(id);
      if (!offer) return [];
      const { group, model } = offer;
      return [{ group, model, was: before.get(id)?.price, becomes: after.get(id)?.price }];
    });
}

interface ShownOffer {
  readonly group: string;
  readonly model: string;
  readonly price: string;
}

function pricesOf({ pricing, groups }: PriceList): Map<string, ShownOffer> {
  const rows = new Map(pricing.rows.map((row) => [row.modelName, row]));
  return new Map(
    [...groups.values()].flatMap(({ name, displayName, offers }) =>
      [...offers].map(([model, offer]): [string, ShownOffer] => [
        JSON.stringify([name, model]),
        { group: displayName, model, price: priceText(offerDollars(offer), rows.get(model)) },
      ]),
    ),
  );
}
