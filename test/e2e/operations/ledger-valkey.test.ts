/**
 * Backups of the bundled Valkey and their restoration, by the commands of docs/guides/operations.md, on a real server
 * with the bundled one's settings. `kubectl exec` runs its command here; instead of a pod, there is a folder with a
 * server on it.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import type { Ledger } from '../../../dataplane/ledger/ledger.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { openValkeyLedger } from '../../../dataplane/ledger/valkey.ts';
import type { CallOrigin } from '#usage/record.ts';
import type { ValkeyLedgerOptions } from '../../../dataplane/ledger/valkey.ts';
import { renderAll, TESTDATA } from '../charts/situations.ts';
import { holdRequest, origin, progress, settlement } from '../../unit/dataplane/ledger/calls.ts';
import { tempFolder } from '../../support/cli.ts';
import type { TempFolder } from '../../support/cli.ts';
import { needHelm } from '../../support/helm.ts';
import { freePort } from '../../support/free-port.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import type { ValkeyServer } from '../../support/valkey.ts';
import { blockWith, commandsBelow, openShell } from './documented.ts';
import type { Shell } from './documented.ts';

type Event = Parameters<NonNullable<ValkeyLedgerOptions['onEvent']>>[0];

const PASSWORD = 'correct-horse-battery-staple';
const DEADLINE_MS = 60_000;
/** A long timeout, since a busy machine must not refuse calls here. */
const LONG_TIMEOUT = { timeoutMs: 30_000 };
/** No other process has to be waited for. */
const ALONE = { over: { refillMs: 0 } };
const [ACCOUNT, OTHER] = ['team-a/team-a', 'team-b/team-b'];

const helm = await needHelm();
const commands = commandsBelow('guides/operations.md', '### The ledger on Valkey');
const TO_POD = blockWith(commands, '--replicas=0', 'kind: Pod');
const BACK_UP = { snapshot: blockWith(commands, 'BGSAVE'), folder: blockWith(commands, 'auto-aof-rewrite-percentage') };
const RESTORE = {
  snapshot: blockWith(commands, '< ledger-2026-11-21.rdb'),
  folder: blockWith(commands, '< ledger-2026-11-21.tar'),
};
type Way = keyof typeof BACK_UP;

interface Opened {
  readonly ledger: Ledger;
  readonly events: readonly Event[];
}

let folder: TempFolder;
let server: ValkeyServer;
let restorePort: number;
let shell: Shell;
const ledgers: Ledger[] = [];

/** The commands of the pods' containers: each has its own server. */
function programs(cli: string): Record<string, string> {
  return {
    kubectl: `#!/bin/sh
[ "$1" = exec ] || { [ "$1" != apply ] || cat > applied.yaml; exit 0; }
shift
while [ "$1" != -- ]; do
  case "$1" in -i) ;; -n) [ "$2" = model-gateway ] || exit 1; shift ;; *) pod="$1" ;; esac
  shift
done
shift
case "$pod" in
  model-gateway-valkey-0) export POD_PORT=${server.port} ;;
  ledger-restore) export POD_PORT=${restorePort} ;;
  *) echo "there is no pod $pod" >&2; exit 1 ;;
esac
exec "$@"
`,
    // waits of a second are mostly shorter
    sleep: '#!/bin/sh\nexec env PATH=/usr/bin:/bin sleep 0.02\n',
    'valkey-cli': `#!/bin/sh\nexec '${cli}' -p "$POD_PORT" "$@"\n`,
    'valkey-server': `#!/bin/sh\nexec '${valkey.path}' --port "$POD_PORT" "$@"\n`,
  };
}

