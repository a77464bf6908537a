/**
 * [P] Whose calls a person may see at once: all of the accounts that they may read, and the keys that they may read of
 * other accounts. The address narrows it and never widens it.
 */
import type { PageRequest } from '../route.ts';
import { readRecordedNames } from './recorded-names.ts';
import type { CallQuery, KeyName } from '../data/usage.ts';
import { accountIdOf, namespacedName } from '#objects/resources.ts';
import type { UsagePageFilter, UsagePageQuery } from './usage-query.ts';

export interface UsageScope {
  /** "namespace/name" of the accounts that may be read, sorted. */
  readonly accounts: readonly string[];
  /** Keys by uid. */
  readonly keys: ReadonlyMap<string, ScopeKey>;
  /** Names of deleted keys of these accounts by uid. */
  readonly recorded: ReadonlyMap<string, KeyName>;
  /** More accounts or keys are visible than are looked at together. */
  readonly truncated: boolean;
}

export interface ScopeKey {
  /** "namespace/name" */
  readonly id: string;
  readonly name: string;
  readonly account: string;
  /** The account is not visible. */
  readonly lone: boolean;
}

/** Together: one page asks about each of them. */
const MAX_ACCOUNTS = 500;
const MAX_LONE_KEYS = 200;

export async function readScope({ person, deps }: Pick<PageRequest, 'person' | 'deps'>): Promise<UsageScope> {
  const [accounts, keys] = await Promise.all([person.list('Account'), person.list('ApiKey')]);
  const visible = accounts.objects.map(({ metadata }) => namespacedName(metadata)).sort();
  const seen = new Set(visible);
  const all = keys.objects.flatMap((key): [string, ScopeKey][] =>
    key.metadata.uid === undefined
      ? []
      : [
          [
            key.metadata.uid,
            {
              id: namespacedName(key.metadata),
              name: key.metadata.name,
              account: accountIdOf(key),
              lone: !seen.has(accountIdOf(key)),
            },
          ],
        ],
  );
  const lone = all.filter(([, key]) => key.lone);
  const dropped = new Set(lone.slice(MAX_LONE_KEYS).map(([uid]) => uid));
  const shown = visible.slice(0, MAX_ACCOUNTS);
  return {
    accounts: shown,
    recorded: await readRecordedNames(deps, shown),
    keys: new Map(all.filter(([uid]) => !dropped.has(uid))),
    truncated: visible.length > MAX_ACCOUNTS || dropped.size > 0,
  };
}

/** Names of keys by uid. */
export function keyNamesOf({ keys }: Pick<UsageScope, 'keys'>): Map<string, string> {
  return new Map([...keys].map(([uid, { name }]) => [uid, name]));
}

/** The key's name, if the person sees the key but not its account. */
export function loneKeyName({ keys }: Pick<UsageScope, 'keys'>, keyUid: string): string | undefined {
  const key = keys.get(keyUid);
  return key?.lone === true ? key.name : undefined;
}

/** The calls that a filter lets through, of those that are visible. */
export function callQueryOf(
  scope: UsageScope,
  query: UsagePageFilter & Pick<UsagePageQuery, 'sinceMs' | 'untilMs'>,
): CallQuery {
  const { model, group, channel, status, uid, sinceMs, untilMs } = query;
  return {
    ...whose(scope, query),
    sinceMs,
    untilMs,
    ...(uid !== '' && { keyUid: uid }),
    ...(model !== '' && { model }),
    ...(group !== '' && { group }),
    ...(channel !== '' && { channel }),
    ...(status && { status }),
  };
}

function whose({ accounts, keys }: UsageScope, filter: UsagePageFilter): Pick<CallQuery, 'accounts' | 'keysOf'> {
  const isAsked = (account: string): boolean => filter.account === '' || filter.account === account;
  const named = [...keys].filter(
    ([, { id, name, account }]) => isAsked(account) && (id === filter.key || name === filter.key),
  );
  const lone = [...keys].filter(([, key]) => key.lone && isAsked(key.account));
  // a key that is named narrows every account to it; without one, accounts that are not visible have their keys alone
  const only = filter.key === '' ? lone : named;
  const keysOf = Object.fromEntries(
    [...Map.groupBy(only, ([, { account }]) => account)].map(([account, some]) => [account, some.map(([uid]) => uid)]),
  );
  const whole = filter.key === '' ? accounts.filter(isAsked) : [];
  return { accounts: [...whole, ...Object.keys(keysOf)], keysOf };
}
