/** [P] Prices that count for no call, because no route serves their model at the endpoint that they are for. */
import { pricesOf } from '#snapshot/catalog-prices.ts';
import { Endpoint } from '#snapshot/snapshot.gen.ts';
import type { Price, Snapshot } from '#snapshot/snapshot.gen.ts';

export interface MisplacedPrice {
  readonly kind: 'PriceCatalog';
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
}

interface EndpointPrice {
  readonly field: string;
  readonly endpoint: Endpoint;
  /** As a ModelRoute names it. */
  readonly words: string;
  readonly isStated: (price: Price) => boolean;
}

const ENDPOINT_PRICES: readonly EndpointPrice[] = [
  { field: 'perImage', endpoint: Endpoint.IMAGES, words: 'Images', isStated: ({ perImage }) => perImage.length > 0 },
  {
    field: 'perSecondUsd',
    endpoint: Endpoint.VIDEOS,
    words: 'Videos',
    isStated: ({ perSecond, perSecondNanoUsd }) => perSecond.length === 0 && perSecondNanoUsd !== undefined,
  },
  {
    field: 'perSecond',
    endpoint: Endpoint.VIDEOS,
    words: 'Videos',
    isStated: ({ perSecond }) => perSecond.length > 0,
  },
  {
    field: 'perMinuteUsd',
    endpoint: Endpoint.TRANSCRIPTIONS,
    words: 'Transcriptions',
    isStated: ({ perMinuteNanoUsd }) => perMinuteNanoUsd !== undefined,
  },
  {
    field: 'perMillionCharactersUsd',
    endpoint: Endpoint.SPEECH,
    words: 'Speech',
    isStated: ({ perMillionCharactersNanoUsd }) => perMillionCharactersNanoUsd !== undefined,
  },
];

/** Of models that some route has. */
export function misplacedPrices({ routes, catalogs }: Pick<Snapshot, 'routes' | 'catalogs'>): MisplacedPrice[] {
  const served = Map.groupBy(
    routes.flatMap(({ models }) => models),
    ({ name }) => name,
  );
  return catalogs.flatMap((catalog) =>
    pricesOf(catalog).flatMap((price) => {
      const endpoints = served.get(price.name)?.flatMap((model) => model.endpoints);
      return ENDPOINT_PRICES.filter(
        ({ isStated, endpoint }) => isStated(price) && endpoints?.includes(endpoint) === false,
      ).map(({ field, words }): MisplacedPrice => ({
        kind: 'PriceCatalog',
        namespace: catalog.namespace,
        name: catalog.name,
        message: `${field} of model "${price.name}" has no effect: no route has ${words} in its endpoints`,
      }));
    }),
  );
}
