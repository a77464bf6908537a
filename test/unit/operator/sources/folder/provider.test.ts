/** A folder that changes under the provider, as editors, checkouts and ConfigMap mounts change it. */
import assert from 'node:assert/strict';
import { chmod, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import type { TestContext } from 'vitest';
import { InvalidManifests, formatDiagnostic } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { provideFolder } from '../../../../../operator/sources/folder/provider.ts';
import type { FilesProvider } from '../../../../../operator/sources/folder/provider.ts';
import { allOf } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { kinds, newLoader, temporaryFolder } from '../../support.ts';

const account = (name: string, usd = '1') =>
  `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: ` +
  `${name}, namespace: team}\nspec: {grants: [{name: g, usd: "${usd}"}]}\n`;

/** Resources, problems or warnings. */
interface Report {
  readonly resources?: Resources;
  readonly problems?: readonly Diagnostic[];
  readonly warnings?: readonly Diagnostic[];
}

/** The provider's reports, in order. */
interface Reports {
  readonly provider: FilesProvider;
  /** Returns the next unread report. */
  next(): Promise<Report>;
  /** The number of unread reports. */
  pending(): number;
}

async function provide(t: TestContext, folder: string, delay?: (ms: number) => Promise<void>): Promise<Reports> {
  const reports: Report[] = [];
  let wake: () => void = () => undefined;
  const report = (item: (typeof reports)[number]): void => {
    reports.push(item);
    wake();
  };
  const provider = await provideFolder({
    folder,
    load: newLoader(),
    kinds,
    onWarnings: (warnings) => report({ warnings }),
    onResources: (resources) => report({ resources }),
    onProblems: (problems) => report({ problems }),
    ...(delay && { delay }),
  });
  t.onTestFinished(() => provider.stop());
  return {
    provider,
    pending: () => reports.length,
    async next() {
      while (reports.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      return reports.shift() ?? {};
    },
  };
}

const namesOf = (resources: Resources | undefined) =>
  resources &&
  allOf(resources.accounts)
    .map(({ metadata, spec }) => `${metadata.name}=${spec.grants?.[0]?.usd}`)
    .sort((a, b) => a.localeCompare(b));

test('reads every manifest at any depth, and nothing that begins with a dot', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'deep/er'), { recursive: true });
  await mkdir(join(folder, '.git'));
  await writeFile(join(folder, 'a.yaml'), account('a'));
  await writeFile(join(folder, 'deep/er/b.yml'), account('b'));
  await writeFile(join(folder, '.hidden.yaml'), 'not: [a manifest');
  await writeFile(join(folder, '.git/c.yaml'), 'not: [a manifest');
  await writeFile(join(folder, 'notes.txt'), 'not: [a manifest');
  const { provider } = await provide(t, folder);
  assert.deepEqual(namesOf(provider.resources), ['a=1', 'b=1']);
  assert.deepEqual(provider.origins.get('Account team/b'), { file: join(folder, 'deep/er/b.yml'), line: 1 });
});

test('does not start with mistakes in the folder, and reports all of them', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'a.yaml'), account('a', 'much'));
  await writeFile(join(folder, 'b.yaml'), 'kind: [');
  await assert.rejects(provide(t, folder), (error) => {
    assert.ok(error instanceof InvalidManifests);
    assert.deepEqual(
      [...new Set(error.diagnostics.map(({ file }) => file))],
      [join(folder, 'a.yaml'), join(folder, 'b.yaml')],
    );
    assert.match(error.message, /a\.yaml:4:\d+: error: Account team\/a: spec\.grants\[0\]\.usd: /);
    return true;
  });
});

test('reports a missing folder', async (t) => {
  const folder = join(await temporaryFolder(t), 'gone');
  await assert.rejects(
    provide(t, folder),
    (error) => error instanceof InvalidManifests && error.diagnostics[0]?.file === folder,
  );
});

test('applies edits, new files and deletions', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'a.yaml'), account('a'));
  const reports = await provide(t, folder);
  await writeFile(join(folder, 'a.yaml'), account('a', '2'));
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=2']);
  await writeFile(join(folder, 'b.yaml'), account('b'));
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=2', 'b=1']);
  await rm(join(folder, 'a.yaml'));
  assert.deepEqual(namesOf((await reports.next()).resources), ['b=1']);
  assert.deepEqual(namesOf(reports.provider.resources), ['b=1']);
});

test('watches new folders', async (t) => {
  const folder = await temporaryFolder(t);
  const reports = await provide(t, folder);
  assert.equal((await reports.next()).warnings?.length, 1);
  await mkdir(join(folder, 'new'));
  await writeFile(join(folder, 'new/a.yaml'), account('a'));
  assert.deepEqual((await reports.next()).warnings, []);
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=1']);
  await writeFile(join(folder, 'new/a.yaml'), account('a', '2'));
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=2']);
});

