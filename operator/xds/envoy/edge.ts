/**
 * [P] What an Envoy in front of the fleet is given: one listener, its routes, the fleet as a cluster, and the fleet's
 * endpoints. All of it follows from where the proxies are and where the edge listens; nothing in it is secret.
 */
import { buildCluster, buildEndpoints } from './cluster.ts';
import type { FleetEndpoint, HealthCheckKind } from './cluster.ts';
import { buildCertificate, buildListener } from './listener.ts';
import type { ListenerOptions } from './listener.ts';
import { buildRoutes } from './routes.ts';
import { NAMES, TYPES } from './types.ts';

export interface EdgeOptions {
  readonly endpoints: readonly FleetEndpoint[];
  /** Should stay what it is: another one makes Envoy build the cluster anew. */
  readonly health: HealthCheckKind;
  readonly listener: ListenerOptions;
}

/** All resources of one type. */
interface EdgeResources {
  readonly typeUrl: string;
  readonly resources: readonly { readonly name: string; readonly value: Uint8Array }[];
}

/** In the order in which they are to be published: what is referred to comes first. */
export function edgeResources({ endpoints, health, listener }: EdgeOptions): readonly EdgeResources[] {
  const { tlsFolder } = listener;
  return [
    { typeUrl: TYPES.secret, resources:
      tlsFolder === undefined ? [] : [{ name: NAMES.certificate, value: buildCertificate(tlsFolder) }] },
    { typeUrl: TYPES.cluster, resources: [{ name: NAMES.cluster, value: buildCluster(health) }] },
    { typeUrl: TYPES.endpoints, resources: [{ name: NAMES.cluster, value: buildEndpoints(endpoints) }] },
    { typeUrl: TYPES.listener, resources: [{ name: NAMES.listener, value: buildListener(listener) }] },
    { typeUrl: TYPES.routes, resources: [{ name: NAMES.routes, value: buildRoutes() }] },
  ];
}

/** What can be asked of these endpoints; without any it stays what it was. */
export function healthCheckKind(endpoints: readonly FleetEndpoint[], before: HealthCheckKind): HealthCheckKind {
  if (endpoints.length === 0) return before;
  return endpoints.every(({ healthPort }) => healthPort !== undefined) ? 'Readyz' : 'Connect';
}
