/**
 * [P] The control plane in one function: translates users' objects to the proxies' snapshot and the findings for
 * statuses.
 *   gather     selects this gateway's objects and reads their Secrets
 *   conflicts  decides between objects that claim the same thing
 *   per kind   prices, routes and groups; accounts and keys by namespace
 *   assemble   one sorted, frozen snapshot, the findings, and the time of the next change
 */
import { pricesOf } from '#snapshot/catalog-prices.ts';
import type { Resources } from '#objects/resources.ts';
import { assemble } from './assemble.ts';
import type { Translation } from './assemble.ts';
import { findConflicts } from './conflicts.ts';
import { gather } from './gather.ts';
import type { TranslationInput } from './gather.ts';
import type { GroupIndex } from './api-key.ts';
import { translateGroups } from './group.ts';
import type { TranslatedGroup } from './group.ts';
import { memoize } from './memoize.ts';
import { findDifferingLimits } from './model-limits.ts';
import { channelIdsOf, costCatalogsOf, translateRoute } from './model-route.ts';
import {
  claimedModels,
  countsAlways,
  nextPriceChange,
  pricedChannels,
  pricesInForce,
  translateCatalog,
} from './price-catalog.ts';
import { findKeyConflicts, translateTenant } from './tenant.ts';

interface TranslateOptions {
  /** The namespace of this gateway. */
  readonly gatewayNamespace: string;
  readonly nowMs: number;
  /** Why a key could not be created, by its ApiKey's "namespace/name". */
  readonly mintFailures?: ReadonlyMap<string, string>;
  /**
   * 32 bytes each, in Base64: the first key seals what clients keep for the proxies, all keys open it. Default: none.
   */
  readonly sealingKeys?: readonly string[];
  /** The labels that usage records carry. Default: none. */
  readonly usageLabels?: readonly string[];
}

const NO_FAILURES: ReadonlyMap<string, string> = new Map();
const NO_LABELS: readonly string[] = [];

/** Never throws on admitted resources. Their order does not affect the result. */
export function translate(resources: Resources, options: TranslateOptions): Translation {
  const input = gather(resources, options);
  const inForce = input.catalogs.map((catalog) => pricesInForce(catalog, options.nowMs));
  const modelConflicts = findConflicts(inForce, claimedModels, countsAlways);
  const costCatalogs = new Set(input.routes.flatMap(costCatalogsOf));
  const channels = new Set(input.routes.flatMap(channelIdsOf));
  const catalogs = inForce.map((catalog) =>
    translateCatalog(catalog, {
      lost: modelConflicts.get(catalog),
      isCost: costCatalogs.has(catalog.metadata.name),
      unknownChannels: pricedChannels(catalog).filter((channel) => !channels.has(channel)),
    }),
  );
  const prices = catalogs.flatMap(({ message }) => (message ? pricesOf(message) : []));
  const priced = new Map(prices.map(({ name, quotaType }) => [name, quotaType]));

  const differingLimits = findDifferingLimits(input.routes);
  const { sealingKeys = [] } = options;
  const accepted = new Set(catalogs.filter(({ message }) => message).map(({ findings }) => findings.name));
  const routes = input.routes.map((route) =>
    translateRoute(route, { lookup: resources, priced, catalogs: accepted, differingLimits, sealingKeys }),
  );
  const refusedGroups = namesOf(input, 'Group');
  const groups = translateGroups(input.groups, {
    accepted: input.routes.filter((_, index) => routes[index]?.message),
    refused: new Set([
      ...routes.filter(({ message }) => !message).map(({ findings }) => findings.name),
      ...namesOf(input, 'ModelRoute'),
    ]),
    refusedGroups,
  });

  const tenantContext = {
    nowMs: options.nowMs,
    namespaces: resources.namespaces,
    groups: indexGroups(resources.groups, groups, refusedGroups),
    conflicts: findKeyConflicts(input.tenants),
    mintFailures: options.mintFailures ?? NO_FAILURES,
    usageLabels: options.usageLabels ?? NO_LABELS,
  };
  const tenants = input.tenants.map((tenant) => translateTenant(tenant, tenantContext));

  return assemble({
    catalogs,
    routes,
    groups,
    tenants,
    priced,
    claims: new Map(inForce.map((catalog) => [catalog.metadata.name, claimedModels(catalog)])),
    leftOut: [...input.misplaced, ...input.malformed],
    nextPriceChangeMs: nextPriceChange(input.catalogs, options.nowMs),
  });
}

const indexed = memoize<Resources['groups'], GroupIndex>();

/** The same index as long as no group differs, because each namespace's translation depends on it. */
function indexGroups(
  source: Resources['groups'],
  groups: readonly TranslatedGroup[],
  refused: ReadonlySet<string>,
): GroupIndex {
  return indexed(source, [groups.length, ...groups, ...refused], () => ({
    refused,
    byName: new Map(groups.map((group) => [group.findings.name, group])),
  }));
}

/** Names of the objects of a kind that are invalid by the current schema. */
function namesOf({ malformed }: TranslationInput, kind: 'Group' | 'ModelRoute'): ReadonlySet<string> {
  return new Set(malformed.filter((findings) => findings.kind === kind).map(({ name }) => name));
}