test('handles an editor that writes a new file and renames it', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'a.yaml'), account('a'));
  const reports = await provide(t, folder);
  for (const usd of ['2', '3']) {
    await writeFile(join(folder, '.a.yaml.swp'), account('a', usd));
    await rename(join(folder, '.a.yaml.swp'), join(folder, 'a.yaml'));
    assert.deepEqual(namesOf((await reports.next()).resources), [`a=${usd}`]);
  }
});

test('keeps the last good state after a mistake, reports it, and applies the fix', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'a.yaml'), account('a'));
  await writeFile(join(folder, 'b.yaml'), account('b'));
  const reports = await provide(t, folder);
  await writeFile(join(folder, 'a.yaml'), `${account('a', 'two')}---\n${account('c')}`);
  const { problems } = await reports.next();
  assert.deepEqual(
    problems?.map(({ file, line, path, object }) => ({ file, line, path, object })),
    [
      {
        file: join(folder, 'a.yaml'),
        line: 4,
        path: 'spec.grants[0].usd',
        object: 'Account team/a',
      },
    ],
  );
  assert.deepEqual(namesOf(reports.provider.resources), ['a=1', 'b=1']);
  await writeFile(join(folder, 'a.yaml'), account('a', '2'));
  assert.deepEqual((await reports.next()).problems, []);
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=2', 'b=1']);
});

test('handles a mounted ConfigMap whose links are replaced', async (t) => {
  const folder = await temporaryFolder(t);
  const publish = async (version: string, usd: string): Promise<void> => {
    await mkdir(join(folder, `..${version}`));
    await writeFile(join(folder, `..${version}`, 'a.yaml'), account('a', usd));
    await symlink(`..${version}`, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  await publish('v1', '1');
  await symlink('..data/a.yaml', join(folder, 'a.yaml'));
  const reports = await provide(t, folder);
  assert.deepEqual(namesOf(reports.provider.resources), ['a=1']);
  await publish('v2', '2');
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=2']);
});

test('handles a folder that is a link and is replaced without an event', async (t) => {
  const root = await temporaryFolder(t);
  for (const [version, usd] of [
    ['v1', '1'],
    ['v2', '2'],
  ] as const) {
    await mkdir(join(root, version));
    await writeFile(join(root, version, 'a.yaml'), account('a', usd));
  }
  await symlink('v1', join(root, 'current'));
  const reports = await provide(t, join(root, 'current'));
  await symlink('v2', join(root, 'next'));
  await rename(join(root, 'next'), join(root, 'current'));
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=2']);
  await writeFile(join(root, 'v2/a.yaml'), account('a', '3'));
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=3']);
});

test('waits for a file that an editor empties first', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'a.yaml'), account('a'));
  let waited = 0;
  const reports = await provide(t, folder, async (ms) => {
    waited += ms;
    await writeFile(join(folder, 'a.yaml'), account('a', '2'));
  });
  await truncate(join(folder, 'a.yaml'), 0);
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=2']);
  assert.ok(waited > 0 && waited < 1000);
});

const messagesOf = ({ problems }: Report) => problems?.map(formatDiagnostic);

test('keeps the last good state while a file is empty, until it has content again or is deleted', async (t) => {
  const folder = await temporaryFolder(t);
  const [a, b] = [join(folder, 'a.yaml'), join(folder, 'b.yaml')];
  await writeFile(a, account('a'));
  await writeFile(b, account('b'));
  const reports = await provide(t, folder, () => Promise.resolve());
  const gone = [`${a}: error: the file is empty; delete the file to delete its objects`];
  for (const nothing of ['', '\n \n']) {
    await writeFile(a, nothing);
    assert.deepEqual(messagesOf(await reports.next()), gone);
    assert.deepEqual(namesOf(reports.provider.resources), ['a=1', 'b=1']);
    await writeFile(a, account('a', '1'));
    assert.deepEqual((await reports.next()).problems, []);
    assert.deepEqual(namesOf((await reports.next()).resources), ['a=1', 'b=1']);
  }
  await truncate(a, 0);
  assert.deepEqual(messagesOf(await reports.next()), gone);
  await rm(a);
  assert.deepEqual((await reports.next()).problems, []);
  assert.deepEqual(namesOf((await reports.next()).resources), ['b=1']);
});

