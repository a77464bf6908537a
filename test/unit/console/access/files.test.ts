/** Changes to a folder of manifests by its admin, with a real operator on a real folder. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { access, chmod, lstat, mkdir, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, it } from 'vitest';
import type { TestContext } from 'vitest';
import { loadApiKinds } from '#crds/load.ts';
import { AccessError } from '../../../../console/access/access.ts';
import type { AccessErrorReason, ObjectOf, PersonAccess } from '../../../../console/access/access.ts';
import { createFilesAccess } from '../../../../console/access/files.ts';
import type { ManifestSource } from '../../../../console/access/files/source.ts';
import { startOperator } from '../../../../programs/one-machine/operator.ts';
import type { MintedKey } from '../../../../operator/reconcile/mint-keys.ts';
import { GATEWAY_NAMESPACE, temporaryFolder } from '../../operator/support.ts';

const PLATFORM = `apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: main}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
`;
const TEAM = `# Team A, written by hand.

# The money.
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: team, namespace: team}
spec:
  grants:
  - {name: first, usd: "10"}   # from the budget
---
# The pipeline's key.
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci, namespace: team}
spec:
  groupRef: {name: main}
  accountRef: {name: team}
  quota:
    limitUsd: "2"     # not more!
--- # another one
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata:
  name: shared
  namespace: team
spec: &spec
  groupRef: {name: main}
  accountRef: {name: team}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: alias, namespace: team}
spec: {groupRef: {name: main}, accountRef: {name: team}, models: &models [gpt], maxConcurrency: 3}
# the end
`;
const TOKEN = 'the-admin-token-of-this-test-1234';
const CI = { namespace: 'team', name: 'ci' };
const CI_SPEC = {
  groupRef: { name: 'main' },
  accountRef: { name: 'team' },
  quota: { limitUsd: '7' },
} as unknown as ObjectOf<'ApiKey'>['spec'];

interface Machine {
  readonly admin: PersonAccess;
  readonly config: string;
  readonly data: string;
  readonly team: string;
  readonly text: () => Promise<string>;
  readonly source: ManifestSource;
  readonly minted: readonly MintedKey[];
}

async function machine(t: TestContext, team = TEAM): Promise<Machine> {
  const config = await temporaryFolder(t);
  const data = await temporaryFolder(t);
  await writeFile(join(config, 'platform.yaml'), PLATFORM);
  await writeFile(join(config, 'team.yaml'), team, { mode: 0o640 });
  const minted: MintedKey[] = [];
  const ignore = (): void => undefined;
  const operator = await startOperator({
    configDir: config,
    dataDir: data,
    gatewayNamespace: GATEWAY_NAMESPACE,
    log: { info: ignore, warn: ignore, error: ignore },
    publish: () => ({ accepted: true }),
    onMinted: (key) => minted.push(key),
    onProblems: ignore,
  });
  t.onTestFinished(() => operator.stop());
  const filesAccess = createFilesAccess({
    source: operator.manifests,
    kinds: await loadApiKinds(),
    log: { info: ignore },
    isToken: (token) => token === TOKEN,
    delay: async (ms) => {
      await setTimeout(ms);
    },
  });
  const admin = await filesAccess.signIn({ token: TOKEN });
  assert.ok(admin);
  assert.equal(await filesAccess.signIn({ token: `${TOKEN}5` }), undefined);
  const path = join(config, 'team.yaml');
  return { admin, config, data, team: path, text: () => readFile(path, 'utf8'), source: operator.manifests, minted };
}

/** Read-only until it is disposed of. Root can write whatever the permissions are, but not on a read-only mount. */
async function writeProtected(path: string): Promise<AsyncDisposable> {
  if (process.getuid?.() !== 0) {
    const { mode } = await stat(path);
    await chmod(path, mode & 0o555);
    return { [Symbol.asyncDispose]: () => chmod(path, mode) }; // or the folder could not be removed
  }
  execFileSync('mount', ['--bind', path, path]);
  execFileSync('mount', ['-o', 'remount,ro,bind', path]);
  return { [Symbol.asyncDispose]: async () => void execFileSync('umount', [path]) };
}

