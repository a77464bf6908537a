/**
 * [P] Among ten thousand keys an edit changes one, so what was found out about the others is kept, beside the objects that it was
 * found out from. Only results that the same inputs always lead to are kept, with all of those inputs: whoever translates twice,
 * or in another order, gets the same.
 */
import type { ApiKey } from '#crds/types.gen.ts';
import { PREVIOUS_ANNOTATION } from '../store/key-secret.ts';
import type { SecretObject } from '../store/resources.ts';
import { accountIdOf, namespacedName } from '../store/resources.ts';
import type { Circumstances, GatheredKey, KeyContext, TranslatedKey } from './api-key.ts';

const gathered = new WeakMap<ApiKey, { readonly secret: SecretObject | undefined; readonly key: GatheredKey }>();

/** A key with what its Secret holds. What the end of an overlap may change is looked at each time. */
export function gatherOnce(apiKey: ApiKey, secret: SecretObject | undefined, gather: () => GatheredKey): GatheredKey {
  const known = gathered.get(apiKey);
  if (known && known.secret === secret) return known.key;
  const key = gather();
  if (secret?.annotations[PREVIOUS_ANNOTATION] === undefined) gathered.set(apiKey, { secret, key });
  return key;
}

/** One key's translation. What depends on more than a plain key does is done each time. */
export function translateOnce(key: GatheredKey, context: KeyContext, translate: () => TranslatedKey): TranslatedKey {
  const now = circumstancesOf(key, context);
  if (!now) return translate();
  const known = key.translated;
  if (known && sameCircumstances(known.in, now)) return known.key;
  const result = translate();
  key.translated = { in: now, key: result };
  return result;
}

/** undefined: not a plain key. */
function circumstancesOf(key: GatheredKey, { nowMs, groups, refusedGroups, accounts, foreignAccounts, losses, mintFailures }: KeyContext): Circumstances | undefined {
  const { metadata, spec } = key.apiKey;
  const found = groups.get(spec.groupRef.name);
  const account = accountIdOf(key.apiKey);
  const special = spec.models !== undefined || losses.has(key) || mintFailures.has(namespacedName(metadata)) || found?.group.spec.allowedNamespaces.from === 'Selector';
  if (special) return undefined;
  return {
    group: found?.group, groupRefused: found?.findings.refused !== undefined, groupMalformed: refusedGroups.has(spec.groupRef.name), account: accounts.get(account), foreign: foreignAccounts.has(account),
    expired: spec.expirationTime !== undefined && Date.parse(spec.expirationTime) <= nowMs,
  };
}

function sameCircumstances(a: Circumstances, b: Circumstances): boolean {
  return a.group === b.group && a.groupRefused === b.groupRefused && a.groupMalformed === b.groupMalformed && a.account === b.account && a.foreign === b.foreign && a.expired === b.expired;
}

const times = new WeakMap<object, number>();

/** An object's creation time as a number, parsed once. */
export function timeOnce(metadata: object, parse: () => number): number {
  const known = times.get(metadata);
  if (known !== undefined) return known;
  const ms = parse();
  times.set(metadata, ms);
  return ms;
}
