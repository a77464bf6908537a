/**
 * Two proxies with one ledger on a real server. The one that is cut off from the operator leaves rotation, because the
 * other has an operator, and is back as soon as it has one, or when the other is cut off too.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { every } from '../../../dataplane/clock.ts';
import type { Ledger } from '../../../dataplane/ledger/ledger.ts';
import { openValkeyLedger } from '../../../dataplane/ledger/valkey.ts';
import { startProxy } from '../../../programs/proxy.ts';
import type { Proxy } from '../../../programs/proxy.ts';
import { pino } from 'pino';
import { startValkey, valkey } from '../../support/valkey.ts';
import type { ValkeyServer } from '../../support/valkey.ts';
import { cable, configOf } from '../../unit/dataplane/xds/support.ts';
import { testDistribution } from '../../unit/operator/xds/support.ts';
import type { TestDistribution } from '../../unit/operator/xds/support.ts';

const LISTEN = { host: '127.0.0.1', port: 0 };
type Cable = Awaited<ReturnType<typeof cable>>;

interface Readiness {
  readonly status: number;
  readonly not_ready?: readonly { readonly name: string; readonly detail: string }[];
}

/** Polls until it is true; the test's timeout ends it. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()))
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
}

describe.skipIf(valkey.skip)('a fleet of two proxies', { timeout: 120_000 }, () => {
  let store: ValkeyServer;
  let operator: TestDistribution;
  const ledgers: Ledger[] = [];
  const proxies: Proxy[] = [];
  const cables: Cable[] = [];

  beforeAll(async () => {
    [store, operator] = await Promise.all([startValkey(), testDistribution()]);
    operator.publish(configOf([1]));
    for (const nodeId of ['one', 'two']) {
      const ledger = await openValkeyLedger({ url: store.url });
      const wire = await cable(operator.port);
      ledgers.push(ledger);
      cables.push(wire);
      proxies.push(
        await startProxy({
          listen: LISTEN,
          admin: LISTEN,
          ledger,
          log: pino({ level: 'silent' }),
          version: 'test',
          maxBodyBytes: 1024 * 1024,
          maxConfigAgeMs: 3_600_000,
          leaveRotationAfterMs: 500,
          timers: { every: (ms, tick) => every(ms / 30, tick) },
          xds: { addresses: [`127.0.0.1:${wire.port}`], secure: undefined, nodeId, keepaliveMs: 500 },
        }),
      );
    }
  });
  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    await Promise.all(cables.map((each) => each[Symbol.asyncDispose]()));
    await operator?.stop();
    await store?.[Symbol.asyncDispose]();
  });

  const readiness = async (n: number): Promise<Readiness> => {
    const response = await fetch(`http://127.0.0.1:${proxies[n]?.adminPort}/readyz`);
    return { ...((await response.json()) as object), status: response.status };
  };
  const isReady = (n: number) => async (): Promise<boolean> => (await readiness(n)).status === 200;
  const call = (n: number): Promise<Response> => fetch(`http://127.0.0.1:${proxies[n]?.port}/v1/models`);
  /** No bytes pass any more, and new connections hang: the proxy notices by its own pings. */
  const cutOff = async (n: number): Promise<void> => {
    cables[n]?.cut();
    await until(async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${proxies[n]?.adminPort}/metrics`)).text();
      return metrics.includes('modelgateway_xds_connected 0');
    });
  };

  it('is ready', async () => {
    await until(isReady(0));
    await until(isReady(1));
    assert.notEqual((await call(0)).headers.get('connection'), 'close');
  });

  it('sends callers to the other while one is cut off', async () => {
    await cutOff(0);
    await until(async () => !(await isReady(0)()));
    const { not_ready: reasons } = await readiness(0);
    assert.deepEqual(reasons, [{ name: 'operator', detail: 'not connected to an operator, while other proxies are' }]);
    assert.equal((await readiness(1)).status, 200);
    const response = await call(0);
    assert.equal(response.status, 401, 'calls are served, whoever still comes');
    assert.equal(response.headers.get('connection'), 'close', 'so that callers leave');
  });

  it('stays ready where all are cut off', async () => {
    await cutOff(1);
    await until(isReady(0));
    assert.equal((await readiness(1)).status, 200);
  });

  it('does so only as long as the ledger says that others are connected', async () => {
    cables[1]?.mend();
    await until(async () => !(await isReady(0)()));
    store.signal('SIGSTOP');
    await until(isReady(0));
    store.signal('SIGCONT');
    await until(async () => !(await isReady(0)()));
  });

  it('has one back at once that is connected again', async () => {
    cables[0]?.mend();
    await until(isReady(0));
    await until(isReady(1));
  });
});
