/** A gateway whose standard output nobody reads: calls, health checks and the shutdown do not wait for the reader. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { it } from 'vitest';
import { tempFolder } from '../../support/cli.ts';
import { freePort } from '../../support/free-port.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** More lines than a pipe of 64 KiB and the buffer of 1 MiB take. */
const REFUSED_CALLS = 6_000;
const AT_ONCE = 20;

it('serves, reports itself healthy, counts the lines that it drops, and stops', async () => {
  const [port, admin] = [await freePort(), await freePort()];
  await using data = await tempFolder();
  const flags = ['--config', 'docs/examples/quickstart', '--data', data.path, '--console', 'off'];
  const listens = ['--listen', `127.0.0.1:${port}`, '--admin', `127.0.0.1:${admin}`];
  const gateway = spawn(process.execPath, ['bin/mgw.js', 'run', ...flags, ...listens], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'], // nothing reads the pipe
  });
  const exited = once(gateway, 'exit');
  try {
    const read = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${admin}${path}`);
    for (let isReady = false; !isReady;)
      isReady = await read('/readyz').then(
        ({ ok }) => ok,
        () => false,
      );
    const ask = async (): Promise<void> => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/models?filler=${'x'.repeat(200)}`);
      assert.equal(response.status, 401);
      await response.arrayBuffer();
    };
    for (let asked = 0; asked < REFUSED_CALLS; asked += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, ask));
    assert.equal((await read('/healthz')).status, 200);
    const [, dropped] =
      /^modelgateway_log_lines_dropped_total (\d+)$/m.exec(await (await read('/metrics')).text()) ?? [];
    assert.ok(Number(dropped) > 0, `dropped: ${dropped}`);
    gateway.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
  } finally {
    gateway.kill('SIGKILL');
    gateway.stdout.destroy();
  }
}, 120_000);
