/**
 * Backups of a ledger in a file, taken from a gateway under load and restored, by the commands of
 * docs/guides/operations.md.
 */
import assert from 'node:assert/strict';
import { cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { mgw, startMgw, tempFolder } from '../../support/cli.ts';
import type { RunningCli, TempFolder } from '../../support/cli.ts';
import { need } from '../../support/needs.ts';
import { blockWith, commandsBelow, openShell } from './documented.ts';

const QUICKSTART = join(import.meta.dirname, '../../../docs/examples/quickstart');
const ACCOUNT = 'team-a/team-a';
const DEADLINE_MS = 60_000;
const NANO_PER_USD = 1_000_000_000n;

const sqlite3 = await need('sqlite3');
const commands = commandsBelow('guides/operations.md', '### The ledger in a file');
const onOneMachine = commandsBelow('guides/one-machine.md', '## The data folder');
const RESTORE = blockWith(commands, 'rm ', 'cp ');

interface Gateway extends AsyncDisposable {
  /** Reads one answer of this many words to its end. */
  call(words: number): Promise<void>;
  /** The key's spending, as /v1/key returns it. */
  spent(): Promise<bigint>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** The content of a ledger's file, with what its running and unfiled calls are billed at the next start. */
interface Books {
  readonly key: bigint;
  readonly account: bigint;
  /** Ascending. */
  readonly records: readonly bigint[];
}

let folder: TempFolder;
let demo: RunningCli;

const at = (...path: string[]): string => join(folder.path, ...path);
const flagsOf = (data: string): string[] => [
  'run',
  '--config',
  at('manifests'),
  '--data',
  data,
  '--listen',
  '127.0.0.1:0',
  '--admin',
  '127.0.0.1:0',
];
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);
const ascending = (amounts: readonly bigint[]): bigint[] => amounts.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));

function nanoUsd(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(9, '0'));
}

function booksIn(path: string): Books {
  const db = new DatabaseSync(path, { readBigInts: true, timeout: 5_000 });
  try {
    assert.equal(db.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
    const costs = (sql: string): bigint[] =>
      db
        .prepare(sql)
        .all()
        .map(({ n }) => BigInt(String(n)));
    const unfiled =
      costs(`SELECT coalesce(settled ->> '$.record.costNanoUsd', running ->> '$.progress.costNanoUsd') AS n
      FROM calls`);
    return {
      key: sum([...costs('SELECT total_spent_nano_usd AS n FROM keys'), ...unfiled]),
      account: sum([...costs('SELECT spent_nano_usd AS n FROM accounts'), ...unfiled]),
      records: ascending([...costs('SELECT cost_nano_usd AS n FROM usage'), ...unfiled]),
    };
  } finally {
    db.close();
  }
}

/** The gateway's records, as `mgw usage` prints them. */
async function costsOf(data: string): Promise<bigint[]> {
  const { exitCode, stdout, stderr } = await mgw(['usage', '--data', data, '--account', ACCOUNT, '--format', 'json']);
  assert.equal(exitCode, 0, stderr);
  return ascending((JSON.parse(stdout) as { cost_usd: string }[]).map(({ cost_usd }) => nanoUsd(cost_usd)));
}

async function start(data: string): Promise<Gateway> {
  const cli = startMgw(flagsOf(data));
  const [, url = ''] = await cli.until(/"address":"(http:\S+?)"/);
  const secret = await readFile(join(data, 'secrets', 'team-a', 'first-key.yaml'), 'utf8');
  const headers = {
    authorization: `Bearer ${/sk-\w{48}/.exec(secret)?.[0] ?? ''}`,
    'content-type': 'application/json',
  };
  return {
    async call(words) {
      const body = JSON.stringify({
        model: 'gpt-4o',
        stream: true,
        messages: [{ role: 'user', content: `long ${words}` }],
      });
      const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
      assert.equal(response.status, 200);
      assert.match(await response.text(), /\[DONE\]/);
    },
    async spent() {
      const told = await (await fetch(`${url}/v1/key`, { headers })).text();
      return nanoUsd(/"spent_usd":"([\d.]+)"/.exec(told)?.[1] ?? assert.fail(told));
    },
    async stop() {
      cli.kill('SIGTERM');
      assert.equal((await cli.finished).exitCode, 0);
    },
    async kill() {
      cli.kill('SIGKILL');
      await cli.finished;
    },
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  };
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const startMs = performance.now(); !(await holds());) {
    if (performance.now() - startMs > DEADLINE_MS) assert.fail(`${what} has not come true`);
    await sleep(20);
  }
}