async function seen(admin: PersonAccess, ref = CI): Promise<{ generation: number; uid: string }> {
  const { uid, generation } = (await admin.get('ApiKey', ref))?.metadata ?? {};
  assert.ok(uid !== undefined && generation !== undefined);
  return { uid, generation };
}

/** The parts of a text that an edit keeps: its lines, but not empty ones, nor the distance of a comment. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/ +#/, ' #'));
}

/** The line in the team's manifests, from 1. */
function lineOf(text: string): number {
  return TEAM.slice(0, TEAM.indexOf(text)).split('\n').length;
}

function refused(fault: AccessErrorReason, words: RegExp = /./) {
  return (error: unknown): true => {
    assert.ok(error instanceof AccessError, String(error));
    assert.equal(error.reason, fault, error.message);
    assert.match(error.message, words);
    return true;
  };
}

describe('reading', () => {
  it('returns the objects in force, with statuses', async (t) => {
    const { admin } = await machine(t);
    const { objects, allowed } = await admin.list('ApiKey');
    assert.ok(allowed);
    assert.deepEqual(objects.map(({ metadata }) => metadata.name).sort(), ['alias', 'ci', 'shared']);
    const key = await admin.get('ApiKey', CI);
    assert.equal(key?.spec.enabled, true, 'with defaults');
    assert.ok(key?.status?.conditions?.some(({ type }) => type === 'Accepted'));
    assert.equal(await admin.get('ApiKey', { namespace: 'team', name: 'none' }), undefined);
    assert.match((await admin.readKeyText(CI)) ?? '', /^sk-/);
    assert.deepEqual(await admin.namespaces('create', 'ApiKey'), [GATEWAY_NAMESPACE, 'team'].sort());
    assert.deepEqual(await admin.namespaces('create', 'Group'), [GATEWAY_NAMESPACE]);
  });
});