/** A gateway's ledger; `journal`: its folder. */
async function open(journal: string | undefined, options: Partial<ValkeyLedgerOptions> = {}): Promise<Opened> {
  const events: Event[] = [];
  const dataDir = journal === undefined ? undefined : join(folder.path, journal);
  const url = `${server.url}?password-file=${join(folder.path, 'secret', 'password')}`;
  const ledger = await openValkeyLedger({
    url,
    dataDir,
    onEvent: (event) => events.push(event),
    ...options,
    over: { ...LONG_TIMEOUT, ...options.over },
  });
  ledgers.push(ledger);
  return { ledger, events };
}

const isReady = (ledger: Ledger): boolean => ledger.health?.().ok === true;

/** How much each process has restored into a new store. */
const putBack = ({ events }: Opened): number[] =>
  events.flatMap((event) => (event.kind === 'Emptied' ? [event.putBack] : []));

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const startMs = performance.now(); !(await holds());) {
    if (performance.now() - startMs > DEADLINE_MS) assert.fail(`${what} has not come true`);
    await sleep(20);
  }
}

const of = (account: string, id: string): Partial<CallOrigin> => ({ account, keyUid: account, callId: id });
const hold = (ledger: Ledger, account: string, id: string, amount: bigint): ReturnType<Ledger['admit']> =>
  ledger.admit(holdRequest(id, amount, { origin: of(account, id), progress: progress(1n) }));
const settle = (ledger: Ledger, account: string, id: string, cost: bigint): ReturnType<Ledger['settle']> =>
  ledger.settle(settlement(id, cost, { origin: origin(id, of(account, id)) }));

async function spend(ledger: Ledger, account: string, id: string, cost: bigint): Promise<void> {
  assert.equal((await hold(ledger, account, id, cost)).outcome, 'Held');
  assert.equal((await settle(ledger, account, id, cost)).record.costNanoUsd, cost);
}

/** The spent and held money of an account and of its key, which must agree. */
async function booksOf(ledger: Ledger, account: string): Promise<{ spent: bigint; held: bigint }> {
  const [whole, key] = await Promise.all([ledger.readAccount(account), ledger.readKey(account, 'Monthly')]);
  assert.deepEqual([key.totalSpentNanoUsd, key.heldNanoUsd], [whole.spentNanoUsd, whole.heldNanoUsd]);
  return { spent: whole.spentNanoUsd, held: whole.heldNanoUsd };
}

/** Restores as documented; then the server is started as by the StatefulSet. */
async function restore(way: Way): Promise<void> {
  await server.kill();
  await shell.run(TO_POD);
  await shell.run(RESTORE[way].replace('ledger-2026-11-21', 'ledger-$(date +%F)'));
  await until('the restoring server has ended', async () => (await ask(restorePort)) === undefined);
  await server.start();
}

async function ask(port: number): Promise<unknown> {
  return shell?.run(`POD_PORT=${port} valkey-cli -e PING`).catch(() => undefined);
}

async function closeAll(): Promise<void> {
  await Promise.all(ledgers.splice(0).map((ledger) => ledger.close()));
}

