/**
 * [P] The resources for an Envoy in front of the fleet: one listener, its routes, the fleet as a cluster, and the
 * fleet's endpoints. All of them follow from the proxies' addresses and the edge's listener; nothing in them is secret.
 */
import { buildCluster, buildEndpoints } from './cluster.ts';
import type { FleetEndpoint, HealthCheckKind } from './cluster.ts';
import { buildCertificate, buildListener } from './listener.ts';
import type { ListenerOptions } from './listener.ts';
import { buildRoutes } from './routes.ts';
import { NAMES, TYPES } from './types.ts';

export interface EdgeOptions {
  readonly endpoints: readonly FleetEndpoint[];
  /** Should not change, because Envoy would then build the cluster again. */
  readonly health: HealthCheckKind;
  readonly listener: ListenerOptions;
}

/** All resources of one type. */
interface EdgeResources {
  readonly typeUrl: string;
  readonly resources: readonly { readonly name: string; readonly value: Uint8Array }[];
}

/** In the order of publication: a resource comes before those that refer to it. */
export function edgeResources({ endpoints, health, listener }: EdgeOptions): readonly EdgeResources[] {
  const { tlsFolder } = listener;
  return [
    {
      typeUrl: TYPES.secret,
      resources: tlsFolder === undefined ? [] : [{ name: NAMES.certificate, value: buildCertificate(tlsFolder) }],
    },
    { typeUrl: TYPES.cluster, resources: [{ name: NAMES.cluster, value: buildCluster(health) }] },
    { typeUrl: TYPES.endpoints, resources: [{ name: NAMES.cluster, value: buildEndpoints(endpoints) }] },
    { typeUrl: TYPES.listener, resources: [{ name: NAMES.listener, value: buildListener(listener) }] },
    { typeUrl: TYPES.routes, resources: [{ name: NAMES.routes, value: buildRoutes() }] },
  ];
}

/** The check that these endpoints support; without endpoints, the previous one. */
export function healthCheckKind(endpoints: readonly FleetEndpoint[], before: HealthCheckKind): HealthCheckKind {
  if (endpoints.length === 0) return before;
  return endpoints.every(({ healthPort }) => healthPort !== undefined) ? 'Readyz' : 'Connect';
}