describe('a change', () => {
  it('changes one place in the file, and is in force when it returns', async (t) => {
    const { admin, text, team } = await machine(t);
    const changed = await admin.change('ApiKey', CI, {
      ...(await seen(admin)),
      patch: {
        spec: {
          quota: { limitUsd: '30.50', period: 'Never' },
          enabled: true,
          maxConcurrency: 4,
        },
      },
    });
    assert.equal(changed.spec.quota.limitUsd, '30.50');
    assert.equal(
      changed.status?.conditions?.find(({ type }) => type === 'Accepted')?.observedGeneration,
      changed.metadata.generation,
    );
    assert.deepEqual(
      linesOf(await text()),
      linesOf(TEAM.replace('"2"     # not more!\n', '"30.50"     # not more!\n  maxConcurrency: 4\n')),
      'defaults get no line',
    );
    assert.equal((await stat(team)).mode & 0o777, 0o640);
    const again = await admin.change('ApiKey', CI, {
      ...(await seen(admin)),
      patch: { spec: { maxConcurrency: null, quota: { limitUsd: '2' } } },
    });
    assert.equal(again.spec.maxConcurrency, undefined);
    assert.deepEqual(linesOf(await text()), linesOf(TEAM));
    assert.deepEqual((await readdir(join(team, '..'))).sort(), ['platform.yaml', 'team.yaml'], 'nothing else is left');
  });

  it('without a difference writes nothing', async (t) => {
    const { admin, team } = await machine(t);
    const before = await stat(team);
    await admin.change('ApiKey', CI, {
      ...(await seen(admin)),
      patch: { spec: { enabled: true, expirationTime: null, quota: { limitUsd: '2' } } },
    });
    assert.equal((await stat(team)).ino, before.ino);
  });

  it('adds a grant beside the others', async (t) => {
    const { admin, text } = await machine(t);
    const ref = { namespace: 'team', name: 'team' };
    const account = await admin.get('Account', ref);
    const grants = [...(account?.spec.grants ?? []), { name: 'second', usd: '5', reason: 'more' }];
    await admin.change('Account', ref, {
      generation: account?.metadata.generation ?? 0,
      uid: account?.metadata.uid ?? '',
      patch: { spec: { grants }, metadata: { annotations: { note: 'x' } } },
    });
    assert.deepEqual(
      linesOf(await text()),
      linesOf(
        TEAM.replace(
          '# from the budget\n',
          '# from the budget\n  - name: second\n    usd: "5"\n    reason: more\n',
        ).replace(
          '{name: team, namespace: team}\nspec:\n  grants',
          '{name: team, namespace: team, annotations: {note: x}}\nspec:\n  grants',
        ),
      ),
    );
  });

  it('that the API would refuse is reported at its fields, and not written', async (t) => {
    const { admin, text } = await machine(t);
    const cases: [patch: unknown, path: string, words: RegExp][] = [
      [{ quota: { limitUsd: 'much' } }, 'spec.quota.limitUsd', /./],
      [{ quota: { period: 'Hourly' } }, 'spec.quota.period', /Unsupported value/],
      [{ colour: 'red' }, 'spec.colour', /unknown field/],
      [{ accountRef: { name: 'other' } }, 'spec.accountRef.name', /^Forbidden: accountRef\.name cannot be changed/],
      [{ key: { type: 'Provided' } }, 'spec.key.type', /^Forbidden: /],
    ];
    for (const [spec, path, words] of cases) {
      await assert.rejects(admin.change('ApiKey', CI, { ...(await seen(admin)), patch: { spec } }), (error) => {
        assert.ok(error instanceof AccessError);
        assert.equal(error.reason, 'Invalid');
        const field = error.fields.find((each) => each.path === path);
        assert.ok(field, `${path}: ${JSON.stringify(error.fields)}`);
        assert.match(field.message, words);
        return true;
      });
    }
    assert.equal(await text(), TEAM);
  });

  it('that cannot be made safely is refused with file and line', async (t) => {
    const { admin, text, team } = await machine(t);
    const shared = { namespace: 'team', name: 'shared' };
    await assert.rejects(
      admin.change('ApiKey', shared, { ...(await seen(admin, shared)), patch: { spec: { enabled: false } } }),
      (error) => {
        assert.ok(error instanceof AccessError && error.reason === 'Invalid');
        assert.ok(error.message.includes(`${team}:${lineOf('&spec')}: it has an anchor (&spec)`), error.message);
        return true;
      },
    );
    const alias = { namespace: 'team', name: 'alias' };
    await assert.rejects(
      admin.change('ApiKey', alias, { ...(await seen(admin, alias)), patch: { spec: { models: ['gpt', 'o3'] } } }),
      refused('Invalid', new RegExp(`:${lineOf('&models')}: it has an anchor`)),
    );
    await admin.change('ApiKey', alias, { ...(await seen(admin, alias)), patch: { spec: { maxConcurrency: 4 } } });
    assert.deepEqual(
      linesOf(await text()),
      linesOf(TEAM.replace('maxConcurrency: 3', 'maxConcurrency: 4')),
      'the rest can be edited',
    );
  });

  it('never overwrites a concurrent change', async (t) => {
    const { admin, text, team } = await machine(t);
    const before = await seen(admin);
    const theirs = TEAM.replace('# not more!', '# really').replace('"2"', '"3"');
    await writeFile(team, theirs);
    await assert.rejects(
      admin.change('ApiKey', CI, { ...before, patch: { spec: { enabled: false } } }),
      refused('Conflict', /changed since you opened it/),
    );
    assert.equal(await text(), theirs);
    await admin.change('ApiKey', CI, { ...(await seen(admin)), patch: { spec: { quota: { limitUsd: '4' } } } });
    assert.deepEqual(linesOf(await text()), linesOf(theirs.replace('"3"', '"4"')));
    await assert.rejects(
      admin.change('ApiKey', CI, { ...(await seen(admin)), uid: 'other', patch: { spec: { enabled: false } } }),
      refused('Conflict'),
    );
    await assert.rejects(
      admin.change('ApiKey', { namespace: 'team', name: 'none' }, { ...before, patch: {} }),
      refused('NotFound'),
    );
  });

  it('is applied to the current file if only other objects have changed', async (t) => {
    const { admin, text, team } = await machine(t);
    const before = await seen(admin);
    const theirs = `# new first line\n${TEAM.replace('usd: "10"', 'usd: "11"')}`;
    await writeFile(team, theirs);
    await admin.change('ApiKey', CI, { ...before, patch: { spec: { quota: { limitUsd: '4' } } } });
    assert.deepEqual(linesOf(await text()), linesOf(theirs.replace('"2"', '"4"')));
  });

  it('is refused in a folder with mistakes', async (t) => {
    const { admin, team } = await machine(t);
    const before = await seen(admin);
    await writeFile(team, TEAM.replace('kind: Account', 'kind: Acount'));
    await assert.rejects(
      admin.change('ApiKey', CI, { ...before, patch: { spec: { enabled: false } } }),
      refused('Unavailable', /team\.yaml:5:\d+: error: .*unknown kind/),
    );
    await writeFile(team, TEAM);
    await admin.change('ApiKey', CI, { ...before, patch: { spec: { enabled: false } } });
  });

  it('waits for the one before it', async (t) => {
    const { admin, text } = await machine(t);
    const before = await seen(admin);
    const results = await Promise.allSettled(
      [3, 4, 5].map((maxConcurrency) => admin.change('ApiKey', CI, { ...before, patch: { spec: { maxConcurrency } } })),
    );
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected'],
    );
    assert.match(await text(), /maxConcurrency: 3\n---/);
  });

  it("of a linked file changes the link's target", async (t) => {
    const { admin, config, team } = await machine(t);
    const real = join(await temporaryFolder(t), 'real.yaml');
    await writeFile(real, TEAM);
    await rm(team);
    await symlink(real, team);
    await admin.change('ApiKey', CI, { ...(await seen(admin)), patch: { spec: { quota: { limitUsd: '4' } } } });
    assert.ok((await lstat(join(config, 'team.yaml'))).isSymbolicLink());
    assert.deepEqual(linesOf(await readFile(real, 'utf8')), linesOf(TEAM.replace('"2"', '"4"')));
  });

  it('reports a file that cannot be written', async (t) => {
    const { admin, config, team, text } = await machine(t);
    await using _file = await writeProtected(team);
    await assert.rejects(
      admin.change('ApiKey', CI, { ...(await seen(admin)), patch: { spec: { enabled: false } } }),
      refused('Unavailable', /may not write|on a read-only file system/),
    );
    assert.equal(await text(), TEAM);
    await using _folder = await writeProtected(config);
    assert.equal(await admin.may('create', 'ApiKey', {}), false);
    assert.deepEqual(await admin.namespaces('create', 'ApiKey'), []);
    await assert.rejects(
      admin.create('ApiKey', { namespace: 'team', name: 'new' }, CI_SPEC),
      refused('Unavailable', /may not write|on a read-only file system/),
    );
  });
});

