/**
 * [P] The control plane in one function: what users wrote → what the proxies need, and what is to be said to the users.
 *
 * gather     which objects are this gateway's, and what their Secrets hold
 * conflicts  who wins where two objects claim one thing
 * per kind   prices, then routes, groups made of routes, accounts, and keys that join a group and an account
 * assemble   one sorted, frozen snapshot, the findings for the statuses, and when to look again
 */
import type { Resources } from '../store/resources.ts';
import { namespacedName } from '../store/resources.ts';
import { translateAccount } from './account.ts';
import { claimedHashes, translateKey } from './api-key.ts';
import { assemble } from './assemble.ts';
import type { Translation } from './assemble.ts';
import { findLosses } from './conflicts.ts';
import { gather } from './gather.ts';
import { translateGroups } from './group.ts';
import { translateRoute } from './model-route.ts';
import { claimedModels, translateCatalog } from './price-catalog.ts';
import { translateOnce } from './remember.ts';

export interface TranslateOptions {
  /** The namespace of this gateway. */
  readonly gatewayNamespace: string;
  readonly nowMs: number;
  /** Why a key could not be made, by its ApiKey's "namespace/name". */
  readonly mintFailures?: ReadonlyMap<string, string>;
}

/** Never throws on admitted resources; the same ones in any order give the same translation. */
export function translate(resources: Resources, options: TranslateOptions): Translation {
  const world = gather(resources, options);

  const lostModels = findLosses(world.catalogs, claimedModels);
  const lostHashes = findLosses(world.keys, claimedHashes);

  const catalogs = world.catalogs.map((catalog) => translateCatalog(catalog, lostModels.get(catalog)));
  const priced = new Map(catalogs.flatMap(({ message }) => message?.models ?? []).map(({ name, quotaType }) => [name, quotaType]));

  const routes = world.routes.map((route) => translateRoute(route, { lookup: resources, priced }));
  const groups = translateGroups(world.groups, {
    accepted: world.routes.filter((_, index) => routes[index]?.message),
    refused: new Set(routes.filter(({ message }) => !message).map(({ findings }) => findings.name)),
  });

  const accounts = world.accounts.map(translateAccount);
  const keyContext = {
    nowMs: options.nowMs,
    namespaces: resources.namespaces,
    groups: new Map(groups.map((group) => [group.findings.name, group])),
    accounts: new Map(accounts.map(({ findings, message }) => [namespacedName(findings), message !== undefined])),
    foreignAccounts: world.foreignAccounts,
    losses: lostHashes,
    mintFailures: options.mintFailures ?? new Map<string, string>(),
  };
  const keys = world.keys.map((key) => translateOnce(key, keyContext, () => translateKey(key, keyContext)));

  return assemble({ catalogs, routes, groups, accounts, keys, priced, misplaced: world.misplaced }, options.nowMs);
}
