/** Generated keys: created once, durable before they are printed, in files that only their owner can read. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import fs from 'node:fs';
import { chmod, mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test, vi } from 'vitest';
import type { TestContext } from 'vitest';
import { parse } from 'yaml';
import { generateKey, mintKeys } from '../../../../operator/reconcile/mint-keys.ts';
import { createMintBackoff } from '../../../../operator/reconcile/mint-backoff.ts';
import type { MintResult, MintedKey } from '../../../../operator/reconcile/mint-keys.ts';
import { openMintedSecrets } from '../../../../operator/reconcile/minted-secrets.ts';
import type { MintedSecrets } from '../../../../operator/reconcile/minted-secrets.ts';
import type { Resources } from '#objects/resources.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf, temporaryFolder } from '../support.ts';

const HOUR_MS = 3_600_000;

function manifests({ rotation = 1, overlapSeconds = 0, extra = '', name = 'ci', key = '' } = {}): Resources {
  return resourcesOf(`
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ${name}, namespace: team-a}
spec:
  groupRef: {name: main}
  accountRef: {name: team-a}
  key: {rotation: ${rotation}, overlapSeconds: ${overlapSeconds}${key}}
${extra}`);
}

interface Minter {
  readonly data: string;
  readonly minted: MintedSecrets;
  readonly told: MintedKey[];
  readonly mint: (resources: Resources, nowMs?: number) => Promise<MintResult & { readonly resources: Resources }>;
}

async function minter(t: TestContext, data?: string): Promise<Minter> {
  const folder = data ?? join(await temporaryFolder(t), 'data');
  const minted = await openMintedSecrets(folder);
  const told: MintedKey[] = [];
  return {
    data: folder,
    minted,
    told,
    mint: async (resources, nowMs = NOW_MS) => {
      const onMinted = (key: MintedKey): void => void told.push(key);
      const options = { gatewayNamespace: GATEWAY_NAMESPACE, minted, backoff: createMintBackoff(), onMinted };
      const result = await mintKeys(resources, nowMs, options);
      return { ...result, resources: minted.joined(resources) };
    },
  };
}

function hashesOf(resources: Resources, nowMs = NOW_MS): unknown[] {
  return translate(resources, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs }).snapshot.keys.flatMap(
    ({ hashes }) => hashes,
  );
}

const sha256 = (text: string | undefined): string => hash('sha256', text ?? '');

test('a key is sk- and 48 base62 characters, with all characters in use', () => {
  const seen = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const key = generateKey();
    assert.match(key, /^sk-[0-9A-Za-z]{48}$/);
    for (const character of key.slice(3)) seen.add(character);
  }
  assert.equal(seen.size, 62);
});

test('a key is written with permissions for its owner, printed once, and in force', async (t) => {
  const { data, told, mint } = await minter(t);
  const { resources, failures } = await mint(manifests());
  assert.equal(failures.size, 0);
  assert.deepEqual(
    told.map(({ namespace, name }) => `${namespace}/${name}`),
    ['team-a/ci'],
  );
  const path = join(data, 'secrets/team-a/ci-key.yaml');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(join(data, 'secrets/team-a'))).mode & 0o777, 0o700);
  assert.equal((await stat(join(data, 'secrets'))).mode & 0o777, 0o700);
  const secret = parse(await readFile(path, 'utf8')) as Record<string, Record<string, unknown>>;
  assert.deepEqual(
    [secret['apiVersion'], secret['kind'], secret['metadata']],
    [
      'v1',
      'Secret',
      {
        name: 'ci-key',
        namespace: 'team-a',
        labels: { 'modelgateway.dev/api-key': 'ci' },
        annotations: { 'modelgateway.dev/rotation': '1' },
      },
    ],
  );
  assert.equal(secret['stringData']?.['apiKey'], told[0]?.key);
  assert.deepEqual(hashesOf(resources), [{ sha256: sha256(told[0]?.key) }]);
  assert.deepEqual(await readdir(join(data, 'secrets/team-a')), ['ci-key.yaml'], 'nothing is left beside it');
});

test('the file is a manifest that can be moved into the folder of manifests', async (t) => {
  const { data, told, mint } = await minter(t);
  await mint(manifests());
  const extra = `---\n${await readFile(join(data, 'secrets/team-a/ci-key.yaml'), 'utf8')}`;
  const elsewhere = await minter(t);
  const { resources } = await elsewhere.mint(manifests({ extra }));
  assert.deepEqual(elsewhere.told, []);
  assert.deepEqual(hashesOf(resources), [{ sha256: sha256(told[0]?.key) }]);
});

test('a key survives a restart, and is not printed again', async (t) => {
  const before = await minter(t);
  const first = await before.mint(manifests());
  await before.mint(manifests());
  const after = await minter(t, before.data);
  const second = await after.mint(manifests());
  assert.equal(before.told.length, 1);
  assert.equal(after.told.length, 0);
  assert.deepEqual(hashesOf(second.resources), hashesOf(first.resources));
});

test('a rotation generates a new key; the old one works until its overlap ends, restarts included', async (t) => {
  const before = await minter(t);
  await before.mint(manifests());
  const after = await minter(t, before.data);
  const rotated = manifests({ rotation: 2, overlapSeconds: 3600 });
  await after.mint(rotated);
  const { resources } = await (await minter(t, before.data)).mint(rotated);
  const [fresh, old] = [
    { sha256: sha256(after.told[0]?.key) },
    { sha256: sha256(before.told[0]?.key), notAfterMs: BigInt(NOW_MS + HOUR_MS) },
  ];
  assert.notEqual(fresh.sha256, old.sha256);
  assert.deepEqual(hashesOf(resources), [fresh, old]);
  assert.deepEqual(hashesOf(resources, NOW_MS + HOUR_MS), [fresh]);
  const text = await readFile(join(before.data, 'secrets/team-a/ci-key.yaml'), 'utf8');
  assert.ok(!text.includes(before.told[0]?.key ?? '?'), 'of a replaced key only the hash is kept');
});

test('a rotation during an overlap keeps both old keys for their times; a lower number changes nothing', async (t) => {
  const { told, mint } = await minter(t);
  await mint(manifests());
  await mint(manifests({ rotation: 2, overlapSeconds: 3600 }));
  await mint(manifests({ rotation: 3, overlapSeconds: 60 }), NOW_MS + 1000);
  const { resources } = await mint(manifests({ rotation: 1 }), NOW_MS + 1000);
  assert.equal(told.length, 3);
  assert.deepEqual(hashesOf(resources, NOW_MS + 1000), [
    { sha256: sha256(told[2]?.key) },
    { sha256: sha256(told[0]?.key), notAfterMs: BigInt(NOW_MS + HOUR_MS) },
    { sha256: sha256(told[1]?.key), notAfterMs: BigInt(NOW_MS + 61_000) },
  ]);
});

test('without overlap the old key ends at once', async (t) => {
  const { told, mint } = await minter(t);
  await mint(manifests());
  const { resources } = await mint(manifests({ rotation: 2 }));
  assert.deepEqual(hashesOf(resources), [{ sha256: sha256(told[1]?.key) }]);
});

test('a deleted file causes a new key', async (t) => {
  const { data, minted, told, mint } = await minter(t);
  await mint(manifests());
  await rm(join(data, 'secrets/team-a/ci-key.yaml'));
  assert.equal(await minted.reload(), true);
  const { resources } = await mint(manifests());
  assert.equal(told.length, 2);
  assert.deepEqual(hashesOf(resources), [{ sha256: sha256(told[1]?.key) }]);
  assert.equal(await minted.reload(), false);
});

test('a damaged file is not overwritten: the known key continues, and after a restart waits', async (t) => {
  const { data, minted, told, mint } = await minter(t);
  await mint(manifests());
  const path = join(data, 'secrets/team-a/ci-key.yaml');
  await writeFile(path, 'apiVersion: v1\nkind: Sec');
  assert.equal(await minted.reload(), true);
  const { resources } = await mint(manifests({ rotation: 2 }));
  assert.deepEqual(hashesOf(resources), [{ sha256: sha256(told[0]?.key) }]);

  const restarted = await minter(t, data);
  const { failures, resources: awaited, retryAtMs } = await restarted.mint(manifests());
  assert.deepEqual(hashesOf(awaited), []);
  assert.match(failures.get('team-a/ci') ?? '', /damaged.*ci-key\.yaml/);
  assert.equal(retryAtMs, undefined, 'only a hand can mend it');
  assert.equal(await readFile(path, 'utf8'), 'apiVersion: v1\nkind: Sec');
  assert.equal(restarted.told.length, 0);
});

test('a key that cannot be written is not used, and is written once that is possible', async (t) => {
  const { data, told, mint } = await minter(t);
  await mkdir(join(data, 'secrets/team-a/ci-key.yaml'), { recursive: true }); // a folder where the file should be
  const { resources, failures, retryAtMs } = await mint(manifests());
  assert.deepEqual(
    [told.length, hashesOf(resources), [...failures.keys()], retryAtMs],
    [0, [], ['team-a/ci'], NOW_MS + 1000],
  );
  assert.deepEqual(await readdir(join(data, 'secrets/team-a')), ['ci-key.yaml'], 'no partial file stays');
  await rm(join(data, 'secrets/team-a/ci-key.yaml'), { recursive: true });
  assert.equal((await mint(manifests())).failures.size, 0);
  assert.equal(told.length, 1);
});

test('a rotation that cannot be written leaves the old key in force', async (t) => {
  const { data, told, mint } = await minter(t);
  await mint(manifests());
  await rm(join(data, 'secrets/team-a'), { recursive: true });
  await writeFile(join(data, 'secrets/team-a'), 'in the way');
  const { resources, failures } = await mint(manifests({ rotation: 2 }));
  assert.equal(told.length, 1);
  assert.equal(failures.size, 1);
  assert.deepEqual(hashesOf(resources), [{ sha256: sha256(told[0]?.key) }]);
});

test("Provided keys, other gateways' keys and Secrets among the manifests are never written", async (t) => {
  const { data, told, mint } = await minter(t);
  await mint(manifests({ key: ', type: Provided' }));
  await mint(
    resourcesOf(
      'apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ci, namespace: ' +
        'team-a}\nspec: {gatewayNamespace: other, groupRef: {name: main}, accountRef: {name: team-a}}\n',
    ),
  );
  const secret = (labels: string) =>
    `---\napiVersion: v1\nkind: Secret\nmetadata: {name: ci-key, namespace: team-a, ` +
    `labels: {${labels}}}\nstringData: {apiKey: ${generateKey()}}\n`;
  await mint(manifests({ extra: secret('') }));
  const { failures } = await mint(manifests({ rotation: 2, extra: secret('modelgateway.dev/api-key: ci') }));
  assert.match(failures.get('team-a/ci') ?? '', /in the folder of manifests/);
  assert.deepEqual([told, await readdir(join(data, 'secrets'))], [[], []]);
});

test('two ApiKeys with one Secret get one key, for the first of them', async (t) => {
  const { told, mint } = await minter(t);
  const both = (extra: string) => manifests({ name: 'b', key: ', secretRef: {name: shared}', extra });
  const { resources } = await mint(
    both(
      '---\napiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: a, namespace: team-a}\nspec: ' +
        '{groupRef: {name: main}, accountRef: {name: team-a}, key: {rotation: 3, secretRef: {name: shared}}}\n',
    ),
  );
  await mint(resources);
  assert.deepEqual(
    told.map(({ name }) => name),
    ['a'],
  );
  assert.deepEqual(hashesOf(resources), [{ sha256: sha256(told[0]?.key) }]);
});

/** The paths of all files that the work reads. */
async function readBy(work: () => Promise<void>): Promise<unknown[]> {
  const read = vi.spyOn(fs.promises, 'readFile');
  syncBuiltinESMExports();
  try {
    await work();
    return read.mock.calls.map(([path]) => path);
  } finally {
    read.mockRestore();
    syncBuiltinESMExports();
  }
}

