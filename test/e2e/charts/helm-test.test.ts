/** The script of `helm test` against a real gateway: it passes, and reports what is wrong. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../support/free-port.ts';
import { until } from '../cluster/support.ts';
import { CHART, ROOT } from './situations.ts';
import { pattern } from '../../support/pattern.ts';

describe('the test of the chart', () => {
  let folder: string;
  let gateway: ChildProcess;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mgw-helm-test-'));
    const [sdk, admin, demo] = [await freePort(), await freePort(), await freePort()];
    await cp(join(ROOT, 'docs/examples/quickstart'), join(folder, 'config'), { recursive: true });
    const platform = join(folder, 'config/platform.yaml');
    await writeFile(platform, (await readFile(platform, 'utf8')).replaceAll('127.0.0.1:4010', `127.0.0.1:${demo}`));
    gateway = spawn(
      process.execPath,
      [
        'bin/mgw.js',
        'run',
        '--config',
        join(folder, 'config'),
        '--data',
        folder,
        '--listen',
        `127.0.0.1:${sdk}`,
        '--admin',
        `127.0.0.1:${admin}`,
        '--with-demo-provider',
        `127.0.0.1:${demo}`,
      ],
      { cwd: ROOT, stdio: 'ignore' },
    );
    env = { FRONT: `http://127.0.0.1:${sdk}`, FLEET: '127.0.0.1', ADMIN_PORT: String(admin), TIMEOUT_MS: '0' };
    await until(
      'it is ready',
      () =>
        fetch(`http://127.0.0.1:${admin}/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    );
  });
  afterAll(async () => {
    const ended = once(gateway, 'exit');
    gateway.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });

  async function runTest(more: NodeJS.ProcessEnv = {}): Promise<{ readonly code: number; readonly output: string }> {
    const script = await readFile(join(CHART, 'files/test.mjs'), 'utf8');
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        ['--input-type=module', '--eval', script],
        { env: { ...env, ...more } },
        (error, stdout) => resolve({ code: Number(error?.code ?? 0), output: stdout }),
      );
    });
  }

  it('passes', async () => {
    const { code, output } = await runTest();
    assert.match(
      output,
      pattern(
        /^ok {4}every proxy is ready: 1 of 1\nok {4}prices: [1-9]\d* models\n/,
        /ok {4}a call without a key is refused: 401\n$/,
      ),
    );
    assert.equal(code, 0);
  });

  it("requests a key's models and remaining money, and makes a call", async () => {
    const secrets = await Array.fromAsync((await import('node:fs/promises')).glob('secrets/*/*.yaml', { cwd: folder }));
    const secret = parse(await readFile(join(folder, secrets[0] ?? ''), 'utf8')) as {
      data?: { apiKey: string };
      stringData?: { apiKey: string };
    };
    const key = secret.stringData?.apiKey ?? Buffer.from(secret.data?.apiKey ?? '', 'base64').toString();
    const { code, output } = await runTest({ KEY: key });
    assert.match(output, /ok {4}models of the key: \S.*\nok {4}remaining money of the key: [\d.]+ USD\n/);
    assert.match(output, /\nok {4}a call with the key: \S+, [1-9]\d* tokens\n$/);
    assert.equal(code, 0);
    const failed = await runTest({ KEY: key, MODEL: 'no-such-model' });
    assert.match(failed.output, /\nFAIL {2}a call with the key: \S+ responds with 404 instead of 200: .*no-such-model/);
    assert.equal(failed.code, 1);
    assert.ok(!output.includes(key));
  });

  it('reports what is wrong', async () => {
    const { code, output } = await runTest({ KEY: `sk-${'x'.repeat(48)}`, ADMIN_PORT: '1' });
    assert.match(output, /^FAIL  every proxy is ready: /);
    assert.match(output, /FAIL  models of the key: \S+ responds with 401 instead of 200/);
    assert.equal(code, 1);
  });
});