test('keeps the last good state of a folder in which nothing is left, unless that is asked for', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'mounted'));
  await writeFile(join(folder, 'mounted/a.yaml'), account('a'));
  const reports = await provide(t, folder);
  await rm(join(folder, 'mounted'), { recursive: true });
  assert.deepEqual(messagesOf(await reports.next()), [
    `${folder}: error: all 1 objects were removed; restart the gateway if this is intended`,
  ]);
  assert.deepEqual(namesOf(reports.provider.resources), ['a=1']);
  await reports.provider.refresh();
  assert.equal(reports.pending(), 0);
  await reports.provider.refresh({ mayBeEmpty: true });
  assert.deepEqual((await reports.next()).problems, []);
  assert.deepEqual(
    (await reports.next()).warnings?.map(({ message }) => message),
    ['the folder has no objects'],
  );
  assert.deepEqual(namesOf((await reports.next()).resources), []);
});

test('refuses changes that an API server refuses, keeps the last good state, and names the place', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'a.yaml');
  const key = (spec: string, name = 'ci'): string =>
    `${account('a')}---\napiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ${name}, namespace: ` +
    `team}\nspec: {groupRef: {name: main}, ${spec}}\n`;
  await writeFile(file, key('accountRef: {name: a}, key: {rotation: 5}'));
  const reports = await provide(t, folder);
  for (const [spec, path, message] of [
    ['accountRef: {name: b}, key: {rotation: 5}', 'spec.accountRef.name', /cannot be changed/],
    ['accountRef: {name: a}, key: {rotation: 2}', 'spec.key.rotation', /rotation can only grow/],
    ['accountRef: {name: a}, key: {rotation: 5}, gatewayNamespace: b', 'spec.gatewayNamespace', /cannot be changed/],
  ] as const) {
    await writeFile(file, key(spec));
    const [problem, ...more] = (await reports.next()).problems ?? [];
    assert.deepEqual([problem?.file, problem?.line, problem?.object], [file, 6, 'ApiKey team/ci']);
    assert.deepEqual([problem?.path, more.length], [path, 0]);
    assert.match(problem?.message ?? '', message);
    assert.equal(allOf(reports.provider.resources.apiKeys)[0]?.spec.key.rotation, 5);
    await writeFile(file, key('accountRef: {name: a}, key: {rotation: 5}'));
    assert.deepEqual((await reports.next()).problems, []);
    await reports.next();
  }
  await writeFile(file, key('accountRef: {name: a}, key: {rotation: 6}'));
  assert.equal(allOf((await reports.next()).resources?.apiKeys ?? new Map())[0]?.spec.key.rotation, 6);
  await writeFile(file, key('accountRef: {name: b}', 'another'));
  assert.equal(allOf((await reports.next()).resources?.apiKeys ?? new Map())[0]?.spec.accountRef.name, 'b');
});

test('leaves out what is for other programs, and says so once', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'a.yaml'), `${account('a')}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n`);
  await writeFile(join(folder, 'kustomization.yaml'), 'resources: [a.yaml]\n');
  const reports = await provide(t, folder);
  assert.deepEqual((await reports.next()).warnings?.map(formatDiagnostic), [
    `${join(folder, 'a.yaml')}:6: warning: ignored: ConfigMap of Kubernetes is not for the gateway`,
    `${join(folder, 'kustomization.yaml')}:1: warning: ignored: only kustomize reads this file; its patches and ` +
      'generators are not applied here',
  ]);
  await writeFile(join(folder, 'b.yaml'), account('b'));
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=1', 'b=1']);
  assert.equal(reports.pending(), 0);
});

test('reports nothing if a file is touched', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'a.yaml'), account('a'));
  const reports = await provide(t, folder);
  await utimes(join(folder, 'a.yaml'), new Date(0), new Date(0));
  await chmod(join(folder, 'a.yaml'), 0o600);
  await writeFile(join(folder, 'b.yaml'), account('b'));
  assert.deepEqual(namesOf((await reports.next()).resources), ['a=1', 'b=1']);
  assert.equal(reports.pending(), 0);
});

test('keeps the last good state without the folder, and loads it when it is back', async (t) => {
  const root = await temporaryFolder(t);
  const folder = join(root, 'config');
  await mkdir(folder);
  await writeFile(join(folder, 'a.yaml'), account('a'));
  const reports = await provide(t, folder);
  await rename(folder, join(root, 'away'));
  const { problems } = await reports.next();
  assert.equal(problems?.[0]?.file, folder);
  assert.deepEqual(namesOf(reports.provider.resources), ['a=1']);
  await rename(join(root, 'away'), folder);
  for (;;) {
    const { problems: later, resources } = await reports.next();
    if (resources) {
      assert.deepEqual(namesOf(resources), ['a=1']);
      break;
    }
    assert.ok(later);
  }
});

test('does not follow a link to a parent folder', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'a.yaml'), account('a'));
  await symlink('.', join(folder, 'self'));
  const { provider } = await provide(t, folder);
  assert.deepEqual(namesOf(provider.resources), ['a=1']);
});
