/**
 * Measures how long an edit takes from publish to enforcement on every connected proxy, and what distributing many keys
 * costs.
 *   node --expose-gc test/bench/xds.ts [--keys 10000] [--clients 20] [--edits 200]
 * Server and proxies share one process and one core here, each proxy with its own gRPC connection and its own compiled
 * state; in a cluster they do not, so these figures are upper bounds. Enforced: the lookup that a call makes gives the
 * new answer.
 */
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compileEdit } from '../../dataplane/state/compile-edit.ts';
import { compile } from '../../dataplane/state/compile.ts';
import type { State } from '../../dataplane/state/state.ts';
import type { Key, Snapshot } from '#snapshot/snapshot.gen.ts';
import { startXdsClient } from '../../dataplane/xds/client.ts';
import type { XdsClient } from '../../dataplane/xds/client.ts';
import { startDistribution } from '../../operator/xds/distribution.ts';
import type { Distribution } from '../../operator/xds/distribution.ts';
import {
  accountOf,
  catalogOf,
  channelOf,
  directGroup,
  hashOf,
  keyOf,
  modelOf,
  priceOf,
  routeEntry,
  routeOf,
  snapshotOf,
} from '../unit/contract/snapshot/objects.ts';
import { quantilesOf } from './figures.ts';
import { ownCpuMs } from './proc.ts';

const { values } = parseArgs({
  options: {
    keys: {
      type: 'string',
      default: '10000',
    },
    clients: { type: 'string', default: '20' },
    edits: { type: 'string', default: '200' },
  },
});
const keyCount = Number(values.keys);
const clientCount = Number(values.clients);
const edits = Number(values.edits);
const LOG = { info: () => undefined, warn: console.error, error: console.error, debug: () => undefined };

interface Proxy {
  readonly client: XdsClient;
  state: State | undefined;
  onInstalled: () => void;
}

function snapshotWith(keys: readonly Key[]): Snapshot {
  return snapshotOf({
    keys,
    accounts: Array.from({ length: 100 }, (_, n) => accountOf(`team-${n}`)),
    groups: Array.from({ length: 10 }, (_, n) =>
      directGroup(
        `group-${n}`,
        Array.from({ length: 10 }, (_each, r) => routeEntry(`route-${r}`)),
      ),
    ),
    routes: Array.from({ length: 10 }, (_, r) =>
      routeOf(
        `route-${r}`,
        Array.from({ length: 20 }, (_each, n) => modelOf(`model-${r * 20 + n}`)),
        [channelOf('a'), channelOf('b')],
      ),
    ),
    catalogs: [
      catalogOf(
        'all',
        Array.from({ length: 200 }, (_, n) => priceOf(`model-${n}`)),
      ),
    ],
  });
}

function benchKey(n: number, generation: bigint, enabled = true): Key {
  return keyOf(`key-${n}`, {
    namespace: `team-${n % 100}`,
    account: `team-${n % 100}/team-${n % 100}`,
    group: `group-${n % 10}`,
    hashes: [{ sha256: hashOf(n) }],
    generation,
    enabled,
    limitNanoUsd: 25_000_000_000n,
  });
}

async function startProxy(port: number, n: number): Promise<Proxy> {
  const proxy: { -readonly [K in keyof Proxy]?: Proxy[K] } & { state: State | undefined; onInstalled: () => void } = {
    state: undefined,
    onInstalled: () => undefined,
  };
  proxy.client = await startXdsClient({
    addresses: [`127.0.0.1:${port}`],
    secure: undefined,
    nodeId: `proxy-${n}`,
    version: 'bench',
    log: LOG,
    install({ snapshot, edit }) {
      proxy.state = proxy.state && edit ? compileEdit(proxy.state, edit) : compile(snapshot(), proxy.state);
      proxy.onInstalled();
    },
  });
  return proxy as Proxy;
}

/** Resolves when all proxies enforce the edit. */
function everywhere(
  proxies: readonly Proxy[],
  holds: (state: State) => boolean,
  each?: (ms: number) => void,
): Promise<void> {
  const start = performance.now();
  return new Promise((resolve) => {
    let missing = proxies.length;
    if (missing === 0) resolve();
    for (const proxy of proxies) {
      let done = false;
      const check = (): void => {
        if (done || !proxy.state || !holds(proxy.state)) return;
        done = true;
        each?.(performance.now() - start);
        missing -= 1;
        if (missing === 0) resolve();
      };
      proxy.onInstalled = check;
      check();
    }
  });
}

function converged(distribution: Distribution, id: string, clients: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (distribution.progress(id)?.acknowledged !== clients) return;
      stop();
      resolve();
    };
    const stop = distribution.onProgress(look);
    look();
  });
}

const distribution = await startDistribution({
  listen: { host: '127.0.0.1', port: 0 },
  gatewayNamespace: 'model-gateway',
  security: { insecure: true },
  log: LOG,
});
const keys = Array.from({ length: keyCount }, (_, n) => benchKey(n, 1n));
let mark = performance.now();
distribution.publish(snapshotWith([...keys]));
console.log(
  `first publish of ${keyCount} keys: ${(performance.now() - mark).toFixed(0)} ms, CPU ${ownCpuMs().toFixed(0)} ms since the start, ${(distribution.figures().snapshotBytes / 2 ** 20).toFixed(1)} MiB`,
);

mark = performance.now();
const proxies = await Promise.all(Array.from({ length: clientCount }, (_, n) => startProxy(distribution.port, n)));
await everywhere(proxies, (state) => state.credentials.size === keyCount);
console.log(
  `${clientCount} proxies whole: ${(performance.now() - mark).toFixed(0)} ms, CPU ${ownCpuMs().toFixed(0)} ms since the start`,
);
while (distribution.figures().connectedProxies < clientCount) await setTimeout(5);

const enforced: number[] = [];
const slowest: number[] = [];
const publishing: number[] = [];
const acknowledged: number[] = [];
let cpuMicros = 0;
for (let n = 0; n < edits; n += 1) {
  const index = (n * 7919) % keyCount;
  const enabled = !keys[index]!.enabled;
  keys[index] = benchKey(index, BigInt(n + 2), enabled);
  const snapshot = snapshotWith([...keys]);
  const name = `ApiKey team-${index % 100}/key-${index}`;
  const cpu = process.cpuUsage();
  const start = performance.now();
  let last = 0;
  const all = everywhere(
    proxies,
    (state) => state.credentials.get(hashOf(index))?.key.enabled === enabled,
    (ms) => {
      enforced.push(ms);
      last = ms;
    },
  );
  distribution.publish(snapshot);
  publishing.push(performance.now() - start);
  await all;
  slowest.push(last);
  if (clientCount > 0) await converged(distribution, name, clientCount);
  acknowledged.push(performance.now() - start);
  const { user, system } = process.cpuUsage(cpu);
  cpuMicros += user + system;
}
console.log(`CPU per edit, server and ${clientCount} proxies together: ${(cpuMicros / edits / 1000).toFixed(1)} ms`);
console.log(`publish itself: ${quantilesOf(publishing)}`);
console.log(`publish → enforced, each proxy: ${quantilesOf(enforced)}`);
console.log(`publish → enforced, last proxy: ${quantilesOf(slowest)}`);
console.log(`publish → progress says all acknowledged: ${quantilesOf(acknowledged)}`);

globalThis.gc?.();
console.log(
  `resident memory, server and ${clientCount} proxies together: ` +
    `${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB, heap ` +
    `${(process.memoryUsage().heapUsed / 2 ** 20).toFixed(0)} MiB`,
);
await Promise.all(proxies.map(({ client }) => client.stop()));
await distribution.stop();
