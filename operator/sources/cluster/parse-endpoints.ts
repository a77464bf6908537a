/** [P] Reads from the EndpointSlices of a Service which pods are ready, and where they accept calls. */
import type { EndpointSlice } from '#kube/models.ts';

export interface ServiceEndpoint {
  readonly address: string;
  readonly port: number;
  /** The port with the health port's name; absent if the slice has none. */
  readonly healthPort?: number;
}

export interface PortNames {
  readonly calls: string;
  readonly health: string;
}

/**
 * The ready endpoints without duplicates, in a fixed order. If none is ready, those that serve while terminating, as in
 * kube-proxy.
 */
export function endpointsOf(slices: Iterable<EndpointSlice>, names: PortNames): readonly ServiceEndpoint[] {
  const ready = new Map<string, ServiceEndpoint>();
  const ending = new Map<string, ServiceEndpoint>();
  for (const { endpoints, ports } of slices) {
    const port = portOf(ports, names.calls);
    if (port === undefined) continue;
    const healthPort = portOf(ports, names.health);
    const places = { ready, ending, neither: undefined };
    for (const { addresses, conditions } of endpoints ?? []) {
      for (const address of addresses.slice(0, 1))
        places[stateOf(conditions)]?.set(`${address} ${port}`, {
          address,
          port,
          ...(healthPort !== undefined && { healthPort }),
        });
    }
  }
  const chosen = ready.size > 0 ? ready : ending;
  return [...chosen].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint);
}

/** A pod of a Service. */
export interface ServicePod {
  readonly name: string;
  readonly uid: string;
}

/** The pods that are ready and not terminating, by name. */
export function readyPodsOf(slices: Iterable<EndpointSlice>): ReadonlyMap<string, ServicePod> {
  const pods = new Map<string, ServicePod>();
  for (const { endpoints } of slices)
    for (const endpoint of endpoints ?? []) {
      const pod = podOf(endpoint);
      if (pod && isReady(endpoint)) pods.set(pod.name, pod);
    }
  return pods;
}

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number];

function podOf({ targetRef: { kind, name, uid = '' } = {} }: Endpoint): ServicePod | undefined {
  return kind === 'Pod' && name !== undefined ? { name, uid } : undefined;
}

function isReady({ conditions }: Endpoint): boolean {
  return stateOf(conditions) === 'ready' && !conditions?.terminating;
}

/** An endpoint without conditions counts as ready, and `serving` defaults to `ready`. */
function stateOf({ ready = true, serving = ready }: { readonly ready?: boolean; readonly serving?: boolean } = {}):
  'ready' | 'ending' | 'neither' {
  if (ready) return 'ready';
  return serving ? 'ending' : 'neither';
}

function portOf(ports: EndpointSlice['ports'], name: string): number | undefined {
  return ports?.find((port) => (port.name ?? '') === name)?.port;
}