describe('a new object', () => {
  it("gets a file of its own with the author's fields", async (t) => {
    const { admin, config, minted } = await machine(t);
    const ref = { namespace: 'team', name: 'new' };
    const made = await admin.create('ApiKey', ref, {
      ...CI_SPEC,
      enabled: true,
      gatewayNamespace: 'model-gateway',
      key: { type: 'Generated', rotation: 1, overlapSeconds: 0 },
    } as unknown as ObjectOf<'ApiKey'>['spec']);
    assert.equal(made.metadata.uid, 'team/new');
    assert.equal(
      await readFile(join(config, 'team-new.yaml'), 'utf8'),
      `apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata:
  name: new
  namespace: team
spec:
  groupRef:
    name: main
  accountRef:
    name: team
  quota:
    limitUsd: "7"
`,
    );
    assert.equal(
      await admin.readKeyText(ref),
      minted.find(({ name }) => name === 'new')?.key,
      'the key exists when create() resolves',
    );
    await assert.rejects(admin.create('ApiKey', ref, CI_SPEC), refused('AlreadyExists'));
    const account = { namespace: 'team', name: 'new' };
    await admin.create('Account', account, { grants: [] } as unknown as ObjectOf<'Account'>['spec']);
    await access(join(config, 'team-new-account.yaml'));
  });

  it('is refused with an invalid name, and leaves no file', async (t) => {
    const { admin, config } = await machine(t);
    for (const ref of [
      { namespace: 'team', name: '../evil' },
      {
        namespace: '..',
        name: 'x',
      },
      { namespace: 'team', name: '.hidden' },
      { namespace: 'team', name: 'Über' },
      { namespace: 'team', name: '' },
    ])
      await assert.rejects(admin.create('ApiKey', ref, CI_SPEC), refused('Invalid'));
    await assert.rejects(
      admin.create('ApiKey', { namespace: 'team', name: 'bad' }, { ...CI_SPEC, maxConcurrency: 0 }),
      refused('Invalid'),
    );
    assert.deepEqual((await readdir(config)).sort(), ['platform.yaml', 'team.yaml']);
  });

  it('never uses the name of an existing file', async (t) => {
    const { admin, config } = await machine(t);
    await writeFile(join(config, 'team-new.yaml'), '# notes\n');
    await admin.create('ApiKey', { namespace: 'team', name: 'new' }, CI_SPEC);
    assert.equal(await readFile(join(config, 'team-new.yaml'), 'utf8'), '# notes\n');
    await access(join(config, 'team-new-apikey.yaml'));
  });
});

