/** One stream of the proxy, message by message: order, acknowledgements, and recovery when the two sides differ. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { Resource } from '#snapshot/discovery.gen.ts';
import type { DeltaDiscoveryRequest } from '#snapshot/discovery.gen.ts';
import { Checkpoint, ResourceFault } from '#snapshot/fleet.gen.ts';
import {
  CHECKPOINT_TYPE,
  encodeObject,
  RESOURCE_TYPES,
  resourceName,
  SetDigest,
  typeUrlOf,
} from '#snapshot/resources.ts';
import type { SnapshotField } from '#snapshot/resources.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { ValidConfig } from '../../../../dataplane/state/compile-edit.ts';
import { Inventory } from '../../../../dataplane/xds/inventory.ts';
import { XdsStream } from '../../../../dataplane/xds/stream.ts';
import { accountOf, hashOf } from '../../contract/snapshot/objects.ts';
import { numberedKey } from './support.ts';

const KEYS = typeUrlOf('keys');

interface Scene {
  readonly stream: XdsStream;
  readonly inventory: Inventory;
  readonly sent: DeltaDiscoveryRequest[];
  readonly installed: ValidConfig[];
  readonly rounds: boolean[];
  /** Runs the work that waits until all received messages are handled. */
  settle(): void;
  give(field: SnapshotField, objects: readonly Snapshot[SnapshotField][number][], removed?: readonly string[]): void;
  /** The end of a round; by default it agrees with the sent resources. */
  end(wrong?: boolean): void;
  /** The acknowledged nonces, rejected ones with an "!". */
  answers(): string[];
}

function scene(inventory = new Inventory(), fresh = false): Scene {
  const sent: DeltaDiscoveryRequest[] = [];
  const installed: ValidConfig[] = [];
  const rounds: boolean[] = [];
  const waiting: (() => void)[] = [];
  let nonce = 0;
  const stream = new XdsStream({
    inventory,
    nodeId: 'n',
    version: 'v',
    fresh,
    send: (request) => sent.push(request),
    install: (config) => installed.push(config),
    onRound: (consistent) => rounds.push(consistent),
    onRefused: () => undefined,
    soon: (run) => waiting.push(run),
  });
  stream.begin();
  return {
    stream,
    inventory,
    sent,
    installed,
    rounds,
    settle: () => {
      for (const run of waiting.splice(0)) run();
    },
    give(field, objects, removedResources = []) {
      const typeUrl = typeUrlOf(field);
      const resources = objects.map((object) =>
        Resource.encode({
          name: resourceName(object),
          version: `v${object.generation}`,
          resource: { typeUrl, value: encodeObject(field, object) },
        }).finish(),
      );
      stream.receive({ systemVersionInfo: '', typeUrl, nonce: String((nonce += 1)), resources, removedResources });
    },
    end(wrong = false) {
      const digest = new SetDigest();
      for (const { field, typeUrl } of RESOURCE_TYPES)
        for (const { name, version } of inventory.held(field)) digest.add(typeUrl, name, version);
      for (const { name, version, typeUrl } of pending) digest.add(typeUrl, name, version);
      const value = Checkpoint.encode({ resources: digest.count + Number(wrong), digest: digest.text }).finish();
      stream.receive({
        systemVersionInfo: '',
        typeUrl: CHECKPOINT_TYPE,
        nonce: String((nonce += 1)),
        resources: [
          Resource.encode({
            name: 'checkpoint',
            version: `c${nonce}`,
            resource: { typeUrl: CHECKPOINT_TYPE, value },
          }).finish(),
        ],
        removedResources: [],
      });
    },
    answers: () =>
      sent
        .filter(({ responseNonce }) => responseNonce !== '')
        .map(({ responseNonce, errorDetail }) => `${responseNonce}${errorDetail ? '!' : ''}`),
  };
}

/** A test's additions to the held resources, for the digest of the next end. */
let pending: { typeUrl: string; name: string; version: string }[] = [];

function expectKeys(...objects: readonly Snapshot['keys'][number][]): void {
  pending = objects.map((object) => ({ typeUrl: KEYS, name: resourceName(object), version: `v${object.generation}` }));
}

/** A first round with these keys. */
function begun(keys: readonly Snapshot['keys'][number][]): Scene {
  const held = scene();
  for (const { field } of RESOURCE_TYPES) held.give(field, field === 'keys' ? keys : []);
  expectKeys(...keys);
  held.end();
  pending = [];
  return held;
}

