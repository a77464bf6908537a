/**
 * The workflow files, which are not run here: actionlint's findings, their permissions, and whether the release matches
 * the charts.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { findActionlint, lintWorkflows } from '../../support/actionlint.ts';
import { needHelm } from '../../support/helm.ts';
import { CHART, ROOT } from './situations.ts';

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly on?: Readonly<Record<string, unknown>>;
  readonly permissions?: unknown;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly 'timeout-minutes'?: number;
        readonly steps?: readonly Step[];
        readonly uses?: string;
      }
    >
  >;
}

const run = promisify(execFile);
const FOLDER = join(ROOT, '.github/workflows');
const files = (await Array.fromAsync(glob('*.yml', { cwd: FOLDER }))).sort();
const texts = new Map(
  await Promise.all(files.map(async (file) => [file, await readFile(join(FOLDER, file), 'utf8')] as const)),
);
const workflows = new Map([...texts].map(([file, text]) => [file, parse(text) as Workflow]));
const linter = await findActionlint(process.env);
if ('missing' in linter && process.env['CI'] === 'true') throw new Error(linter.missing);

function stepsOf(file: string): Step[] {
  return Object.values(workflows.get(file)?.jobs ?? {}).flatMap(({ steps = [] }) => steps);
}

describe('workflows', () => {
  it('are for tests, advisories and releases', () => {
    assert.deepEqual(files, ['advisories.yml', 'ci.yml', 'release.yml']);
  });

  it.skipIf('missing' in linter)('actionlint finds nothing', async () => {
    assert.ok('path' in linter);
    assert.equal(
      await lintWorkflows(
        linter.path,
        files.map((file) => join(FOLDER, file)),
      ),
      '',
    );
  });

  for (const file of files) {
    it(`${file} pins actions by commit, with their version beside it`, () => {
      for (const { uses } of stepsOf(file))
        if (uses !== undefined) {
          assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
          assert.match(texts.get(file) ?? '', new RegExp(`${uses} # v\\d+\\.\\d+\\.\\d+\\n`));
        }
    });

    it(`${file} has only read permissions unless a job gives a reason, and has timeouts`, () => {
      assert.deepEqual(workflows.get(file)?.permissions, { contents: 'read' });
      for (const job of Object.values(workflows.get(file)?.jobs ?? {}))
        assert.ok(job.uses !== undefined || (job['timeout-minutes'] ?? 0) > 0);
      for (const line of (texts.get(file) ?? '').split('\n'))
        if (line.includes(': write')) assert.match(line, / # \w/, 'a right is explained');
    });

    it(`${file} puts no untrusted input into a shell command`, () => {
      for (const { run: script = '' } of stepsOf(file)) assert.doesNotMatch(script, /\$\{\{/);
    });
  }

  it('contain no registry', () => {
    for (const text of texts.values())
      assert.deepEqual(
        [...text.matchAll(/\b[\w-]+(?:\.[\w-]+)+\/[\w-]+/g)]
          .map(([found]) => found)
          .filter((found) => !/^registry\.example\.com\/|\.json|^github\.com/.test(found)),
        [],
      );
  });
});

interface Image {
  readonly repository: string;
  readonly tag: string;
  readonly digest: string;
}

interface Values {
  readonly image: Image;
  readonly valkey: { readonly image: Image };
  readonly edge: { readonly image: Image };
}

async function readValues(chart: string): Promise<Values> {
  return parse(await readFile(join(chart, 'values.yaml'), 'utf8')) as Values;
}

const REGISTRY = 'registry.example.com/team';
const PUSHED = `sha256:${'0123456789abcdef'.repeat(4)}`;
const { version: VERSION } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const helm = await needHelm();

function sha256(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

function digestOf({ repository, tag }: Image): string {
  return sha256(`${repository}:${tag}`);
}

/**
 * Programs that record their calls: the digest of an image is the hash of its name, and that of a pushed chart the hash
 * of its path.
 */
