/**
 * [P] First step of translate: selects this gateway's objects, parses their values, and sorts them by namespace and
 * name.
 */
import type { Account, ApiKey, Group, ModelRoute, Resource } from '#crds/types.gen.ts';
import { findingsOf } from '../status/findings.ts';
import type { Findings } from '../status/findings.ts';
import { hasPreviousKeys, secretIdOf } from '../store/key-secret.ts';
import { accountIdOf, namespacedName } from '../store/resources.ts';
import type { MalformedObject, Resources } from '../store/resources.ts';
import type { GatheredKey } from './api-key.ts';
import { compareName } from './conflicts.ts';
import { readKeyMaterial } from './key-material.ts';
import { memoize } from './memoize.ts';
import { gatherCatalog } from './price-catalog.ts';
import type { GatheredCatalog } from './price-catalog.ts';
import { refuseInvalid } from './translated.ts';

/** This gateway's objects. */
export interface TranslationInput {
  readonly keys: readonly GatheredKey[];
  readonly catalogs: readonly GatheredCatalog[];
  readonly accounts: readonly Account[];
  /** Accounts of other gateways, by "namespace/name". */
  readonly foreignAccounts: ReadonlySet<string>;
  readonly groups: readonly Group[];
  readonly routes: readonly ModelRoute[];
  /** Objects that are invalid by the current schema. */
  readonly malformed: readonly Findings[];
  /** Platform objects outside of the gateway's namespace. */
  readonly misplaced: readonly Findings[];
}

interface GatherOptions {
  readonly gatewayNamespace: string;
  readonly nowMs: number;
}

/** The objects that an ApiKey references, by "namespace/name". */
interface References {
  readonly secret: string;
  readonly account: string;
}

const references = memoize<ApiKey, References>();
const gathered = memoize<ApiKey, GatheredKey>();

/** Skips the keys and accounts of other gateways, and the platform objects in their namespaces. */
export function gather(resources: Resources, { gatewayNamespace, nowMs }: GatherOptions): TranslationInput {
  const isOurs = ({ spec }: ApiKey | Account): boolean => spec.gatewayNamespace === gatewayNamespace;
  const isHere = ({ metadata }: Resource): boolean => metadata.namespace === gatewayNamespace;
  const foreignAccounts = resources.accounts.filter((account) => !isOurs(account));
  const foreignKeys = resources.apiKeys.filter((apiKey) => !isOurs(apiKey));
  const otherGateways = new Set([...foreignAccounts, ...foreignKeys].map(({ spec }) => spec.gatewayNamespace));
  const platform: readonly Resource[] = [...resources.groups, ...resources.modelRoutes, ...resources.priceCatalogs];

  return {
    keys: resources.apiKeys.filter(isOurs).sort(compareName).map((apiKey) => gatherKey(apiKey, resources, nowMs)),
    catalogs: resources.priceCatalogs.filter(isHere).sort(compareName).map(gatherCatalog),
    accounts: resources.accounts.filter(isOurs).sort(compareName),
    foreignAccounts: new Set(foreignAccounts.map(({ metadata }) => namespacedName(metadata))),
    groups: resources.groups.filter(isHere).sort(compareName),
    routes: resources.modelRoutes.filter(isHere).sort(compareName),
    malformed: refuseMalformed(resources.malformed ?? [], gatewayNamespace),
    misplaced: platform.filter((object) => !isHere(object) && !otherGateways.has(object.metadata.namespace))
      .map((object) => refuseNamespace(object, gatewayNamespace)),
  };
}

function gatherKey(apiKey: ApiKey, { secrets }: Resources, nowMs: number): GatheredKey {
  const ids = references(apiKey, [], () => ({ secret: secretIdOf(apiKey), account: accountIdOf(apiKey) }));
  const secret = secrets.get(ids.secret);
  const key = { metadata: apiKey.metadata, apiKey, account: ids.account };
  // with the time, because previous keys expire
  const inputs = secret && hasPreviousKeys(secret) ? [secret, nowMs] : [secret];
  return gathered(apiKey, inputs, () => ({ ...key, material: readKeyMaterial(apiKey, secret, nowMs) }));
}

function refuseMalformed(objects: readonly MalformedObject[], gateway: string): Findings[] {
  const isTenants = ({ kind }: MalformedObject): boolean => kind === 'ApiKey' || kind === 'Account';
  return objects
    .filter((object) => (isTenants(object) ? object.gatewayNamespace : object.metadata.namespace) === gateway)
    .map((object) => refuseInvalid(findingsOf(object), object.faults).findings);
}

function refuseNamespace(object: Resource, gatewayNamespace: string): Findings {
  const message = `A ${object.kind} counts only in the gateway's own namespace, "${gatewayNamespace}".`;
  return { ...findingsOf(object), refused: { reason: 'WrongNamespace', message } };
}
