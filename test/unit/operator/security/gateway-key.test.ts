/** Keys that are derived from the gateway's own, and their protection against tenants. */
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { keepGatewayKey } from '../../../../operator/security/cluster-gateway-key.ts';
import { NO_LOG, NO_METER, fakeClock, quietWatch } from '../fake-clock.ts';
import { openGatewayKey } from '../../../../operator/security/folder-gateway-key.ts';
import { KubeError } from '#kube/errors.ts';
import type { KubeClient, KubeJson, KubeRequest } from '#kube/client.ts';
import { withFingerprints } from '../../../../operator/security/fingerprint.ts';
import { deriveKey } from '../../../../operator/security/gateway-key.ts';
import { hasForgedPreviousKeys, macOfPreviousKeys } from '../../../../operator/security/previous-keys.ts';
import { PREVIOUS_ANNOTATION, PREVIOUS_MAC_ANNOTATION } from '#objects/key-secret.ts';
import type { SecretObject } from '#objects/resources.ts';
import { tempFolder } from '../../../support/cli.ts';

const KEY = Buffer.alloc(32, 1);
const MAC_KEY = deriveKey(KEY, 'previous-keys');
const LIST = JSON.stringify([{ sha256: 'a'.repeat(64), notAfter: '2030-01-01T00:00:00Z' }]);

function secretWith(annotations: Record<string, string>, over: Partial<SecretObject> = {}): SecretObject {
  return {
    namespace: 'team-a',
    name: 'ci-key',
    labels: {},
    data: new Map(),
    annotations,
    live: { uid: 'secret', resourceVersion: '1', ownerUid: 'owner' },
    ...over,
  };
}

describe('the list of replaced keys in a Secret', () => {
  const mac = macOfPreviousKeys(MAC_KEY, { namespace: 'team-a', name: 'ci-key', ownerUid: 'owner' }, LIST);
  const signed = { [PREVIOUS_ANNOTATION]: LIST, [PREVIOUS_MAC_ANNOTATION]: mac };

  it('is accepted as the gateway has written it', () => {
    assert.equal(hasForgedPreviousKeys(secretWith(signed), MAC_KEY), false);
    assert.equal(hasForgedPreviousKeys(secretWith({}), MAC_KEY), false);
  });

  for (const [what, secret] of [
    ['without a MAC', secretWith({ [PREVIOUS_ANNOTATION]: LIST })],
    ['with another hash', secretWith({ ...signed, [PREVIOUS_ANNOTATION]: LIST.replace('a', 'b') })],
    ['with a longer life', secretWith({ ...signed, [PREVIOUS_ANNOTATION]: LIST.replace('2030', '2031') })],
    ['copied to another Secret', secretWith(signed, { name: 'other-key' })],
    ['copied to another namespace', secretWith(signed, { namespace: 'team-b' })],
    [
      'of a deleted ApiKey of the name',
      secretWith(signed, {
        live: { uid: 'secret', resourceVersion: '1', ownerUid: 'new' },
      }),
    ],
  ] as const)
    it(`is ignored ${what}`, () => assert.equal(hasForgedPreviousKeys(secret, MAC_KEY), true));

  it("is ignored with another gateway's key", () => {
    const other = deriveKey(Buffer.alloc(32, 2), 'previous-keys');
    assert.equal(hasForgedPreviousKeys(secretWith(signed), other), true);
  });
});

describe('the hashes of keys', () => {
  it('distinguish keys, and do not reveal their SHA-256', () => {
    const status = { keyHash: 'a'.repeat(64), previousKeys: [{ keyHash: 'b'.repeat(64), expirationTime: 'then' }] };
    const shown = withFingerprints(status, deriveKey(KEY, 'fingerprint'));
    const [old] = shown.previousKeys;
    assert.match(shown.keyHash, /^[0-9a-f]{64}$/);
    assert.match(old?.keyHash ?? '', /^[0-9a-f]{64}$/);
    assert.equal(old?.expirationTime, 'then');
    assert.equal(new Set([shown.keyHash, old?.keyHash, status.keyHash, 'b'.repeat(64)]).size, 4);
    assert.deepEqual(withFingerprints(status, deriveKey(KEY, 'fingerprint')), shown);
  });
});

describe("the gateway's own key", () => {
  it('is created once on one machine, with permissions for its owner only', async () => {
    await using folder = await tempFolder();
    const first = await openGatewayKey(join(folder.path, 'data'));
    assert.equal(first.length, 32);
    assert.deepEqual(await openGatewayKey(join(folder.path, 'data')), first);
    const path = join(folder.path, 'data', 'gateway-key');
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    await writeFile(path, 'short');
    await assert.rejects(openGatewayKey(join(folder.path, 'data')), /does not contain a key of 32 bytes/);
    assert.equal(await readFile(path, 'utf8'), 'short');
  });

  /** An API server with this Secret, whose responses fail in the order of `faults`. */
  function server(faults: (KubeError | undefined)[] = []) {
    let stored: { readonly metadata: unknown; readonly data: Readonly<Record<string, string>> } | undefined;
    return {
      request: ({ method, path, body }: KubeRequest): Promise<KubeJson> => {
        if (path.includes('fieldSelector')) return Promise.resolve({ metadata: {}, items: [] });
        const fault = faults.shift();
        if (fault) return Promise.reject(fault);
        if (method === 'POST' && stored) return Promise.reject(statusError(409));
        if (method === 'POST') stored = body as NonNullable<typeof stored>;
        return stored ? Promise.resolve(stored) : Promise.reject(statusError(404));
      },
    };
  }

  function statusError(status: number): KubeError {
    return new KubeError('no', { status });
  }

  /** A replica that keeps the key, with what it reports. */
  function replica(client: Pick<KubeClient, 'request'>) {
    const clock = fakeClock();
    const warnings: unknown[] = [];
    const problems: string[] = [];
    const log = { ...NO_LOG, warn: (...line: unknown[]) => void warnings.push(line) };
    const key = keepGatewayKey(
      {
        client: { ...client, watch: quietWatch },
        clock,
        meter: NO_METER,
        log,
        namespace: 'gateway',
        leading: () => true,
        onRestored: () => undefined,
      },
      (problem) => problems.push(problem),
    );
    return { key, clock, warnings, problems };
  }

  it('is the same for two replicas that start at once', async () => {
    const client = server();
    const replicas = [replica(client), replica(client)];
    const [one, two] = await Promise.all(replicas.map(({ key }) => key.first));
    assert.equal(one?.length, 32);
    assert.deepEqual(one, two);
    for (const { key } of replicas) await key.stop();
  });

  it('is requested again until the API server responds, and not after shutdown', async () => {
    const { key, clock, warnings, problems } = replica(server([statusError(403)]));
    await clock.pass(1_000);
    assert.equal((await key.first).length, 32);
    assert.equal(warnings.length, 1);
    assert.match(problems.join(), /^the Secret model-gateway-key: /);
    await key.stop();

    let requests = 0;
    const stopped = replica({
      request() {
        requests += 1;
        return Promise.reject(statusError(403));
      },
    });
    await clock.pass(0);
    await stopped.key.stop();
    await assert.rejects(stopped.key.first, /stopped before/);
    const before = requests;
    await stopped.clock.pass(60_000);
    assert.equal(requests, before);
  });
});
