/**
 * A test node leaves nothing behind when it is stopped, and nothing that the next one does not remove when the test is
 * killed.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { openSandbox } from '../../support/kube-node/sandbox.ts';
import { kubeNodeMissing } from '../../support/kube-node.ts';
import { eventually } from './cluster-release.ts';

const missing = await kubeNodeMissing();
const SANDBOX = join(import.meta.dirname, '../../support/kube-node/sandbox.ts');

/** Returns what exists of a sandbox on this machine. */
async function remains(folder: string): Promise<string[]> {
  const name = folder.slice(folder.lastIndexOf('/') + 1);
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n');
  const cgroups = mounts
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, path = '']) => path);
  const inCgroups = await Promise.all(
    cgroups.map(async (path) => (await readdir(path)).filter((each) => each === name).map((each) => join(path, each))),
  );
  return [
    ...mounts.filter((line) => line.includes(name)),
    ...inCgroups.flat(),
    ...(await readdir(tmpdir())).filter((each) => each === name),
  ];
}

function interfaceOf(host: string): string | undefined {
  return Object.entries(networkInterfaces()).find(([, addresses]) =>
    addresses?.some(({ address }) => address === host),
  )?.[0];
}

describe.skipIf(missing)('the sandbox of a test node', () => {
  it('ends when it is stopped, with every process in it', async () => {
    const sandbox = await openSandbox();
    const { folder, network } = sandbox;
    const running = sandbox.start('sleep', '/bin/sleep', ['1000']);
    await sandbox.run('/bin/sh', [
      '-ec',
      `mkdir ${folder}/mounted && mount -t tmpfs none ${folder}/mounted && ip ` +
        `link add bridge0 type bridge && mkdir /sys/fs/cgroup/*${sandbox.cgroup}/inner || true`,
    ]);
    assert.ok(interfaceOf(network.host));
    const ended = once(running.child, 'exit');
    await sandbox.stop();
    await ended;
    assert.deepEqual(await remains(folder), []);
    await eventually(
      'its network interface is gone',
      () => Promise.resolve(interfaceOf(network.host)),
      (name) => name === undefined,
    );
  });

  it('ends with the process that opened it; the next one cleans up', async () => {
    const script =
      `const { openSandbox } = await import(${JSON.stringify(SANDBOX)}); const { folder, network } = ` +
      `await openSandbox(); console.log(JSON.stringify({ folder, network })); setInterval(() => {}, 1e6);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [text] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    const { folder, network } = JSON.parse(text) as { folder: string; network: { host: string } };
    assert.ok(interfaceOf(network.host));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await eventually(
      'its network interface is gone',
      () => Promise.resolve(interfaceOf(network.host)),
      (name) => name === undefined,
    );
    const next = await openSandbox();
    try {
      assert.deepEqual(await remains(folder), []);
    } finally {
      await next.stop();
    }
  });
});
