/** Derives the addresses for an edge from the EndpointSlices of the fleet's Service. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { endpointsOf } from '../../../../../operator/sources/cluster/parse-endpoints.ts';
import type { EndpointSlice } from '#kube/models.ts';
import { edgeResources, healthCheckKind } from '../../../../../operator/xds/envoy/edge.ts';
import { Cluster, ClusterLoadAssignment } from '../../../../../operator/xds/envoy/envoy.gen.ts';
import { TYPES } from '../../../../../operator/xds/envoy/types.ts';

const NAMES = { calls: 'http', health: 'admin' };
const PORTS = [
  { name: 'http', port: 8080 },
  { name: 'admin', port: 9090 },
];
type Endpoints = EndpointSlice['endpoints'];

function slice(endpoints: Endpoints, ports: EndpointSlice['ports'] = PORTS): EndpointSlice {
  return { metadata: { name: 'fleet' }, endpoints: endpoints ?? null, ports: ports ?? null };
}

function addresses(...slices: EndpointSlice[]): string[] {
  return endpointsOf(slices, NAMES).map(({ address }) => address);
}

describe('endpoints of the fleet', () => {
  it('are the ready ones, in a fixed order, each once', () => {
    const [a, b] = [{ addresses: ['10.0.0.1'] }, { addresses: ['10.0.0.2'], conditions: { ready: true } }];
    assert.deepEqual(endpointsOf([slice([b, a]), slice([a])], NAMES), [
      { address: '10.0.0.1', port: 8080, healthPort: 9090 },
      { address: '10.0.0.2', port: 8080, healthPort: 9090 },
    ]);
  });

  it('leave out terminating ones, unless there are no others', () => {
    const ready = { addresses: ['10.0.0.1'], conditions: { ready: true } };
    const ending = { addresses: ['10.0.0.2'], conditions: { ready: false, serving: true } };
    const starting = { addresses: ['10.0.0.3'], conditions: { ready: false, serving: false } };
    const silent = { addresses: ['10.0.0.4'], conditions: { ready: false } };
    assert.deepEqual(addresses(slice([ready, ending, starting])), ['10.0.0.1']);
    assert.deepEqual(addresses(slice([ending, starting, silent])), ['10.0.0.2']);
    assert.deepEqual(addresses(slice([starting, silent])), []);
  });

  it('need a port of the right name, and only that', () => {
    const one = [{ addresses: ['10.0.0.1'] }];
    assert.deepEqual(endpointsOf([slice(one, [{ name: 'http', port: 80 }])], NAMES), [
      { address: '10.0.0.1', port: 80 },
    ]);
    assert.deepEqual(addresses(slice(one, [{ name: 'web', port: 80 }])), []);
    assert.deepEqual(addresses(slice(one, null), slice(null)), []);
  });
});

describe('the configuration of an edge', () => {
  const built = (endpoints: Parameters<typeof healthCheckKind>[0], health: 'Readyz' | 'Connect', tlsFolder?: string) =>
    new Map(
      edgeResources({ endpoints, health, listener: { host: '0.0.0.0', port: 8080, tlsFolder } }).map(
        ({ typeUrl, resources }) => [typeUrl, resources],
      ),
    );

  it('is empty, not absent, while there is no endpoint', () => {
    const [assignment] = built([], 'Connect').get(TYPES.endpoints) ?? [];
    assert.deepEqual(ClusterLoadAssignment.decode(assignment?.value ?? new Uint8Array()), {
      clusterName: 'model-gateway',
      endpoints: [],
    });
  });

  it('has a certificate only if there is a folder for it', () => {
    assert.deepEqual(built([], 'Connect').get(TYPES.secret), []);
    assert.equal(built([], 'Connect', '/tls').get(TYPES.secret)?.length, 1);
  });

  it('uses the protocol that proxies support, and keeps it without them', () => {
    const [known, silent] = [
      { address: 'a', port: 1, healthPort: 2 },
      { address: 'b', port: 1 },
    ];
    assert.deepEqual(
      [
        healthCheckKind([known], 'Connect'),
        healthCheckKind([known, silent], 'Readyz'),
        healthCheckKind([], 'Readyz'),
        healthCheckKind([], 'Connect'),
      ],
      ['Readyz', 'Connect', 'Readyz', 'Connect'],
    );
    for (const health of ['Readyz', 'Connect'] as const) {
      const [{ value } = { value: new Uint8Array() }] = built([known], health).get(TYPES.cluster) ?? [];
      const [check] = Cluster.decode(value).healthChecks ?? [];
      assert.deepEqual(
        [check?.httpHealthCheck?.path, check?.tcpHealthCheck !== undefined],
        health === 'Readyz' ? ['/readyz', false] : [undefined, true],
      );
    }
  });
});