test('a reload replaces only objects whose files changed, and reads no others', async (t) => {
  const first = await minter(t);
  await first.mint(
    resourcesOf(
      ['a', 'b', 'c', 'd', 'e']
        .map(
          (name) => `
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ${name}, namespace: team-a}
spec: {groupRef: {name: main}, accountRef: {name: team-a}}`,
        )
        .join('\n---'),
    ),
  );
  const { minted, data } = await minter(t, first.data);
  const before = new Map(minted.secrets);
  const file = (name: string): string => join(data, 'secrets', 'team-a', `${name}-key.yaml`);
  assert.equal(await minted.reload(), false, 'all were read anew, and say the same');
  assert.deepEqual(
    [...minted.secrets.keys()].filter((id) => minted.secrets.get(id) !== before.get(id)),
    [],
  );
  await writeFile(file('a'), (await readFile(file('a'), 'utf8')).replace('# Made', '# Once made'));
  await writeFile(file('b'), (await readFile(file('b'), 'utf8')).replace(/sk-\w{8}/, 'sk-00000000'));
  await rm(file('c'));
  await rm(file('d'));
  await mkdir(file('d')); // no file, and none to be read
  await writeFile(join(data, 'secrets', 'team-a', 'other.txt'), 'not a Secret');
  await mkdir(join(data, 'secrets', 'team-a', 'deeper'));
  await writeFile(join(data, 'secrets', 'team-a', 'deeper', 'e-key.yaml'), 'not a Secret');
  assert.deepEqual(await readBy(async () => assert.equal(await minted.reload(), true)), [file('a'), file('b')]);
  assert.deepEqual([...minted.secrets.keys()].sort(), ['team-a/a-key', 'team-a/b-key', 'team-a/e-key']);
  assert.equal(minted.secrets.get('team-a/a-key'), before.get('team-a/a-key'));
  assert.match(minted.secrets.get('team-a/b-key')?.data.get('apiKey') ?? '', /^sk-00000000/);
  assert.deepEqual([...minted.unreadable], []);
  assert.deepEqual([...(await openMintedSecrets(data)).unreadable], [], 'a start sees what a reload does');
  assert.deepEqual(await readBy(async () => assert.equal(await minted.reload(), false)), []);
});

