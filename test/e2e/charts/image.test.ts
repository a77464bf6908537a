/**
 * The Dockerfile, which is not built here: what Hadolint says, what an image must be, and whether the programs start
 * from exactly the files that it copies.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { lintDockerfile, needHadolint } from '../../support/image-lint.ts';
import { readDockerfile } from '../../support/image/dockerfile.ts';
import { ROOT } from './situations.ts';

const run = promisify(execFile);
const hadolint = await needHadolint();
const { text, instructions, lastStage, copied, reachesBuild, compileScript } = await readDockerfile(ROOT);

it.skipIf(hadolint.skip)('Hadolint finds nothing', async () => {
  assert.equal(await lintDockerfile(hadolint, join(ROOT, 'Dockerfile')), '');
});

it('runs as a numbered user who is not root, without a shell', () => {
  assert.deepEqual(lastStage.filter((line) => line.startsWith('USER ')), ['USER 65532:65532']);
  assert.ok(lastStage.some((line) => line === 'ENTRYPOINT ["node", "/app/bin/mgw.js"]'));
  assert.ok(!lastStage.some((line) => line.startsWith('RUN ')));
  assert.match(lastStage[0] ?? '', /distroless\/cc-\w+:nonroot$/);
});

it('bases are named with a version, and the project\'s own is the package\'s', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  for (const line of instructions.filter((each) => each.startsWith('FROM ')))
    assert.match(line, /:(?!latest)[\w.-]+(?: AS \w+)?$/);
  assert.ok(text.includes(`org.opencontainers.image.version="${version}"`));
  assert.ok(text.includes(`docker build --tag model-gateway:${version} .`));
});

// only on Linux are they listed
it.skipIf(process.platform !== 'linux')('holds every library that Node.js is linked with', async () => {
  const { stdout } = await run('ldd', [process.execPath]);
  const needed = [...stdout.matchAll(/^\s*(?:\/\S*\/)?([\w+-]+)\.so/gm)].map(([, name = '']) => name);
  // of the last stage's base: the packages libc6, libgcc-s1 and libstdc++6
  const base = [
    'linux-vdso', 'ld-linux-x86-64', 'ld-linux-aarch64', 'libc', 'libdl', 'libm', 'libpthread', 'libgcc_s', 'libstdc++',
  ];
  const added = needed.filter((name) => !base.includes(name));
  for (const name of added) assert.ok(text.includes(`/${name}.so.1 lib/`), `${name} is missing`);
  assert.ok(needed.includes('libc'));
  assert.ok(lastStage.some((line) => line.includes('LD_LIBRARY_PATH=/app/lib')));
});

it('the build is given what is copied, and no tests, secrets or data', () => {
  for (const path of copied) assert.ok(reachesBuild(path), path);
  for (const path of [
    '.git/config', '.env', '.mgw-data/ledger.db', 'node_modules/x', 'test/unit/architecture.test.ts', 'docs/README.md',
    'dataplane/protocol/testdata/x.json',
  ]) assert.ok(!reachesBuild(path), path);
});

describe('with exactly these files', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mgw-image-'));
    for (const path of copied) await cp(join(ROOT, path), join(folder, path), {
      recursive: true, filter: (source) => reachesBuild(relative(ROOT, source)),
    });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const env = { PATH: process.env['PATH'] };

  it('every program is loaded', async () => {
    assert.ok(compileScript);
    const script = compileScript.replace('/app', folder);
    await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder, env });
    await run(process.execPath, [join(folder, 'bin/mgw.js'), 'demo-provider', '--help'], { cwd: tmpdir(), env });
  });

  it('a folder is validated', async () => {
    await run(process.execPath, [
      join(folder, 'bin/mgw.js'), 'validate', join(ROOT, 'docs/examples/quickstart'),
    ], { cwd: tmpdir(), env });
  });
});