describe.skipIf(valkey.skip)('the bundled Valkey, by the commands of the documentation', () => {
  beforeAll(async () => {
    folder = await tempFolder({ 'secret/password': PASSWORD });
    server = await startValkey({
      settings: [
        ['appendonly', 'yes'],
        ['appendfsync', 'always'],
        ['maxmemory-policy', 'noeviction'],
        ['requirepass', PASSWORD],
      ],
      credentials: { username: 'default', password: PASSWORD },
    });
    restorePort = await freePort();
    const cli = ['valkey-cli', 'redis-cli']
      .map((name) => join(dirname(valkey.path), name))
      .find((path) => existsSync(path));
    shell = await openShell({
      folder: folder.path,
      programs: programs(cli ?? assert.fail('there is a server and no client')),
      paths: { '/data': server.dir, '/var/run/secrets/modelgateway.dev/ledger': join(folder.path, 'secret') },
    });
  });
  afterAll(async () => {
    await closeAll();
    if ((await ask(restorePort)) !== undefined) await shell.run(`POD_PORT=${restorePort} valkey-cli SHUTDOWN NOSAVE`);
    await server?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  it('gets the missing calls from running gateways after a restored snapshot, and spends nothing twice', async () => {
    const known = { spent: 0n };
    const statuses: NonNullable<ValkeyLedgerOptions['refill']> = async () => ({
      accounts: [{ account: OTHER, spentNanoUsd: known.spent }],
      keys: [
        {
          keyUid: OTHER,
          account: OTHER,
          totalSpentNanoUsd: known.spent,
          period: 'Never',
          periodStartMs: null,
          spentNanoUsd: known.spent,
        },
      ],
    });
    await (await open(undefined, ALONE)).ledger.close();
    const both = [await open('first', { refill: statuses }), await open('second')] as const;
    const [first, second] = [both[0].ledger, both[1].ledger];
    const { ledger: gone } = await open(undefined);
    await spend(first, ACCOUNT, 'kept-1', 100n);
    await spend(second, ACCOUNT, 'kept-2', 20n);
    await spend(gone, OTHER, 'kept-3', 3_000n);
    await hold(first, ACCOUNT, 'across', 50n);
    // a second snapshot is refused meanwhile; the delay is for this child process
    await server.command('CONFIG', 'SET', 'rdb-key-save-delay', '100000');
    await server.command('BGREWRITEAOF');
    await server.command('CONFIG', 'SET', 'rdb-key-save-delay', '0');
    await shell.run(BACK_UP.snapshot);
    await spend(first, ACCOUNT, 'lost-1', 7n);
    await spend(second, ACCOUNT, 'lost-2', 5n);
    await settle(first, ACCOUNT, 'across', 40n);
    await hold(second, ACCOUNT, 'streaming', 30n);
    // of a gateway that no longer exists: only a status has it
    await spend(gone, OTHER, 'lost-3', 4_000n);
    known.spent = (await booksOf(gone, OTHER)).spent;
    await gone.close();

    const refused = until('it waits for what is known', () =>
      /waits for what all processes know/.test(first.health?.().reason ?? ''),
    ).then(() => assert.rejects(hold(first, ACCOUNT, 'too-soon', 1n), LedgerUnavailable));
    await restore('snapshot');
    await refused;
    await until('both have put back what they know', () =>
      both.every((each) => putBack(each).length > 0 && isReady(each.ledger)),
    );
    // across and lost-1; lost-2 and streaming
    assert.deepEqual(both.map(putBack), [[2], [2]]);
    assert.deepEqual(await booksOf(second, ACCOUNT), { spent: 172n, held: 30n });
    assert.deepEqual(await booksOf(second, OTHER), { spent: 7_000n, held: 0n });
    assert.equal((await settle(first, ACCOUNT, 'lost-1', 99n)).record.costNanoUsd, 7n);
    await settle(second, ACCOUNT, 'streaming', 30n);
    await spend(first, ACCOUNT, 'more', 1n);
    assert.deepEqual(await booksOf(first, ACCOUNT), { spent: 203n, held: 0n });
    await closeAll();
  });

  it("has the snapshot's spending if there is nothing else, and bills running calls by their progress", async () => {
    await restore('snapshot');
    const { ledger } = await open('nobody', ALONE);
    await until('it is ready', () => isReady(ledger));
    assert.deepEqual(await booksOf(ledger, ACCOUNT), { spent: 120n, held: 50n });
    assert.deepEqual(await booksOf(ledger, OTHER), { spent: 3_000n, held: 0n });
    // the gateway that had it is silent
    const { ledger: later } = await open('later', { over: { refillMs: 0, leaseMs: 1 } });
    await until('it is billed', async () => (await booksOf(later, ACCOUNT)).held === 0n);
    assert.deepEqual(await booksOf(later, ACCOUNT), { spent: 121n, held: 0n });
    assert.equal((await later.readUsage(ACCOUNT, 'across'))?.status, 'Abandoned');
    await closeAll();
  });

  it('keeps a call held whose settlement is lost, until its gateway restarts', async () => {
    const opened = await open(undefined, ALONE);
    const { ledger: forgetful } = opened;
    await until('it is ready', () => isReady(forgetful));
    const before = await booksOf(forgetful, ACCOUNT);
    await hold(forgetful, ACCOUNT, 'forgotten', 60n);
    await shell.run(BACK_UP.snapshot);
    await settle(forgetful, ACCOUNT, 'forgotten', 60n);
    const times = putBack(opened).length;
    await restore('snapshot');
    await until('it has noticed', () => putBack(opened).length > times && isReady(forgetful));
    assert.deepEqual(await booksOf(forgetful, ACCOUNT), { spent: before.spent, held: 60n });
    await closeAll();
    const { ledger: restarted } = await open(undefined, { over: { refillMs: 0, leaseMs: 1 } });
    await until('it is billed', async () => (await booksOf(restarted, ACCOUNT)).held === 0n);
    assert.equal((await booksOf(restarted, ACCOUNT)).spent, before.spent + 1n);
    await closeAll();
  });

  it('is restored from a copy of the append-only folder that was made during writes', async () => {
    const { ledger } = await open('writing', ALONE);
    await until('it is ready', () => isReady(ledger));
    const load = { on: true, calls: 0 };
    const caller = (async () => {
      while (load.on) await spend(ledger, ACCOUNT, `call-${load.calls++}`, 1n);
    })();
    await until('there are calls', () => load.calls > 20);
    const { spent: before } = await booksOf(ledger, ACCOUNT);
    await shell.run(BACK_UP.folder);
    const { spent: copied } = await booksOf(ledger, ACCOUNT);
    await until('calls go on', () => load.calls > 40);
    load.on = false;
    await caller;
    await spend(ledger, ACCOUNT, 'lost', 1_000n);
    await closeAll();
    assert.deepEqual(await server.command('CONFIG', 'GET', 'auto-aof-rewrite-percentage'), [
      'auto-aof-rewrite-percentage',
      '100',
    ]);

    await restore('folder');
    const { ledger: next } = await open('next', ALONE);
    await until('it is ready', () => isReady(next));
    const { spent } = await booksOf(next, ACCOUNT);
    assert.ok(spent >= before && spent <= copied, `${before} ≤ ${spent} ≤ ${copied}`);
    await closeAll();
  });

  it.skipIf(helm.skip)("is restored by a pod with the chart's image, volume and rights", async () => {
    await shell.run(TO_POD);
    const { metadata, spec } = parse(
      (await readFile(join(folder.path, 'applied.yaml'), 'utf8')).replaceAll(server.dir, '/data'),
    );
    const objects = await renderAll(helm, {
      name: 'defaults',
      valuesFile: join(TESTDATA, 'defaults.values.yaml'),
      only: [],
    });
    const set = objects.find(({ kind }) => kind === 'StatefulSet');
    const [container] = set.spec.template.spec.containers;
    assert.equal(`${set.metadata.namespace}/${set.metadata.name}`, 'model-gateway/model-gateway-valkey');
    assert.equal(metadata.name, 'ledger-restore');
    assert.equal(spec.containers[0].image, container.image);
    assert.deepEqual(spec.containers[0].volumeMounts, [{ name: 'data', mountPath: '/data' }]);
    assert.ok(container.args.join(' ').includes('--dir /data'));
    assert.equal(
      spec.volumes[0].persistentVolumeClaim.claimName,
      `${set.spec.volumeClaimTemplates[0].metadata.name}-${set.metadata.name}-0`,
    );
    const { fsGroupChangePolicy: _, ...podSecurity } = set.spec.template.spec.securityContext;
    assert.deepEqual(spec.securityContext, podSecurity);
    const { readOnlyRootFilesystem: __, ...security } = container.securityContext;
    assert.deepEqual(spec.containers[0].securityContext, security);
  });
});
