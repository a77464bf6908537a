/**
 * The workflow files, which are not run here: actionlint's findings, their permissions, and whether the release matches
 * the charts.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { findActionlint, lintWorkflows } from '../../support/actionlint.ts';
import { CHART, ROOT } from './situations.ts';

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
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

describe('a release', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mgw-release-'));
    await cp(CHART, join(folder, 'charts/model-gateway'), { recursive: true });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('sets the pushed image in the chart, and changes nothing else', async () => {
    const script = stepsOf('release.yml').find(({ name }) => name === 'Have the chart name this image')?.run;
    assert.ok(script !== undefined);
    const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
    await run('bash', ['-euc', script], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        REGISTRY: 'registry.example.com/team',
        DIGEST: digest,
      },
    });
    const read = async (path: string) => parse(await readFile(path, 'utf8')) as { image: object };
    const before = await read(join(CHART, 'values.yaml'));
    assert.deepEqual(await read(join(folder, 'charts/model-gateway/values.yaml')), {
      ...before,
      image: { ...before.image, repository: 'registry.example.com/team/model-gateway', digest },
    });
  });

  it('is built from base images with digests', async () => {
    const script = stepsOf('release.yml').find(({ name }) => name === 'Pin the bases by digest')?.run;
    const build = stepsOf('release.yml').find(({ name }) => name === 'Build and push the image')?.run ?? '';
    assert.ok(script !== undefined);
    // a fake of Docker: the digest of any image is sha256:0
    await mkdir(join(folder, 'bin'));
    await writeFile(join(folder, 'bin/docker'), '#!/bin/sh\necho sha256:0\n', { mode: 0o755 });
    await cp(join(ROOT, 'Dockerfile'), join(folder, 'Dockerfile'));
    const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, GITHUB_ENV: join(folder, 'env') };
    await run('bash', ['-euc', script], { cwd: folder, env });
    const pinned = await readFile(join(folder, 'env'), 'utf8');
    assert.match(pinned, /^NODE_BASE=node:26-\S+@sha256:0\nRUNTIME_BASE=\S+:nonroot@sha256:0\n$/);
    for (const name of ['NODE_BASE', 'RUNTIME_BASE']) assert.ok(build.includes(`--build-arg "${name}=$${name}"`));
  });

  it("has a list of the image's contents, without build tools", async () => {
    const script = stepsOf('release.yml').find(({ name }) => name === 'List what is in the image')?.run;
    assert.ok(script !== undefined);
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) await cp(join(ROOT, file), join(folder, file));
    await mkdir(join(folder, 'dist'));
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
