/** Works out the status of each key that a person sees, with the accounts that the person may see. */
import type { ApiKey } from '#crds/types.gen.ts';
import { accountIdOf, namespacedName } from '../../operator/store/resources.ts';
import { priceListOf } from '../pages/prices.ts';
import type { PageRequest } from '../route.ts';
import { accountFacts } from '../wallet/account-facts.ts';
import { cheapestCallNanoUsd } from './cheapest-call.ts';
import { keyStatusOf } from './key-status.ts';
import type { KeyStatusFinding } from './key-status.ts';

export type KeyStatuses = (apiKey: ApiKey) => KeyStatusFinding;

/** Rejects with AccessError. */
export async function readKeyStatuses(
  { person, deps, nowMs }: Pick<PageRequest, 'person' | 'deps' | 'nowMs'>,
): Promise<KeyStatuses> {
  const { objects } = await person.list('Account');
  const accounts = new Map(objects.map((account) => [namespacedName(account.metadata), accountFacts(account, 0)]));
  return (apiKey) => keyStatusOf(apiKey, {
    nowMs, account: accounts.get(accountIdOf(apiKey)), refusal: undefined,
    cheapestCallNanoUsd: (key) => cheapestCallNanoUsd(priceListOf(deps), key),
  });
}