const STAND_INS: Readonly<Record<string, string>> = {
  docker: 'echo "sha256:$(sha256 "$4")"',
  helm: `case "$1" in push) echo "Digest: sha256:$(sha256 "$2")";; *) exec "$HELM" "$@";; esac`,
  cosign: '',
  gh: 'test -n "$RELEASED"',
};

describe('a release', () => {
  let folder: string;

  /** Runs the script of a step as a runner does, with stand-ins for the programs that reach the network. */
  async function scripted(step: string): Promise<(env: Readonly<Record<string, string>>) => Promise<unknown>> {
    const script = stepsOf('release.yml').find(({ name }) => name === step)?.run;
    assert.ok(script !== undefined, step);
    return (env) =>
      run('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
        cwd: folder,
        env: {
          PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
          HOME: folder,
          HELM: helm.path,
          CALLS: join(folder, 'calls'),
          GITHUB_ENV: join(folder, 'env'),
          ...env,
        },
      });
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mgw-release-'));
    for (const chart of ['model-gateway', 'model-gateway-crds'])
      await cp(join(ROOT, 'charts', chart), join(folder, 'charts', chart), { recursive: true });
    await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
    await mkdir(join(folder, 'bin'));
    for (const [name, script] of Object.entries(STAND_INS))
      await writeFile(
        join(folder, 'bin', name),
        `#!/bin/sh\necho "${name} $*" >> "$CALLS"\nsha256() { printf %s "$1" | sha256sum | cut -d ' ' -f 1; }\n${script}\n`,
        { mode: 0o755 },
      );
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('runs on the main branch only, and once for a version', async () => {
    const { on } = workflows.get('release.yml') ?? {};
    assert.deepEqual(Object.keys(on ?? {}), ['workflow_dispatch']);
    const check = await scripted('Check the settings and the versions');
    const env = { REGISTRY, GITHUB_REPOSITORY: 'owner/repository', GITHUB_REF: 'refs/heads/main' };
    await assert.rejects(check({ ...env, GITHUB_REF: 'refs/heads/other' }));
    await assert.rejects(check({ ...env, GITHUB_REF: `refs/tags/v${VERSION}` }));
    await assert.rejects(check({ ...env, REGISTRY: '' }), /REGISTRY/);
    await assert.rejects(check({ ...env, RELEASED: '1' }), /has a release already/);
    await rm(join(folder, 'dist'), { recursive: true, force: true });
    await check(env);
    assert.match(
      await readFile(join(folder, 'env'), 'utf8'),
      new RegExp(`^VERSION=${VERSION.replaceAll('.', '\\.')}$`, 'm'),
    );
  });

  it('sets the digests of all images in the chart, and changes nothing else', async () => {
    await (
      await scripted('Have the chart name its images by digest')
    )({ REGISTRY, DIGEST: PUSHED });
    const before = await readValues(CHART);
    const { valkey, edge } = before;
    assert.deepEqual(await readValues(join(folder, 'charts/model-gateway')), {
      ...before,
      image: { ...before.image, repository: `${REGISTRY}/model-gateway`, digest: PUSHED },
      valkey: { ...valkey, image: { ...valkey.image, digest: digestOf(valkey.image) } },
      edge: { ...edge, image: { ...edge.image, digest: digestOf(edge.image) } },
    });
    const chart = await readFile(join(folder, 'charts/model-gateway/Chart.yaml'), 'utf8');
    assert.ok(chart.includes(`      image: ${REGISTRY}/model-gateway:${VERSION}\n`));
  });

  it('packages a chart that runs by digest, and signs what it has pushed', { skip: helm.skip !== false }, async () => {
    const env = { REGISTRY, VERSION, DIGEST: PUSHED };
    const packed = await scripted('Package the charts, and check that every image has a digest');
    const values = join(folder, 'charts/model-gateway/values.yaml');
    const pinned = await readFile(values, 'utf8');
    await writeFile(values, pinned.replace(PUSHED, "''"));
    await assert.rejects(packed(env));
    await writeFile(values, pinned);
    await packed(env);
    const images = (await readFile(join(folder, 'dist/images'), 'utf8')).trim().split('\n');
    assert.equal(images.length, 3, images.join());
    assert.ok(images.some((image) => image.includes(`${REGISTRY}/model-gateway@${PUSHED}`)));
    await (
      await scripted('Push the charts')
    )(env);
    await (
      await scripted('Sign all of it')
    )(env);
    const calls = (await readFile(join(folder, 'calls'), 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('cosign'));
    const chart = (name: string): string => `${REGISTRY}/charts/${name}@${sha256(`dist/${name}-${VERSION}.tgz`)}`;
    assert.deepEqual(calls, [
      `cosign sign --yes --annotations version=${VERSION} --recursive ${REGISTRY}/model-gateway@${PUSHED}`,
      `cosign attest --yes --type cyclonedx --predicate dist/model-gateway.cdx.json ${REGISTRY}/model-gateway@${PUSHED}`,
      `cosign sign --yes --annotations version=${VERSION} ${chart('model-gateway-crds')}`,
      `cosign sign --yes --annotations version=${VERSION} ${chart('model-gateway')}`,
    ]);
  });

  it('is verified by the workflow of the main branch, and by no other', async () => {
    const text = await readFile(join(ROOT, 'docs/concepts/security.md'), 'utf8');
    const commands = text
      .replaceAll('\\\n', ' ')
      .split('\n')
      .filter((line) => line.startsWith('cosign '));
    assert.equal(commands.length, 3);
    for (const command of commands) {
      assert.ok(
        command.includes(
          '--certificate-identity https://github.com/OWNER/REPOSITORY/.github/workflows/release.yml@refs/heads/main ',
        ),
        command,
      );
      assert.doesNotMatch(command, /regexp/);
    }
    const signed = commands.filter((command) => command.startsWith('cosign verify '));
    assert.ok(signed.every((command) => command.includes('--annotations version=VERSION')));
  });

  it('is built from base images with digests', async () => {
    const build = stepsOf('release.yml').find(({ name }) => name === 'Build and push the image')?.run ?? '';
    await cp(join(ROOT, 'Dockerfile'), join(folder, 'Dockerfile'));
    await rm(join(folder, 'env'), { force: true });
    await (
      await scripted('Pin the bases by digest')
    )({});
    const pinned = await readFile(join(folder, 'env'), 'utf8');
    assert.match(pinned, /^NODE_BASE=node:26-\S+@sha256:[0-9a-f]{64}\nRUNTIME_BASE=\S+:nonroot@sha256:[0-9a-f]{64}\n$/);
    for (const name of ['NODE_BASE', 'RUNTIME_BASE']) assert.ok(build.includes(`--build-arg "${name}=$${name}"`));
  });

  it("has a list of the image's contents, without build tools", async () => {
    const script = stepsOf('release.yml').find(({ name }) => name === 'List what is in the image')?.run;
    assert.ok(script !== undefined);
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) await cp(join(ROOT, file), join(folder, file));
    await mkdir(join(folder, 'dist'), { recursive: true });
    await run('bash', ['-euc', script], { cwd: folder });
    const list = await readFile(join(folder, 'dist/model-gateway.cdx.json'), 'utf8');
    const { bomFormat, components } = JSON.parse(list) as {
      readonly bomFormat: string;
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>;
    };
    const kept = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
    const locked = kept.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);
    assert.equal(bomFormat, 'CycloneDX');
    assert.deepEqual(
      components.map(({ name, version }) => `${name.replace(/^.*node_modules\//, '')}@${version}`).sort(),
      [...new Set(locked)].sort(),
    );
  });
});
