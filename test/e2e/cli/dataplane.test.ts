/**
 * `mgw dataplane` as a process with an operator's server: not ready, ready, applying edits, disconnected, and drained.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { configOf, numberedKey } from '../../unit/dataplane/xds/support.ts';
import { testDistribution } from '../../unit/operator/xds/support.ts';
import { mgw, startMgw, tempFolder } from '../../support/cli.ts';
import type { RunningCli } from '../../support/cli.ts';

const API_KEY = `sk-${'a'.repeat(48)}`;
const KEY = numberedKey(1, { hashes: [{ sha256: createHash('sha256').update(API_KEY).digest('hex') }] });

async function addresses(cli: RunningCli): Promise<{ sdk: string; admin: string }> {
  const [, sdk = '', admin = ''] = await cli.until(/"address":"([^"]+)","admin":"([^"]+)"/);
  return { sdk, admin };
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(url, { headers: { authorization: `Bearer ${API_KEY}` } })).status;
}

async function eventually(url: string, status: number): Promise<void> {
  while ((await statusOf(url)) !== status)
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
}

describe('mgw dataplane', { timeout: 60_000 }, () => {
  it('is ready with its first whole configuration, applies edits, survives its operator, and drains', async () => {
    await using folder = await tempFolder({ 'cache.key': 'a secret that is long enough to be one' });
    await using server = await testDistribution();
    const cached = ['--config-cache', join(folder.path, 'cache'), '--config-cache-key', join(folder.path, 'cache.key')];
    const flags = [
      'dataplane',
      '--insecure-xds',
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
      '--data',
      join(folder.path, 'data'),
      ...cached,
    ];
    await using cli = startMgw(flags, { env: { MGW_XDS: `127.0.0.1:${server.port}` } });
    const { sdk, admin } = await addresses(cli);
    assert.equal(await statusOf(`${admin}/readyz`), 503);
    assert.equal(await statusOf(`${sdk}/v1/models`), 503);
    server.publish(configOf([], { keys: [KEY] }));
    await eventually(`${admin}/readyz`, 200);
    assert.equal(await statusOf(`${sdk}/v1/models`), 200);
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    for (const line of [
      'modelgateway_xds_connected 1',
      'modelgateway_xds_resources 5',
      'modelgateway_xds_refused_resources 0',
      'modelgateway_xds_connections_total 1',
    ])
      assert.ok(metrics.includes(`\n${line}\n`), line);
    const dump = await (await fetch(`${admin}/config_dump`)).text();
    assert.ok(dump.includes('"digest"') && !dump.includes('secret-of-one'));
    server.publish(configOf([], { keys: [{ ...KEY, enabled: false, generation: 2n }] }));
    await eventually(`${sdk}/v1/models`, 401);
    server.publish(configOf([], { keys: [{ ...KEY, generation: 3n }] }));
    await eventually(`${sdk}/v1/models`, 200);
    await server.stop();
    await cli.until(/no operator/);
    assert.deepEqual([await statusOf(`${sdk}/v1/models`), await statusOf(`${admin}/readyz`)], [200, 200]);
    cli.kill('SIGTERM');
    const { exitCode, stdout, stderr } = await cli.finished;
    assert.equal(exitCode, 0, stderr);
    assert.ok(!stdout.includes(API_KEY) && !stdout.includes('secret-of-one'));
    // restarted without an operator, it serves its last configuration
    await using again = startMgw(flags, { env: { MGW_XDS: `127.0.0.1:${server.port}` } });
    const restarted = await addresses(again);
    await eventually(`${restarted.sdk}/v1/models`, 200);
    again.kill('SIGTERM');
    assert.equal((await again.finished).exitCode, 0);
  });

  it('reports mistakes of its command line', async () => {
    await using folder = await tempFolder({ short: 'short' });
    const xds = ['dataplane', '--xds', 'operator.example:18000'];
    const cases: [args: string[], exitCode: number, words: RegExp][] = [
      [['dataplane'], 64, /--xds/],
      [['dataplane', '--xds', 'operator'], 64, /is not HOST:PORT/],
      [xds, 64, /No ledger: pass --ledger/],
      [[...xds, '--data', folder.path, '--insecure-xds'], 64, /loopback/],
      [[...xds, '--data', folder.path, '--config-cache', 'x'], 64, /must be set together/],
      [[...xds, '--data', folder.path], 1, /--xds-ca .*no such file/],
      [
        [...xds, '--data', folder.path, '--config-cache', 'x', '--config-cache-key', join(folder.path, 'short')],
        1,
        /at least 32 bytes/,
      ],
    ];
    await Promise.all(
      cases.map(async ([args, exitCode, words]) => {
        const ended = await mgw(args);
        assert.equal(ended.exitCode, exitCode, `${args.join(' ')}: ${ended.stderr}`);
        assert.match(ended.stderr, words);
      }),
    );
  });
});