describe('a stream', () => {
  it('subscribes to every type, and last to the checkpoint', () => {
    const { sent } = scene();
    assert.deepEqual(
      sent.map(({ typeUrl }) => typeUrl),
      [...RESOURCE_TYPES.map(({ typeUrl }) => typeUrl), CHECKPOINT_TYPE],
    );
    assert.ok(sent.every(({ resourceNamesSubscribe, node }) => resourceNamesSubscribe[0] === '*' && node?.id === 'n'));
  });

  it('applies and acknowledges nothing before its first round is complete', () => {
    const held = scene();
    held.give('keys', [numberedKey(1)]);
    held.end();
    held.settle();
    assert.deepEqual([held.installed.length, held.answers()], [0, []]);
    for (const { field } of RESOURCE_TYPES) if (field !== 'keys') held.give(field, []);
    assert.equal(held.installed.length, 1);
    assert.deepEqual(
      held.installed[0]?.snapshot().keys.map(({ name }) => name),
      ['key-1'],
    );
    assert.deepEqual(held.answers(), ['1', '2', '3', '4', '5', '6']);
  });

  it('acknowledges only after the state is replaced', () => {
    const held = begun([numberedKey(1)]);
    const before = held.answers().length;
    held.give('keys', [numberedKey(2)]);
    assert.equal(held.answers().length, before);
    held.end();
    assert.deepEqual([held.answers().length, held.installed.length], [before + 2, 2]);
  });

  it('applies restrictions at once, though the rest of their round is still to come', () => {
    const held = begun([numberedKey(1), numberedKey(2), numberedKey(3)]);
    const before = held.answers().length;
    held.give('keys', [numberedKey(2, { enabled: false, generation: 2n })], ['team-a/key-1']);
    held.give('keys', [numberedKey(3, { limitNanoUsd: 5n, generation: 2n }), numberedKey(4)]);
    assert.equal(held.installed.length, 1);
    held.settle();
    const config = held.installed[1];
    assert.deepEqual(
      config?.edit?.keys.map(({ before: was, after }) => [was?.name, after?.name]),
      [
        ['key-2', 'key-2'],
        ['key-1', undefined],
        ['key-3', 'key-3'],
      ],
    );
    assert.equal(held.answers().length, before + 1, 'the response of which nothing waits any more');
    held.end();
    assert.equal(held.answers().length, before + 3);
    assert.deepEqual(
      config
        ?.snapshot()
        .keys.map(({ name }) => name)
        .sort(),
      ['key-2', 'key-3', 'key-4'],
    );
  });

  it("does not apply a restricted key early that takes another one's hash", () => {
    const held = begun([numberedKey(1), numberedKey(2)]);
    held.give('keys', [numberedKey(2, { enabled: false, generation: 2n, hashes: [{ sha256: hashOf(1) }] })]);
    held.settle();
    assert.equal(held.installed.length, 1);
  });

  it('refuses single objects, with the version, in messages without secrets', () => {
    const held = begun([]);
    held.give('keys', [numberedKey(1, { uid: '' }), numberedKey(2)]);
    held.end();
    const refusal = held.sent.find(({ errorDetail }) => errorDetail);
    assert.deepEqual(
      refusal?.errorDetail?.details.map(({ value }) => ResourceFault.decode(value)),
      [{ name: 'team-a/key-1', version: 'v1', message: 'uid: required' }],
    );
    assert.deepEqual(
      held.installed
        .at(-1)
        ?.snapshot()
        .keys.map(({ name }) => name),
      ['key-2'],
    );
  });

  it('refuses an account with a limit of 0, also before its round has arrived', () => {
    const held = begun([]);
    const account = accountOf('a');
    held.give('accounts', [account]);
    held.settle();
    held.end();
    held.give('accounts', [{ ...account, generation: 2n, rateLimits: { requestsPerMinute: 0 } }]);
    held.settle();
    held.end();
    const refusal = held.sent.find(({ errorDetail }) => errorDetail);
    assert.deepEqual(
      refusal?.errorDetail?.details.map(({ value }) => ResourceFault.decode(value)),
      [{ name: 'a/a', version: 'v2', message: 'rate_limits: requests_per_minute: must be at least 1' }],
    );
    assert.deepEqual(
      held.inventory.snapshot().accounts.map(({ generation }) => generation),
      [1n],
    );
  });

  it('refuses what it cannot parse, and what has another name than it says', () => {
    const held = begun([]);
    const value = encodeObject('keys', numberedKey(1));
    const resources = [
      ['team-a/other', value],
      ['team-a/broken', Buffer.from([0xff, 0xff, 0xff])],
    ] as const;
    held.stream.receive({
      systemVersionInfo: '',
      typeUrl: KEYS,
      nonce: 'x',
      removedResources: [],
      resources: resources.map(([name, bytes]) =>
        Resource.encode({ name, version: 'v', resource: { typeUrl: KEYS, value: bytes } }).finish(),
      ),
    });
    held.end();
    const refusal = held.sent.find(({ responseNonce }) => responseNonce === 'x');
    assert.equal(refusal?.errorDetail?.details.length, 2);
    assert.equal(held.installed.length, 1);
  });

  it('reports when the two sides differ; a new stream then drops what does not arrive', () => {
    const held = begun([numberedKey(1), numberedKey(2)]);
    held.end(true);
    assert.deepEqual(held.rounds, [true, false]);
    const again = scene(held.inventory, true);
    assert.deepEqual(
      again.sent.map(({ initialResourceVersions }) => Object.keys(initialResourceVersions).length),
      [0, 0, 0, 0, 0, 0],
    );
    for (const { field } of RESOURCE_TYPES) again.give(field, field === 'keys' ? [numberedKey(2)] : []);
    again.end();
    assert.deepEqual(
      again.installed[0]?.snapshot().keys.map(({ name }) => name),
      ['key-2'],
    );
  });

  it('sends what it holds to a new stream, but not what it refused', () => {
    const held = begun([numberedKey(1)]);
    held.give('keys', [numberedKey(1, { generation: 2n, uid: '' }), numberedKey(3, { uid: '' })]);
    held.end();
    const again = scene(held.inventory);
    assert.deepEqual(again.sent.find(({ typeUrl }) => typeUrl === KEYS)?.initialResourceVersions, {
      'team-a/key-1': 'v1',
    });
  });
});
