/**
 * [P] The prices of a PriceCatalog: those that proxies of every version understand (`models`), and the others
 * (`sheets`).
 */
import type { ChannelPrice, Price, PriceCatalog } from './snapshot.gen.ts';

/** All prices of a catalog. */
export function pricesOf({ models, sheets }: Pick<PriceCatalog, 'models' | 'sheets'>): readonly Price[] {
  return sheets.length === 0 ? models : [...models, ...sheets];
}

/** True if a proxy that knows only ratios would misread this price. */
export function isSheet(price: Price): boolean {
  const { contextTiers, serviceTiers, regions, channelPrices, channelRates, perImage, perSecond } = price;
  const { usdPerMillion, perUse, perSecondNanoUsd, perMinuteNanoUsd, perMillionCharactersNanoUsd } = price;
  return (
    [usdPerMillion, perUse, perSecondNanoUsd, perMinuteNanoUsd, perMillionCharactersNanoUsd].some(
      (part) => part !== undefined,
    ) ||
    [contextTiers, serviceTiers, regions, channelPrices, channelRates, perImage, perSecond].some(
      (list) => list.length > 0,
    )
  );
}

/** True if the price differs on the channel. `id`: "route/channel". */
export function hasOwnPrice({ channelPrices, channelRates }: Price, id: string): boolean {
  return channelPrices.some(({ name }) => name === id) || channelRates.some(({ channel }) => channel === id);
}

/** The price on a channel, and what multiplies all of it. Undefined: on any channel without a price of its own. */
export function priceOn(
  price: Price,
  id: string | undefined,
): { readonly price: Price; readonly multiplierE9: bigint | undefined } {
  const own = price.channelRates.find(({ channel }) => channel === id);
  const multiplierE9 = price.channelPrices.find(({ name }) => name === id)?.multiplierE9;
  return { price: own ? { ...price, ...statedBy(own) } : price, multiplierE9 };
}

function statedBy({ usdPerMillion, contextTiers, requestNanoUsd }: ChannelPrice): Partial<Price> {
  return usdPerMillion ? { usdPerMillion, contextTiers } : { requestNanoUsd: requestNanoUsd ?? 0n };
}
