/** `mgw operator` without an API server: it reports that, and exits on a signal. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { mgw, tempFolder } from '../../support/cli.ts';
import { freePort } from '../../support/free-port.ts';
import { kubeconfigFor, until } from './support.ts';

const ROOT = join(import.meta.dirname, '../../..');

describe('mgw operator without an API server', () => {
  for (const [name, args, said] of [
    ['with certificates to be read', [], /"name": "xds"/],
    ['with objects to be read', ['--insecure-xds'], /the API server does not respond.*ECONNREFUSED/],
  ] as const) {
    it(`waits, logs the reason, and exits normally: ${name}`, async () => {
      await using folder = await tempFolder({
        kubeconfig: kubeconfigFor({ url: 'https://127.0.0.1:1', ca: '' }, 'token'),
      });
      const [xds, admin] = [await freePort(), await freePort()];
      const child = spawn(
        process.execPath,
        [
          'bin/mgw.js',
          'operator',
          '--kubeconfig',
          join(folder.path, 'kubeconfig'),
          '--xds-listen',
          `127.0.0.1:${xds}`,
          '--admin',
          `127.0.0.1:${admin}`,
          ...args,
        ],
        { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] },
      );
      const exited = once(child, 'exit');
      await until(
        'it says so',
        () => fetch(`http://127.0.0.1:${admin}/readyz`).then((answer) => answer.text(), String),
        (text) => said.test(text),
      );
      child.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null]);
    });
  }

  it('says what to do without a kubeconfig, and with an unreadable one', async () => {
    const nothing = await mgw(['operator'], { env: { KUBECONFIG: '', HOME: '/nowhere' } });
    assert.deepEqual(
      [nothing.exitCode, /set a kubeconfig file with --kubeconfig/.test(nothing.stderr)],
      [1, true],
      nothing.stderr,
    );
    const missing = await mgw(['operator', '--kubeconfig', '/nowhere/kubeconfig']);
    assert.deepEqual(
      [missing.exitCode, /The kubeconfig \/nowhere\/kubeconfig cannot be used/.test(missing.stderr)],
      [1, true],
      missing.stderr,
    );
  });
});
