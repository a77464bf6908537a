/** A real Cluster of three servers, each with a third of the slots and no replica. */
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { startValkey } from './valkey.ts';
import type { ValkeyServer } from './valkey.ts';

interface ValkeyCluster extends AsyncDisposable {
  /** The URL with all three as hosts. */
  readonly url: string;
  readonly nodes: readonly ValkeyServer[];
}

const SLOTS = 16_384;
const NODES = 3;
const DEADLINE_MS = 120_000;

/** `announce`: the port that a node announces to clients, instead of its own. */
export async function startValkeyCluster(
  announce: (port: number) => Promise<number> = async (port) => port,
): Promise<ValkeyCluster> {
  const nodes: ValkeyServer[] = [];
  const buses: number[] = [];
  const announced: number[] = [];
  for (let n = 0; n < NODES; n++) {
    const [port, bus] = [await freePort(), await freePort()];
    buses.push(bus);
    announced.push(await announce(port));
    nodes.push(
      await startValkey({
        port,
        settings: [
          ['cluster-enabled', 'yes'],
          ['cluster-port', String(bus)],
          ['cluster-announce-bus-port', String(bus)],
          ['cluster-announce-port', String(announced[n])],
          ['cluster-node-timeout', '2000'],
          ['appendonly', 'yes'],
          ['appendfsync', 'always'],
        ],
      }),
    );
  }
  const [first] = nodes;
  if (!first) throw new Error('a Cluster has nodes');
  for (const [n, node] of nodes.entries()) {
    await node.command(
      'CLUSTER',
      'ADDSLOTSRANGE',
      String(Math.floor((n * SLOTS) / NODES)),
      String(Math.floor(((n + 1) * SLOTS) / NODES) - 1),
    );
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(n + 1));
  }
  for (const [n, node] of nodes.entries())
    if (n > 0) await first.command('CLUSTER', 'MEET', '127.0.0.1', String(node.port), String(buses[n]));
  await whenFormed(nodes);
  return {
    nodes,
    url: `valkey://${announced.map((port) => `127.0.0.1:${port}`).join(',')}`,
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    },
  };
}

/** Waits until every node knows all of them and accepts commands. */
export async function whenFormed(nodes: readonly ValkeyServer[]): Promise<void> {
  const untilMs = performance.now() + DEADLINE_MS;
  for (const node of nodes) {
    while (!isWhole(String(await node.command('CLUSTER', 'INFO')))) {
      if (performance.now() > untilMs) throw new Error('the Cluster does not form');
      await sleep(50);
    }
  }
}

function isWhole(info: string): boolean {
  return (
    info.includes('cluster_state:ok') &&
    info.includes(`cluster_known_nodes:${NODES}`) &&
    info.includes(`cluster_size:${NODES}`)
  );
}
