/**
 * The Dockerfile, which is not built here: Hadolint's findings, the properties of the image, and whether the programs
 * start from exactly the files that it copies.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, glob, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { lintDockerfile, needHadolint } from '../../support/pip-program.ts';
import { readDockerfile } from '../../support/image/dockerfile.ts';
import { addModules } from '../../support/image/gateway-image.ts';
import { ROOT } from './situations.ts';

const run = promisify(execFile);
const hadolint = await needHadolint();
const dockerfile = await readDockerfile(ROOT);
const { text, instructions, lastStage, copied, reachesBuild, compileScript } = dockerfile;
/** The largest size of /app: Node.js alone is 150 MB. Raising it needs a reason. */
const MOST_BYTES = 215_000_000;

it.skipIf(hadolint.skip)('Hadolint finds nothing', async () => {
  assert.equal(await lintDockerfile(hadolint, join(ROOT, 'Dockerfile')), '');
});

it('runs as a numbered user who is not root, without a shell', () => {
  assert.deepEqual(
    lastStage.filter((line) => line.startsWith('USER ')),
    ['USER 65532:65532'],
  );
  assert.ok(lastStage.some((line) => line === 'ENTRYPOINT ["node", "/app/bin/mgw.js"]'));
  assert.ok(!lastStage.some((line) => line.startsWith('RUN ')));
  assert.equal(lastStage[0], 'FROM ${RUNTIME_BASE}');
  assert.match(text, /^ARG RUNTIME_BASE=\S+\/distroless\/cc-\w+:nonroot$/m);
});

it("base images have versions, and the project's own has the package's", async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const bases = instructions.filter((each) => each.startsWith('FROM '));
  assert.equal(bases.length, 2);
  for (const line of bases) {
    const [, name = ''] = /^FROM \$\{(\w+_BASE)\}(?: AS \w+)?$/.exec(line) ?? [];
    // a release adds the digest; the tag stays for readers
    assert.match(text, new RegExp(`^ARG ${name}=[\\w./-]+:(?!latest)[\\w.-]+$`, 'm'));
  }
  assert.ok(text.includes(`org.opencontainers.image.version="${version}"`));
  assert.ok(text.includes(`docker build --tag model-gateway:${version} .`));
});

// they are listed only on Linux
it.skipIf(process.platform !== 'linux')('contains every library that Node.js is linked with', async () => {
  const { stdout } = await run('ldd', [process.execPath]);
  const needed = [...stdout.matchAll(/^\s*(?:\/\S*\/)?([\w+-]+)\.so/gm)].map(([, name = '']) => name);
  // in the base of the last stage: the packages libc6, libgcc-s1 and libstdc++6
  const base = [
    'linux-vdso',
    'ld-linux-x86-64',
    'ld-linux-aarch64',
    'libc',
    'libdl',
    'libm',
    'libpthread',
    'libgcc_s',
    'libstdc++',
  ];
  const added = needed.filter((name) => !base.includes(name));
  for (const name of added) assert.ok(text.includes(`/${name}.so.1 lib/`), `${name} is missing`);
  assert.ok(needed.includes('libc'));
  assert.ok(lastStage.some((line) => line.includes('LD_LIBRARY_PATH=/app/lib')));
});

it('the build context has what is copied, and no tests, secrets or data', () => {
  for (const path of copied) assert.ok(reachesBuild(path), path);
  for (const path of [
    '.git/config',
    '.env',
    '.mgw-data/ledger.db',
    'node_modules/x',
    'test/unit/architecture.test.ts',
    'docs/README.md',
    'dataplane/protocol/testdata/x.json',
  ])
    assert.ok(!reachesBuild(path), path);
});

describe('with exactly these files', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mgw-image-'));
    for (const path of copied)
      await cp(join(ROOT, path), join(folder, path), {
        recursive: true,
        filter: (source) => reachesBuild(relative(ROOT, source)),
      });
    await addModules(ROOT, folder, dockerfile);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const env = { PATH: process.env['PATH'] };
  const node = (...args: readonly string[]): Promise<{ readonly stdout: string }> =>
    run(join(folder, 'node_modules/.bin/node'), args, {
      cwd: folder,
      env: {
        ...env,
        NODE_COMPILE_CACHE: join(folder, 'node_modules/.cache/compiled'),
      },
    });

  it('every source is loaded', async () => {
    assert.ok(compileScript);
    await node('--input-type=module', '--eval', compileScript.replaceAll('/app/', `${folder}/`));
    await node(join(folder, 'bin/mgw.js'), 'demo-provider', '--help');
  });

  it('the worker that is not loaded above imports nothing else', async () => {
    const worker = join(folder, 'dataplane/ledger/embedded/checkpoint-thread.ts');
    await assert.rejects(
      node('--input-type=module', '--eval', `await import(${JSON.stringify(worker)})`),
      (error: Error) =>
        error.message.includes('was started outside a worker thread') && !error.message.includes('Cannot find'),
    );
  });

  it('the tokenizer has its vocabulary', async () => {
    // a file, since a worker inherits the options of a script on the command line
    const script = join(folder, 'count.mjs');
    await writeFile(
      script,
      `
      const { createTokenizer } = await import(${JSON.stringify(join(folder, 'dataplane/tokenizer/tokenizer.ts'))});
      const tokenizer = createTokenizer({ onFault: (error) => { throw error; } });
      console.log(await tokenizer.count('key', ['tokenization']));
      await tokenizer.close();`,
    );
    const { stdout } = await node(script);
    // a quarter of its bytes would give 3
    assert.equal(stdout, '2\n');
  });

  it('mgw validates a folder', async () => {
    await node(join(folder, 'bin/mgw.js'), 'validate', join(ROOT, 'docs/examples/quickstart'));
  });

  it('the size is within its limit', async () => {
    let bytes = 0;
    for await (const entry of glob('**', { cwd: folder, withFileTypes: true }))
      if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
    assert.ok(bytes > MOST_BYTES * 0.9 && bytes < MOST_BYTES, `${bytes} bytes, at most ${MOST_BYTES}`);
  });
});
