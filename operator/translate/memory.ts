/**
 * [P] What a series of translations remembers from one to the next, list by list, so that an edit among ten thousand objects costs
 * what it changes. It holds only what the same objects would lead to again: with a memory or without one, a translation is the same.
 */
import type { Account, ApiKey, Group, ModelRoute, PriceCatalog, Resource } from '#crds/types.gen.ts';
import type { Account as AccountMessage, Key, ModelRoute as ModelRouteMessage, PriceCatalog as PriceCatalogMessage, QuotaType } from '#snapshot/snapshot.gen.ts';
import type { Findings } from '../status/findings.ts';
import { keepKeysBySecret } from '../store/keys-by-secret.ts';
import { keepMapped, keepNextMoment, keepResult, keepSorted, sameEntries } from '../store/kept-list.ts';
import type { Resources } from '../store/resources.ts';
import { claimedHashes } from './api-key.ts';
import type { GatheredKey, TranslatedKey } from './api-key.ts';
import { compareName, compareSeniority, keepLosses } from './conflicts.ts';
import type { Losses } from './conflicts.ts';
import type { TranslatedGroup } from './group.ts';
import type { GatheredCatalog } from './price-catalog.ts';
import type { Translated } from './translated.ts';
import { compareText } from './words.ts';

const NO_SECRETS: Resources['secrets'] = new Map();

export type TranslationMemory = ReturnType<typeof createMemory>;

/** For translations of one gateway. */
export function createMemory(gatewayNamespace: string) {
  const isOurs = ({ spec }: ApiKey | Account): boolean => spec.gatewayNamespace === gatewayNamespace;
  const isForeign = (object: ApiKey | Account): boolean => !isOurs(object);
  const isHere = ({ metadata }: Resource): boolean => metadata.namespace === gatewayNamespace;
  return {
    gatewayNamespace,
    /** Which objects count, in their order. */
    chosen: {
      keys: keepSorted<ApiKey>(compareSeniority, isOurs),
      foreignKeys: keepSorted<ApiKey>(compareName, isForeign),
      accounts: keepSorted<Account>(compareName, isOurs),
      foreignAccounts: keepSorted<Account>(compareName, isForeign),
      groups: keepSorted<Group>(compareName, isHere),
      routes: keepSorted<ModelRoute>(compareName, isHere),
      catalogs: keepSorted<PriceCatalog>(compareSeniority, isHere),
    },
    secrets: NO_SECRETS,
    keysConcerned: keepKeysBySecret(),
    gatheredKeys: keepMapped<ApiKey, GatheredKey>(),
    gatheredCatalogs: keepMapped<PriceCatalog, GatheredCatalog>(),
    foreignAccountNames: keepResult<ReadonlySet<string>>(),
    nextOfKeys: keepNextMoment(momentsOfKey),
    /** Another one whenever time alone may have changed what a key comes to. */
    period: { fromMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY },
    lostModels: keepResult<Losses<GatheredCatalog>>(),
    lostHashes: keepLosses<GatheredKey>(claimedHashes),
    catalogs: keepMapped<GatheredCatalog, Translated<PriceCatalogMessage>>(),
    priced: keepResult<ReadonlyMap<string, QuotaType>>(),
    routes: keepMapped<ModelRoute, Translated<ModelRouteMessage>>(),
    refusedGroups: keepResult<ReadonlySet<string>>(),
    groups: keepResult<readonly TranslatedGroup[]>(),
    groupsByName: keepResult<ReadonlyMap<string, TranslatedGroup>>(),
    accounts: keepMapped<Account, Translated<AccountMessage>>(),
    acceptance: keepResult<ReadonlyMap<string, boolean>>(sameEntries),
    keys: keepMapped<GatheredKey, TranslatedKey>(),
    assembled: {
      keyOrder: keepSorted<TranslatedKey>(compareTranslated),
      publishedKeyOrder: keepSorted<TranslatedKey>(compareTranslated, ({ message }) => message !== undefined),
      keys: keepMapped<TranslatedKey, Key>(),
      keyFindings: keepMapped<TranslatedKey, Findings>(),
      accountFindings: keepMapped<Translated<AccountMessage>, Findings>(),
      nextOfMessages: keepNextMoment(momentsOfMessage),
      keysByGroup: new Map<string, number>(),
      counted: [] as readonly TranslatedKey[],
    },
  };
}

function compareTranslated({ findings: a }: TranslatedKey, { findings: b }: TranslatedKey): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

const NO_MOMENTS: readonly number[] = [];

function momentsOfKey({ apiKey: { spec }, material }: GatheredKey): readonly number[] {
  const ends = material.state === 'Present' && material.previous.length > 0 ? material.previous.map(({ notAfterMs }) => notAfterMs) : NO_MOMENTS;
  return spec.expirationTime === undefined ? ends : [...ends, Date.parse(spec.expirationTime)];
}

/** An expiration, and the ends of overlaps; of most keys neither. */
function momentsOfMessage({ message }: TranslatedKey): readonly number[] {
  if (!message || (message.expirationMs === undefined && message.hashes.length === 1 && message.hashes[0]?.notAfterMs === undefined)) return NO_MOMENTS;
  return [message.expirationMs, ...message.hashes.map(({ notAfterMs }) => notAfterMs)].flatMap((ms) => ms === undefined ? [] : [Number(ms)]);
}
