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
import { translateKey } from './api-key.ts';
import { assemble } from './assemble.ts';
import type { Translation } from './assemble.ts';
import { findLosses } from './conflicts.ts';
import { gather } from './gather.ts';
import { translateGroups } from './group.ts';
import { translateRoute } from './model-route.ts';
import { createMemory } from './memory.ts';
import type { TranslationMemory } from './memory.ts';
import { claimedModels, translateCatalog } from './price-catalog.ts';
import { secretsNamedBy } from './references.ts';
import { translateOnce } from './remember.ts';

interface TranslateOptions {
  /** The namespace of this gateway. */
  readonly gatewayNamespace: string;
  readonly nowMs: number;
  /** Why a key could not be made, by its ApiKey's "namespace/name". */
  readonly mintFailures?: ReadonlyMap<string, string>;
  /** Of the translations before; it makes this one quicker, and changes nothing else. */
  readonly memory?: TranslationMemory;
}

const NO_FAILURES: ReadonlyMap<string, string> = new Map();

/** Never throws on admitted resources; the same ones in any order, after whatever others, give the same translation. */
export function translate(resources: Resources, options: TranslateOptions): Translation {
  const memory = memoryOf(options);
  const world = gather(resources, options, memory);

  const lostModels = memory.lostModels([world.catalogs], () => findLosses(world.catalogs, claimedModels));
  const lostHashes = memory.lostHashes(world.keys);

  const catalogs = memory.catalogs(world.catalogs, [lostModels], (catalog) => translateCatalog(catalog, lostModels.get(catalog)));
  const priced = memory.priced([catalogs], () => new Map(catalogs.flatMap(({ message }) => message?.models ?? []).map(({ name, quotaType }) => [name, quotaType])));

  const routes = memory.routes(world.routes, [priced, ...secretsNamedBy(world.routes, resources)], (route) => translateRoute(route, { lookup: resources, priced }));
  const refusedGroups = memory.refusedGroups([resources.malformed], () => new Set(world.malformed.filter(({ kind }) => kind === 'Group').map(({ name }) => name)));
  const groups = memory.groups([world.groups, world.routes, resources.malformed, ...routes.map(({ message }) => message !== undefined)], () => translateGroups(world.groups, {
    accepted: world.routes.filter((_, index) => routes[index]?.message),
    refused: new Set([...routes.filter(({ message }) => !message).map(({ findings }) => findings), ...world.malformed.filter(({ kind }) => kind === 'ModelRoute')].map(({ name }) => name)),
    refusedGroups,
  }));

  const accounts = memory.accounts(world.accounts, [], translateAccount);
  const keyContext = {
    nowMs: options.nowMs,
    namespaces: resources.namespaces,
    groups: memory.groupsByName([groups], () => new Map(groups.map((group) => [group.findings.name, group]))),
    refusedGroups,
    accounts: memory.acceptance([accounts, resources.malformed], () => new Map([
      ...world.malformed.filter(({ kind }) => kind === 'Account').map((findings) => [namespacedName(findings), false] as const),
      ...accounts.map(({ findings, message }) => [namespacedName(findings), message !== undefined] as const),
    ])),
    foreignAccounts: world.foreignAccounts,
    losses: lostHashes,
    mintFailures: options.mintFailures ?? NO_FAILURES,
  };
  const keyInputs = Object.values({ ...keyContext, nowMs: world.period });
  const keys = memory.keys(world.keys, keyInputs, (key) => translateOnce(key, keyContext, () => translateKey(key, keyContext)));

  return assemble({ catalogs, routes, groups, accounts, keys, priced, leftOut: [...world.misplaced, ...world.malformed] }, options.nowMs, memory.assembled);
}

function memoryOf({ memory, gatewayNamespace }: TranslateOptions): TranslationMemory {
  return memory?.gatewayNamespace === gatewayNamespace ? memory : createMemory(gatewayNamespace);
}
