/** A proxy without an operator for too long refuses calls: their keys may have been revoked. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, it } from 'vitest';
import { openEmbeddedLedger } from '../../../dataplane/ledger/embedded.ts';
import { startProxy } from '../../../programs/proxy.ts';
import { configOf } from '../../unit/dataplane/xds/support.ts';
import { testDistribution } from '../../unit/operator/xds/support.ts';

const HOUR_MS = 3_600_000;
const LISTEN = { host: '127.0.0.1', port: 0 };

/** Polls until it is true; the test's timeout ends it. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()))
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
}

describe('a proxy that is cut off from its operators', () => {
  for (const { maxConfigAgeMs, status, says } of [
    { maxConfigAgeMs: 0, status: 503, says: 'refuses calls once its configuration is too old' },
    { maxConfigAgeMs: HOUR_MS, status: 401, says: 'goes on with its last configuration before that' },
  ]) {
    it(says, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'mgw-age-'));
      const log = pino({ level: 'silent' });
      const ledger = await openEmbeddedLedger({ path: join(folder, 'ledger.db'), sync: 'normal' });
      const server = await testDistribution();
      server.publish(configOf([1]));
      const proxy = await startProxy({
        listen: LISTEN,
        admin: LISTEN,
        ledger,
        log,
        version: 'test',
        maxBodyBytes: 1024 * 1024,
        maxConfigAgeMs,
        leaveRotationAfterMs: 60_000,
        xds: { addresses: [`127.0.0.1:${server.port}`], secure: undefined, nodeId: 'proxy' },
      });
      const call = async (): Promise<number> =>
        (
          await fetch(`http://127.0.0.1:${proxy.port}/v1/models`, {
            headers: { authorization: `Bearer sk-${'x'.repeat(48)}` },
          })
        ).status;
      const metric = async (name: string): Promise<number> => {
        const page = await (await fetch(`http://127.0.0.1:${proxy.adminPort}/metrics`)).text();
        return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page)?.[1]);
      };
      try {
        await until(async () => (await metric('modelgateway_xds_connected')) === 1);
        assert.equal(await call(), 401); // an unknown key: the configuration is in force
        assert.equal(await metric('modelgateway_xds_config_expires_in_seconds'), maxConfigAgeMs / 1000);
        await server.stop();
        await until(async () => (await metric('modelgateway_xds_connected')) === 0 && (await call()) === status);
        assert.ok((await metric('modelgateway_xds_config_expires_in_seconds')) <= maxConfigAgeMs / 1000);
      } finally {
        await proxy.stop();
        await server.stop();
        await ledger.close();
        await rm(folder, { recursive: true, force: true });
      }
    });
  }
});
