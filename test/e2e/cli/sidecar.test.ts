/** `mgw dataplane --sidecar` as in a pod: the key in a folder as Kubernetes mounts it, its admin pages, its end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, it } from 'vitest';
import { mgw, startMgw, tempFolder } from '../../support/cli.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../cluster/support.ts';

const KEYS = ['sk-first-000000000000000000000000000000', 'sk-second-00000000000000000000000000000'] as const;

let fleet: Server | undefined;
afterEach(async () => {
  const server = fleet;
  fleet = undefined;
  if (!server) return;
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

async function startFleet(listener: RequestListener): Promise<string> {
  fleet = createServer(listener);
  await once(fleet.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(fleet.address() as AddressInfo).port}`;
}

/** Replaces the key as the kubelet does: a new folder beside the old one, and one link swapped. */
async function mount(folder: string, version: number, key: string | undefined): Promise<void> {
  await mkdir(join(folder, `..${version}`));
  if (key !== undefined) await writeFile(join(folder, `..${version}`, 'apiKey'), key);
  await symlink(`..${version}`, join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  if (version === 1) await symlink('..data/apiKey', join(folder, 'apiKey'));
  else await rm(join(folder, `..${version - 1}`), { recursive: true });
}

describe('mgw dataplane --sidecar', () => {
  it('is ready with a key, uses a replaced one, is not ready without, and completes a running call', async () => {
    let finish = (): void => undefined;
    const url = await startFleet((request, response) => {
      response.write(String(request.headers.authorization));
      if (request.url === '/v1/slow') finish = () => response.end(' done');
      else response.end();
    });
    await using folder = await tempFolder();
    await mount(folder.path, 1, KEYS[0]);
    const [port, admin] = [await freePort(), await freePort()];
    await using cli = startMgw(['dataplane', '--sidecar', '--admin', `127.0.0.1:${admin}`], {
      env: { MGW_FLEET: url, MGW_KEY_FILE: join(folder.path, 'apiKey'), MGW_LISTEN: `127.0.0.1:${port}` },
    });
    await cli.until(/the sidecar is listening/);
    const ask = (path: string): Promise<string> =>
      fetch(`http://127.0.0.1:${port}${path}`).then((answer) => answer.text());
    const ready = (): Promise<{ status: number; text: string }> =>
      fetch(`http://127.0.0.1:${admin}/readyz`).then(async (answer) => ({
        status: answer.status,
        text: await answer.text(),
      }));
    assert.equal((await ready()).status, 200);
    assert.equal(await ask('/v1/models'), `Bearer ${KEYS[0]}`);
    await mount(folder.path, 2, KEYS[1]);
    await until(
      'the other key',
      () => ask('/v1/models'),
      (text) => text === `Bearer ${KEYS[1]}`,
    );
    const dump = (await fetch(`http://127.0.0.1:${admin}/config_dump`).then((answer) => answer.json())) as Record<
      string,
      unknown
    >;
    assert.deepEqual([dump['fleet'], dump['keyLoaded'], dump['keyChanges']], [url, true, 1]);
    await mount(folder.path, 3, undefined);
    const without = await until('no key', ready, ({ status }) => status === 503);
    assert.match(without.text, /is not there or cannot be read/);
    await mount(folder.path, 4, KEYS[0]);
    await until('a key again', ready, ({ status }) => status === 200);
    const slow = await fetch(`http://127.0.0.1:${port}/v1/slow`);
    cli.kill('SIGTERM');
    await cli.until(/waiting for running calls/);
    assert.match((await ready()).text, /draining/);
    finish();
    assert.equal(await slow.text(), `Bearer ${KEYS[0]} done`);
    const { exitCode, stdout, stderr } = await cli.finished;
    assert.equal(exitCode, 0);
    for (const key of KEYS) assert.ok(!`${stdout}${stderr}`.includes(key.slice(3, 12)));
  });

  for (const [args, exitCode, words] of [
    [['dataplane', '--sidecar'], 64, /--fleet <URL>' not specified/],
    [['sidecar', '--fleet', 'http://gateway'], 64, /the key is sent unencrypted.*--insecure-fleet/],
    [['sidecar', '--fleet', 'https://user:secret@gateway'], 64, /--fleet with a password: it must be an https URL/],
    [['sidecar', '--fleet', 'ftp://gateway'], 64, /it must be an https URL/],
    [
      ['sidecar', '--fleet', 'https://gateway', '--listen', '192.0.2.1:4000', '--admin', '127.0.0.1:0'],
      1,
      /--listen 192\.0\.2\.1:4000: the address is not an address of this machine/,
    ],
    [['dataplane', '--sidecar', '--fleet', 'https://gateway', '--xds', 'a:1'], 64, /unknown option '--xds'/],
    [
      ['dataplane', '--xds', 'a:1', '--data', '/nowhere', '--tls', '/nowhere'],
      64,
      /--tls-listen and --tls must be set together/,
    ],
  ] as const)
    it(`refuses ${args.join(' ')}`, async () => {
      const finished = await mgw(args);
      assert.equal(finished.exitCode, exitCode, finished.stderr);
      assert.match(finished.stderr, words);
      assert.ok(!finished.stderr.includes('secret'));
    });

  it('is enabled by MGW_SIDECAR too, and can be disabled', async () => {
    assert.match((await mgw(['dataplane'], { env: { MGW_SIDECAR: 'true' } })).stderr, /--fleet <URL>/);
    assert.match((await mgw(['dataplane'], { env: { MGW_SIDECAR: 'false' } })).stderr, /--xds <HOST:PORT>/);
  });
});