/** Restores this copy as documented, and checks that the gateway continues from it. */
async function goesOnFrom(copy: string, data: string): Promise<void> {
  const had = booksIn(copy);
  await using gateway = await start(data);
  assert.equal(await gateway.spent(), had.key);
  assert.deepEqual(await costsOf(data), had.records);
  await gateway.call(7);
  const cost = (await gateway.spent()) - had.key;
  assert.ok(cost > 0n);
  await gateway.stop();
  assert.deepEqual(booksIn(join(data, 'ledger.db')), {
    key: had.key + cost,
    account: had.account + cost,
    records: ascending([...had.records, cost]),
  });
}

describe.skipIf(sqlite3.skip)('a ledger in a file, by the commands of the documentation', () => {
  const restore = async (data: string, backups: string): Promise<void> => {
    const shell = await openShell({ folder: folder.path, paths: { '/var/lib/mgw': data, '/backup': backups } });
    await shell.run(RESTORE);
  };

  beforeAll(async () => {
    folder = await tempFolder();
    demo = startMgw(['demo-provider', '--listen', '127.0.0.1:0']);
    const [, url = ''] = await demo.until(/the demo provider is listening on (\S+)/);
    await cp(QUICKSTART, at('manifests'), { recursive: true });
    const platform = at('manifests', 'platform.yaml');
    await writeFile(platform, (await readFile(platform, 'utf8')).replaceAll('http://127.0.0.1:4010', url));
    await takeBackups();
  });
  afterAll(async () => {
    await demo?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  /** Copies of a gateway under continuous load: one by each documented way, and the whole folder at the end. */
  async function takeBackups(): Promise<void> {
    await using gateway = await start(at('data'));
    const load = { on: true, calls: 0 };
    const callers = [3, 5].map(async (words) => {
      while (load.on) {
        await gateway.call(words);
        load.calls++;
      }
    });
    try {
      await until('the file has records', () => booksIn(at('data', 'ledger.db')).records.length > 0);
      for (const [name, block] of WAYS) {
        await mkdir(at(name));
        const shell = await openShell({
          folder: folder.path,
          paths: {
            '/var/lib/mgw': at('data'),
            '/var/lib/model-gateway': at('data'),
            '/backup': at(name),
          },
          programs: {
            sqlite3: `#!/bin/sh\nexec '${sqlite3.path}' "$@"\n`,
            node: `#!/bin/sh\nexec '${process.execPath}' "$@"\n`,
          },
        });
        await shell.run(block);
      }
      const calls = load.calls;
      await until('calls go on', () => load.calls > calls);
    } finally {
      load.on = false;
      await Promise.all(callers);
    }
    const spent = await gateway.spent();
    await gateway.stop();
    await cp(at('data'), at('whole'), { recursive: true });
    assert.equal(booksIn(at('whole', 'ledger.db')).key, spent);
  }

  const WAYS = [
    ['with-sqlite3', blockWith(commands, 'sqlite3 -readonly')],
    ['with-node', blockWith(commands, 'node -e')],
    ['on-one-machine', blockWith(onOneMachine, 'sqlite3')],
  ] as const;

  it('is complete in each copy that is made while it is written', async () => {
    for (const [name] of WAYS) {
      const had = booksIn(at(name, 'ledger.db'));
      assert.ok(had.records.length > 0);
      assert.deepEqual([had.key, had.account], [sum(had.records), sum(had.records)]);
      assert.ok(had.key < booksIn(at('whole', 'ledger.db')).key, 'nothing was spent afterwards');
    }
    for (const name of ['with-sqlite3', 'with-node']) assert.equal((await stat(at(name, 'ledger.db'))).mode & 0o077, 0);
  });

  it('continues from a restored copy', async () => {
    for (const name of ['with-sqlite3', 'with-node']) {
      await restore(at('data'), at(name));
      await goesOnFrom(at(name, 'ledger.db'), at('data'));
    }
  });

  it("loses nothing in a copy of a stopped gateway's folder, and keeps its keys", async () => {
    await cp(at('whole'), at('elsewhere'), { recursive: true });
    await goesOnFrom(at('whole', 'ledger.db'), at('elsewhere'));
  });

  it('is restored on another machine, with the keys', async () => {
    await mkdir(at('new'));
    await writeFile(at('new', 'ledger.db'), ''); // for rm to have something
    await restore(at('new'), at('on-one-machine'));
    const shell = await openShell({ folder: at('new'), paths: {} });
    await shell.run(`tar -xf '${at('on-one-machine', 'secrets.tar')}'`);
    await goesOnFrom(at('on-one-machine', 'ledger.db'), at('new'));
  });

  it('is restored over the files of a killed gateway', async () => {
    const [data, copy] = [at('data'), at('with-sqlite3', 'ledger.db')];
    await restore(data, dirname(copy));
    {
      await using gateway = await start(data);
      await gateway.call(3);
      await gateway.kill();
    }
    assert.ok((await stat(join(data, 'ledger.db-wal'))).size > 0, 'it leaves a log');
    await restore(data, dirname(copy));
    await goesOnFrom(copy, data);
  });
});