test('a write during a reload is not lost', async (t) => {
  const { minted, told, mint } = await minter(t);
  const reload = minted.reload();
  await mint(manifests());
  await reload;
  await mint(manifests());
  assert.equal(told.length, 1);
});

test('folders that others can read are made private', async (t) => {
  const { data } = await minter(t);
  await chmod(join(data, 'secrets'), 0o755);
  await openMintedSecrets(data);
  assert.equal((await stat(join(data, 'secrets'))).mode & 0o777, 0o700);
});

test('generated keys stand beside those of manifests', async (t) => {
  const { data, minted, mint } = await minter(t);
  const made = (await mint(manifests())).resources;
  const provided = manifests({
    extra:
      '---\napiVersion: v1\nkind: Secret\nmetadata: {name: other, ' +
      'namespace: team-a}\nstringData: {apiKey: sk-other}\n',
  });
  const namesIn = ({ secrets }: Resources): string[] => [...(secrets.get('team-a')?.keys() ?? [])].sort();
  assert.deepEqual(namesIn(minted.joined(provided)), [...namesIn(made), 'other'].sort());
  assert.deepEqual(namesIn(minted.joined(manifests())), namesIn(made), 'without it again');

  const [name = ''] = namesIn(made);
  await minted.discard({ namespace: 'team-a', name });
  assert.deepEqual(namesIn(minted.joined(manifests())), []);

  await mint(manifests());
  await rm(join(data, 'secrets', 'team-a', `${name}.yaml`));
  assert.equal(await minted.reload(), true);
  assert.deepEqual(namesIn(minted.joined(manifests())), []);
});

test('takes namespaces in turn, and no more at once than it may', async () => {
  const key = (namespace: string, name: string): string => `---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ${name}, namespace: ${namespace}}
spec: {groupRef: {name: main}, accountRef: {name: team}}
`;
  const many = Array.from({ length: 40 }, (_, n) => key('team-a', `key-${n}`)).join('');
  const resources = resourcesOf(`${many}${key('team-b', 'only')}`);
  const written: string[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const { retryAtMs } = await mintKeys(resources, NOW_MS, {
    gatewayNamespace: GATEWAY_NAMESPACE,
    atMost: 20,
    backoff: createMintBackoff(),
    onMinted: () => undefined,
    minted: {
      joined: (all) => all,
      find: () => undefined,
      obstacle: () => undefined,
      write: async ({ namespace }) => {
        mostAtOnce = Math.max(mostAtOnce, ++atOnce);
        await new Promise(setImmediate);
        atOnce -= 1;
        return written.push(namespace) > 0;
      },
    },
  });
  assert.equal(written.length, 20);
  assert.equal(mostAtOnce, 5, 'four of one namespace, and beside them the other');
  assert.ok(written.slice(0, 2).includes('team-b'));
  assert.equal(retryAtMs, NOW_MS, 'it is called again for the others');
});
