/**
 * [P] First step of translate: which objects are this gateway's, with their values read, the most senior first.
 */
import type { Account, ApiKey, Group, ModelRoute, Resource } from '#crds/types.gen.ts';
import { findingsOf } from '../status/findings.ts';
import type { Findings } from '../status/findings.ts';
import { secretIdOf } from '../store/key-secret.ts';
import { namespacedName } from '../store/resources.ts';
import type { MalformedObject, Resources } from '../store/resources.ts';
import type { GatheredKey } from './api-key.ts';
import { readKeyMaterial, rememberedKeyMaterial } from './key-material.ts';
import type { TranslationMemory } from './memory.ts';
import { gatherCatalog } from './price-catalog.ts';
import type { GatheredCatalog } from './price-catalog.ts';
import { gatherOnce } from './remember.ts';
import { refuseInvalid } from './translated.ts';

/** What this gateway has to do with. */
interface World {
  /** By seniority. */
  readonly keys: readonly GatheredKey[];
  /** The same object as long as time alone has changed nothing about keys. */
  readonly period: object;
  /** By seniority. */
  readonly catalogs: readonly GatheredCatalog[];
  readonly accounts: readonly Account[];
  /** Accounts of other gateways, by "namespace/name". */
  readonly foreignAccounts: ReadonlySet<string>;
  readonly groups: readonly Group[];
  readonly routes: readonly ModelRoute[];
  /** Objects that today's schema refuses. */
  readonly malformed: readonly Findings[];
  /** Objects of the platform team outside of the gateway's namespace. */
  readonly misplaced: readonly Findings[];
}

interface GatherOptions {
  readonly gatewayNamespace: string;
  readonly nowMs: number;
}

/** Leaves other gateways' keys and accounts alone, and what is in their namespaces. */
export function gather(resources: Resources, { gatewayNamespace, nowMs }: GatherOptions, memory: TranslationMemory): World {
  const { chosen } = memory;
  const foreignAccounts = chosen.foreignAccounts(resources.accounts);
  const otherGateways = new Set([...foreignAccounts, ...chosen.foreignKeys(resources.apiKeys)].map(({ spec }) => spec.gatewayNamespace));
  const platform: readonly Resource[] = [...resources.groups, ...resources.modelRoutes, ...resources.priceCatalogs];
  const misplaced = platform.filter(({ metadata: { namespace } }) => namespace !== gatewayNamespace && !otherGateways.has(namespace));

  if (nowMs < memory.period.fromMs || nowMs >= memory.period.untilMs) memory.period = { fromMs: nowMs, untilMs: nowMs };
  const concerned = memory.keysConcerned(resources.apiKeys, memory.secrets, resources.secrets);
  const keys = memory.gatheredKeys(chosen.keys(resources.apiKeys), [memory.period, resources.keySecretsPending], (apiKey) => gatherKey(apiKey, resources, nowMs), concerned);
  memory.secrets = resources.secrets;
  memory.period.fromMs = nowMs;
  memory.period.untilMs = memory.nextOfKeys(keys, nowMs) ?? Number.POSITIVE_INFINITY;

  return {
    keys,
    period: memory.period,
    catalogs: memory.gatheredCatalogs(chosen.catalogs(resources.priceCatalogs), [], gatherCatalog),
    accounts: chosen.accounts(resources.accounts),
    foreignAccounts: memory.foreignAccountNames([foreignAccounts], () => new Set(foreignAccounts.map(({ metadata }) => namespacedName(metadata)))),
    groups: chosen.groups(resources.groups),
    routes: chosen.routes(resources.modelRoutes),
    malformed: refuseMalformed(resources.malformed ?? [], gatewayNamespace),
    misplaced: misplaced.map((object) => refuseNamespace(object, gatewayNamespace)),
  };
}

function gatherKey(apiKey: ApiKey, { secrets, keySecretsPending }: Resources, nowMs: number): GatheredKey {
  const secret = secrets.get(secretIdOf(apiKey));
  const { metadata } = apiKey;
  if (secret === undefined && keySecretsPending) return { metadata, apiKey, material: rememberedKeyMaterial(apiKey, nowMs) };
  return gatherOnce(apiKey, secret, () => ({ metadata, apiKey, material: readKeyMaterial(apiKey, secret, nowMs) }));
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