describe('a deletion', () => {
  it('removes the document, and the key that was created for it', async (t) => {
    const { admin, text, data } = await machine(t);
    const file = join(data, 'secrets', 'team', 'ci-key.yaml');
    await access(file);
    await admin.remove('ApiKey', CI, 'team/ci');
    const from = TEAM.indexOf('---\n# The pipeline');
    assert.equal(await text(), TEAM.slice(0, from) + TEAM.slice(TEAM.indexOf('--- # another')));
    await assert.rejects(access(file));
    assert.equal(await admin.get('ApiKey', CI), undefined);
    await assert.rejects(admin.remove('ApiKey', CI, 'team/ci'), refused('NotFound'));
  });

  it("of the first document keeps the file's own comment", async (t) => {
    const { admin, text } = await machine(t);
    await admin.remove('Account', { namespace: 'team', name: 'team' }, 'team/team');
    assert.equal(await text(), `# Team A, written by hand.\n${TEAM.slice(TEAM.indexOf('---\n'))}`);
  });

  it('of the only document deletes the file', async (t) => {
    const { admin, config } = await machine(t);
    await admin.create('ApiKey', { namespace: 'team', name: 'new' }, CI_SPEC);
    const key = await admin.readKeyText({ namespace: 'team', name: 'new' });
    await admin.remove('ApiKey', { namespace: 'team', name: 'new' }, 'team/new');
    assert.deepEqual((await readdir(config)).sort(), ['platform.yaml', 'team.yaml']);
    await admin.create('ApiKey', { namespace: 'team', name: 'new' }, CI_SPEC);
    assert.notEqual(
      await admin.readKeyText({ namespace: 'team', name: 'new' }),
      key,
      'a deleted key never opens anything again',
    );
  });

  it('keeps a key that another ApiKey names, and Secrets that users wrote', async (t) => {
    const { admin, data, config } = await machine(t);
    await mkdir(join(config, 'more'));
    await writeFile(
      join(config, 'more', 'twin.yaml'),
      'apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: twin, namespace: team}\nspec: ' +
        '{groupRef: {name: main}, accountRef: {name: team}, key: {type: Provided, secretRef: {name: ci-key}}}\n',
    );
    await admin.remove('ApiKey', CI, 'team/ci');
    await access(join(data, 'secrets', 'team', 'ci-key.yaml'));
  });

  it('of an object that was replaced meanwhile is refused', async (t) => {
    const { admin, text } = await machine(t);
    await assert.rejects(admin.remove('ApiKey', CI, 'other'), refused('Conflict'));
    assert.equal(await text(), TEAM);
  });
});
