/** Computes the status of each key that a person sees, with the accounts that the person may see. */
import type { ApiKey } from '#crds/types.gen.ts';
import { generationRates } from '#web/pricing/dollars.ts';
import type { PriceFigures, PriceList } from '#web/pricing/price-list.ts';
import { accountIdOf, namespacedName } from '#objects/resources.ts';
import type { PageRequest } from '../route.ts';
import { accountFacts } from './account-facts.ts';
import type { AccountFacts } from './account-facts.ts';
import { isAccountLow } from './account-status.ts';
import { readShortages } from './shortages.ts';
import { factsOf } from './key-facts.ts';
import { isLow } from './low.ts';
import { keyStatusOf } from './key-status.ts';
import type { KeyStatusFinding } from './key-status.ts';
import { priceListOf } from './price-lists.ts';

export type KeyStatuses = (apiKey: ApiKey) => KeyStatusFinding;

/** The statuses of these keys. Rejects with AccessError. */
export async function readKeyStatuses(
  request: Pick<PageRequest, 'person' | 'deps' | 'nowMs'>,
  apiKeys: readonly ApiKey[],
): Promise<KeyStatuses> {
  const { person, deps, nowMs } = request;
  const { objects } = await person.list('Account');
  const accounts = new Map(objects.map((account) => [namespacedName(account.metadata), accountFacts(account, 0)]));
  const accountOf = (apiKey: ApiKey): AccountFacts | undefined => accounts.get(accountIdOf(apiKey));
  const asked = apiKeys
    .filter((apiKey) => mayBeShort(apiKey, accountOf(apiKey)))
    .map((apiKey) => ({ account: accountIdOf(apiKey), keyUid: apiKey.metadata.uid ?? '' }));
  const shortages = new Map((await readShortages(request, asked)).map((each) => [each.keyUid, each]));
  return (apiKey) =>
    keyStatusOf(apiKey, {
      nowMs,
      account: accountOf(apiKey),
      shortage: shortages.get(apiKey.metadata.uid ?? ''),
      cheapestCallNanoUsd: (key) => cheapestCallNanoUsd(priceListOf(deps), key),
    });
}

/** Keys and accounts with much left are refused only calls that are large. */
function mayBeShort(apiKey: ApiKey, account: AccountFacts | undefined): boolean {
  const { spentNanoUsd, limitNanoUsd } = factsOf(apiKey);
  return (
    apiKey.spec.enabled &&
    (!account || isAccountLow(account) || (limitNanoUsd !== undefined && isLow(spentNanoUsd, limitNanoUsd)))
  );
}

/**
 * A lower bound of what a call of a key costs: less money than this pays for none. Nano-USD of one input token and the
 * least output, or of one generation (a second of a video); undefined if the key can call no model.
 */
function cheapestCallNanoUsd({ groups }: PriceList, { spec }: ApiKey): bigint | undefined {
  const costs = [...(groups.get(spec.groupRef.name)?.offers ?? [])]
    .filter(([model]) => spec.models?.includes(model) ?? true)
    .flatMap(([, { tiers, quotaType }]) =>
      tiers
        .flat()
        .flatMap(({ price }) =>
          price === undefined || quotaType === undefined ? [] : leastCosts(price, spec.quota.minOutputTokens),
        ),
    );
  return costs.reduce<bigint | undefined>(
    (least, cost) => (least === undefined || cost < least ? cost : least),
    undefined,
  );
}

function leastCosts(price: PriceFigures, minOutputTokens: number): bigint[] {
  const {
    perToken: { input, output },
    denominator,
  } = price;
  return generationRates(price).map((rate) => (input + output * BigInt(minOutputTokens) + rate) / denominator);
}
