/** [P] ApiKeys by the Secrets that hold their keys: a Secret's event among a hundred thousand ApiKeys costs what it changes. */
import type { ApiKey } from '#crds/types.gen.ts';
import { LayeredMap } from '#snapshot/layered-map.ts';
import { openHolders } from './holders.ts';
import { secretIdOf } from './key-secret.ts';
import { listChanges } from './list-changes.ts';
import type { Resources } from './resources.ts';

/** Those of the ApiKeys whose Secret is another one, there for the first time or gone. */
export type FindConcerned = (apiKeys: readonly ApiKey[], before: Resources['secrets'], now: Resources['secrets']) => ReadonlySet<ApiKey>;

const NONE: ReadonlySet<ApiKey> = new Set();

/** For a list that changes a little at a time. */
export function keepKeysBySecret(): FindConcerned {
  const holders = openHolders<ApiKey>();
  let entered: readonly ApiKey[] = [];

  function enter(apiKeys: readonly ApiKey[]): void {
    const { removed, added } = listChanges(entered, apiKeys);
    entered = apiKeys;
    for (const apiKey of removed) holders.leave(secretIdOf(apiKey), apiKey);
    for (const apiKey of added) holders.enter(secretIdOf(apiKey), apiKey);
  }

  return (apiKeys, before, now) => {
    const ids = LayeredMap.differences(before, now);
    if (ids.length === 0) return NONE;
    enter(apiKeys);
    return new Set(ids.flatMap((id) => [...holders.of(id)]));
  };
}
