/**
 * [P] First step of translate: which objects are this gateway's, with their values read, the most senior first.
 */
import type { Account, ApiKey, Group, ModelRoute, Resource } from '#crds/types.gen.ts';
import { findingsOf } from '../status/findings.ts';
import type { Findings } from '../status/findings.ts';
import { secretNameOf } from '../store/key-secret.ts';
import { namespacedName } from '../store/resources.ts';
import type { Resources } from '../store/resources.ts';
import type { GatheredKey } from './api-key.ts';
import { compareName, compareSeniority } from './conflicts.ts';
import { readKeyMaterial, rememberedKeyMaterial } from './key-material.ts';
import { gatherCatalog } from './price-catalog.ts';
import type { GatheredCatalog } from './price-catalog.ts';
import { gatherOnce } from './remember.ts';

/** What this gateway has to do with. */
export interface World {
  /** By seniority. */
  readonly keys: readonly GatheredKey[];
  /** By seniority. */
  readonly catalogs: readonly GatheredCatalog[];
  readonly accounts: readonly Account[];
  /** Accounts of other gateways, by "namespace/name". */
  readonly foreignAccounts: ReadonlySet<string>;
  readonly groups: readonly Group[];
  readonly routes: readonly ModelRoute[];
  /** Objects of the platform team outside of the gateway's namespace. */
  readonly misplaced: readonly Findings[];
}

/** Leaves other gateways' keys and accounts alone, and what is in their namespaces. */
export function gather(resources: Resources, { gatewayNamespace, nowMs }: { readonly gatewayNamespace: string; readonly nowMs: number }): World {
  const isOurs = ({ spec }: ApiKey | Account) => spec.gatewayNamespace === gatewayNamespace;
  const isHere = ({ metadata }: Resource) => metadata.namespace === gatewayNamespace;
  const foreignAccounts = resources.accounts.filter((account) => !isOurs(account));
  const foreignKeys = resources.apiKeys.filter((key) => !isOurs(key));
  const otherGateways = new Set([...foreignAccounts, ...foreignKeys].map(({ spec }) => spec.gatewayNamespace));
  const platform: readonly Resource[] = [...resources.groups, ...resources.modelRoutes, ...resources.priceCatalogs];
  const misplaced = platform.filter((object) => !isHere(object) && !otherGateways.has(object.metadata.namespace));

  return {
    keys: resources.apiKeys.filter(isOurs).toSorted(compareSeniority).map((apiKey) => gatherKey(apiKey, resources, nowMs)),
    catalogs: resources.priceCatalogs.filter(isHere).toSorted(compareSeniority).map(gatherCatalog),
    accounts: resources.accounts.filter(isOurs).toSorted(compareName),
    foreignAccounts: new Set(foreignAccounts.map(({ metadata }) => namespacedName(metadata))),
    groups: resources.groups.filter(isHere).toSorted(compareName),
    routes: resources.modelRoutes.filter(isHere).toSorted(compareName),
    misplaced: misplaced.map((object) => refuseNamespace(object, gatewayNamespace)),
  };
}

function gatherKey(apiKey: ApiKey, { secrets, keySecretsPending }: Resources, nowMs: number): GatheredKey {
  const { namespace } = apiKey.metadata;
  const secret = secrets.get(namespacedName({ namespace, name: secretNameOf(apiKey) }));
  const { metadata } = apiKey;
  if (secret === undefined && keySecretsPending) return { metadata, apiKey, material: rememberedKeyMaterial(apiKey, nowMs) };
  return gatherOnce(apiKey, secret, () => ({ metadata, apiKey, material: readKeyMaterial(apiKey, secret, nowMs) }));
}

function refuseNamespace(object: Resource, gatewayNamespace: string): Findings {
  const message = `A ${object.kind} counts only in the gateway's own namespace, "${gatewayNamespace}".`;
  return { ...findingsOf(object), refused: { reason: 'WrongNamespace', message } };
}
