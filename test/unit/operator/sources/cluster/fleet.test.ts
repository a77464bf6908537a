/** Which ready pods of the proxies' Service are missing among the connected proxies, and when that is told. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'vitest';
import { watchFleet } from '../../../../../operator/sources/cluster/fleet.ts';
import type { Fleet } from '../../../../../operator/sources/cluster/fleet.ts';
import type { KubeRequest, WatchEvent } from '#kube/client.ts';
import type { EndpointSlice } from '#kube/models.ts';
import { readyPodsOf } from '../../../../../operator/sources/cluster/parse-endpoints.ts';
import { fakeClock, NO_LOG, NO_METER, settled } from '../../fake-clock.ts';

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number];

function pod(name: string, conditions: Endpoint['conditions'] = { ready: true }): Endpoint {
  return { addresses: ['10.0.0.1'], targetRef: { kind: 'Pod', name, uid: `uid-${name}` }, conditions };
}

function slice(...endpoints: Endpoint[]): EndpointSlice {
  return { metadata: { name: 'fleet-1', resourceVersion: '1' }, endpoints };
}

describe('the pods of a Service', () => {
  it('count while they are ready, whatever the slices are', () => {
    const pods = readyPodsOf([
      slice(pod('a'), pod('b', { ready: false })),
      slice(pod('a'), pod('c', { ready: true, terminating: true }), { addresses: ['10.0.0.2'] }),
      { metadata: { name: 'empty' }, endpoints: null },
    ]);
    assert.deepEqual([...pods.values()], [{ name: 'a', uid: 'uid-a' }]);
  });
});

describe('the fleet', () => {
  const clock = fakeClock();
  let fleet: Fleet;
  let slices: EndpointSlice[];
  let names: ReadonlySet<string> | undefined;
  let leading: boolean;
  let changes: number;
  let told: string[];
  let tell: () => void;
  let end: (() => void) | undefined;

  /** The watch ends, and the next list has other slices. */
  const relist = async (...next: EndpointSlice[]): Promise<void> => {
    slices = next;
    end?.();
    await settled();
    await clock.pass(1_000);
  };
  const connect = (...connected: string[]): void => {
    names = new Set(connected);
    tell();
  };
  const missing = (): readonly string[] | undefined => fleet.progress('ApiKey team-a/ci')?.missing;

  beforeEach(async () => {
    slices = [slice(pod('a'), pod('b'))];
    names = new Set(['a', 'b']);
    leading = true;
    changes = 0;
    told = [];
    fleet = watchFleet({
      namespace: 'model-gateway',
      service: 'model-gateway-fleet',
      clock,
      meter: NO_METER,
      log: NO_LOG,
      leading: () => leading,
      onMissing: () => void changes++,
      onLongMissing: ({ name, uid }) => void told.push(`${name} ${uid}`),
      proxies: {
        progress: () => ({ version: 'v1', connected: 1, acknowledged: 1, rejected: [], convergedMs: 5 }),
        connectedNames: () => names,
        onNames(listener) {
          tell = listener;
          return () => undefined;
        },
      },
      client: {
        async request<T>({ path }: KubeRequest): Promise<T> {
          assert.match(path, /namespaces\/model-gateway\/endpointslices\?.*service-name%3Dmodel-gateway-fleet/);
          return { metadata: { resourceVersion: '1' }, items: slices } as T;
        },
        async *watch(_path, signal): AsyncGenerator<WatchEvent> {
          await new Promise<void>((resolve) => {
            end = resolve;
            signal.addEventListener('abort', () => resolve());
          });
          yield { type: 'ERROR', object: { code: 410 } };
        },
      },
    });
    await settled();
  });
  afterEach(() => fleet.stop());

  it('names the ready pods that are not connected, at once', () => {
    assert.deepEqual(missing(), []);
    names = new Set(['b']);
    assert.deepEqual(missing(), ['a'], 'before anybody has told of it');
    tell();
    assert.equal(changes, 1);
    connect('b', 'elsewhere');
    assert.equal(changes, 1, 'the same are missing');
    assert.equal(fleet.missing, 1);
    connect('a', 'b');
    assert.deepEqual([missing(), changes], [[], 2]);
  });

  it('names nobody where names are unknown, or this replica does not lead', () => {
    names = undefined;
    tell();
    assert.deepEqual(missing(), []);
    connect('b');
    leading = false;
    fleet.leadChanged();
    assert.deepEqual([missing(), changes], [[], 2]);
  });

  it('follows the Service', async () => {
    connect('a');
    assert.deepEqual(missing(), ['b']);
    await relist(slice(pod('a'), pod('b', { ready: false }), pod('c')));
    assert.deepEqual(missing(), ['c']);
  });

  it('tells once of a pod that stays away, and again of its next absence', async () => {
    connect('a');
    await clock.pass(19_000);
    connect('a', 'b');
    connect('a');
    await clock.pass(19_000);
    assert.deepEqual(told, [], 'short absences are usual');
    await clock.pass(2_000);
    assert.deepEqual(told, ['b uid-b']);
    await clock.pass(600_000);
    assert.equal(told.length, 1);
    connect('a', 'b');
    connect('b');
    await clock.pass(21_000);
    assert.deepEqual(told, ['b uid-b', 'a uid-a']);
  });
});
