/** Support: proxies with a distribution in the same process, and a way to disconnect them. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { compileEdit } from '../../../../dataplane/state/compile-edit.ts';
import { compile } from '../../../../dataplane/state/compile.ts';
import type { State } from '../../../../dataplane/state/state.ts';
import { startXdsClient } from '../../../../dataplane/xds/client.ts';
import type { XdsClient, XdsClientOptions } from '../../../../dataplane/xds/client.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { QUIET } from '../../operator/xds/support.ts';
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
} from '../../contract/snapshot/objects.ts';

export interface TestProxy extends AsyncDisposable {
  readonly client: XdsClient;
  /** Compiled by edits, as a proxy does. */
  state(): State | undefined;
  snapshot(): Snapshot | undefined;
  /** The number of applied configurations. */
  installs(): number;
  readonly logs: readonly string[];
  stop(): Promise<void>;
}

export async function testProxy(
  ports: number | readonly number[],
  options: Partial<XdsClientOptions> = {},
): Promise<TestProxy> {
  let state: State | undefined;
  let snapshot: (() => Snapshot) | undefined;
  let installs = 0;
  const logs: string[] = [];
  const note = (...words: unknown[]): void => {
    logs.push(JSON.stringify(words, (_name, value: unknown) => (value instanceof Error ? value.message : value)));
  };
  const client = await startXdsClient({
    addresses: [ports].flat().map((port) => `127.0.0.1:${port}`),
    secure: undefined,
    nodeId: 'proxy',
    version: 'test',
    random: () => 0,
    log: { ...QUIET, warn: note, error: note },
    install(config) {
      state = state && config.edit ? compileEdit(state, config.edit) : compile(config.snapshot(), state);
      snapshot = config.snapshot;
      installs += 1;
    },
    ...options,
  });
  return {
    client,
    logs,
    state: () => state,
    snapshot: () => snapshot?.(),
    installs: () => installs,
    stop: () => client.stop(),
    [Symbol.asyncDispose]: () => client.stop(),
  };
}

/** A small configuration with these keys. */
export function configOf(keyNames: readonly number[], changes: Partial<Snapshot> = {}): Snapshot {
  return snapshotOf({
    keys: keyNames.map((n) => numberedKey(n)),
    accounts: [accountOf('team-a')],
    groups: [directGroup('auto-a', [routeEntry('main')])],
    routes: [routeOf('main', [modelOf('gpt')], [channelOf('one')])],
    catalogs: [catalogOf('all', [priceOf('gpt')])],
    ...changes,
  });
}

export function numberedKey(n: number, changes: Partial<Snapshot['keys'][number]> = {}): Snapshot['keys'][number] {
  return keyOf(`key-${n}`, { hashes: [{ sha256: hashOf(n) }], ...changes });
}

interface Cable extends AsyncDisposable {
  readonly port: number;
  /** Drops all bytes without closing connections, like a cut cable. */
  cut(): void;
  /** New connections work again. */
  mend(): void;
}

/** A TCP relay to a port of this machine. */
export async function cable(to: number): Promise<Cable> {
  const sockets = new Set<Socket>();
  let cutOff = false;
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    if (cutOff) return void near.pause();
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      cutOff = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    mend: () => {
      cutOff = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
