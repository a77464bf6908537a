/**
 * [P] First step of translate: selects this gateway's objects, parses their values, and sorts them by namespace and
 * name.
 */
import { isTenants } from '#crds/kinds.ts';
import type { Group, ModelRoute, Resource } from '#crds/types.gen.ts';
import { compareText } from '#snapshot/sorted.ts';
import { findingsOf } from '../status/findings.ts';
import type { Findings } from '../status/findings.ts';
import { allOf } from '#objects/resources.ts';
import type { MalformedObject, Resources } from '#objects/resources.ts';
import { compareName } from './conflicts.ts';
import { gatherCatalog } from './price-catalog.ts';
import type { GatheredCatalog } from './price-catalog.ts';
import { gatherTenant } from './tenant.ts';
import type { GatheredTenant, GatherOptions } from './tenant.ts';
import { refuseInvalid } from './translated.ts';

/** This gateway's objects. */
export interface TranslationInput {
  /** Sorted by namespace. */
  readonly tenants: readonly GatheredTenant[];
  readonly catalogs: readonly GatheredCatalog[];
  readonly groups: readonly Group[];
  readonly routes: readonly ModelRoute[];
  /** Objects that are invalid by the current schema. */
  readonly malformed: readonly Findings[];
  /** Platform objects outside of the gateway's namespace. */
  readonly misplaced: readonly Findings[];
}

/** Skips the keys and accounts of other gateways, and the platform objects in their namespaces. */
export function gather(resources: Resources, options: GatherOptions): TranslationInput {
  const { gatewayNamespace } = options;
  const isHere = ({ metadata }: Resource): boolean => metadata.namespace === gatewayNamespace;
  const namespaces = new Set([...resources.apiKeys.keys(), ...resources.accounts.keys()]);
  const tenants = [...namespaces].sort(compareText).map((namespace) => gatherTenant(namespace, resources, options));
  const otherGateways = new Set(tenants.flatMap((tenant) => [...tenant.otherGateways]));
  const platform: readonly Resource[] = [...resources.groups, ...resources.modelRoutes, ...resources.priceCatalogs];

  return {
    tenants,
    catalogs: resources.priceCatalogs.filter(isHere).sort(compareName).map(gatherCatalog),
    groups: resources.groups.filter(isHere).sort(compareName),
    routes: resources.modelRoutes.filter(isHere).sort(compareName),
    malformed: refuseMalformed(allOf(resources.malformed ?? new Map()), gatewayNamespace),
    misplaced: platform
      .filter((object) => !isHere(object) && !otherGateways.has(object.metadata.namespace))
      .map((object) => refuseNamespace(object, gatewayNamespace)),
  };
}

function refuseMalformed(objects: readonly MalformedObject[], gateway: string): Findings[] {
  return objects
    .filter((object) => (isTenants(object) ? object.gatewayNamespace : object.metadata.namespace) === gateway)
    .map((object) => refuseInvalid(findingsOf(object), object.faults, object.reason).findings);
}

function refuseNamespace(object: Resource, gatewayNamespace: string): Findings {
  const message = `A ${object.kind} applies only in the namespace of the gateway, "${gatewayNamespace}".`;
  return { ...findingsOf(object), refused: { reason: 'WrongNamespace', message } };
}
