/** The operator as a whole, on real folders. */
import assert from 'node:assert/strict';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import type { TestContext } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { LedgerReader } from '#ledger/spending.ts';
import type { ApplyResult } from '#snapshot/faults.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { validateSnapshot } from '#snapshot/validate.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import { InvalidManifests } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { startOperator } from '../../../programs/one-machine/operator.ts';
import type { Operator, OperatorOptions } from '../../../programs/one-machine/operator.ts';
import type { MintedKey } from '../../../operator/reconcile/mint-keys.ts';
import { GATEWAY_NAMESPACE, platformManifest, temporaryFolder } from '../operator/support.ts';

const MANIFESTS = `${platformManifest()}---
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: team, namespace: team}
spec: {grants: [{name: g, usd: "10"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci, namespace: team}
spec: {groupRef: {name: main}, accountRef: {name: team}, quota: {limitUsd: "2"}}
`;

interface Started {
  readonly operator: Operator;
  readonly config: string;
  readonly data: string;
  readonly minted: readonly MintedKey[];
  readonly logs: readonly unknown[];
  /** The latest snapshot, once it meets a condition. */
  readonly snapshotWhere: (condition: (snapshot: Snapshot) => boolean) => Promise<Snapshot>;
  readonly nextProblems: () => Promise<readonly Diagnostic[]>;
}

async function start(t: TestContext, options: Partial<OperatorOptions> = {}, manifests = MANIFESTS): Promise<Started> {
  const config = await temporaryFolder(t);
  const data = join(await temporaryFolder(t), 'data');
  await writeFile(join(config, 'all.yaml'), manifests);
  let latest: Snapshot | undefined;
  let wake: () => void = () => undefined;
  const minted: MintedKey[] = [];
  const problems: (readonly Diagnostic[])[] = [];
  const logs: unknown[] = [];
  const note = (...words: unknown[]): void => {
    logs.push(words);
  };
  const operator = await startOperator({
    configDir: config,
    dataDir: data,
    gatewayNamespace: GATEWAY_NAMESPACE,
    log: { info: note, warn: note, error: note },
    publish(snapshot): ApplyResult {
      const rejected = validateSnapshot(snapshot);
      if (rejected.length > 0) return { accepted: false, rejected };
      latest = snapshot;
      wake();
      return { accepted: true };
    },
    onMinted: (key) => minted.push(key),
    onProblems(found) {
      problems.push(found);
      wake();
    },
    ...options,
  });
  t.onTestFinished(() => operator.stop());
  const until = async <T>(get: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = get();
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    operator,
    config,
    data,
    minted,
    logs,
    snapshotWhere: (condition) => until(() => (latest && condition(latest) ? latest : undefined)),
    nextProblems: () => until(() => problems.shift()),
  };
}

const LEDGER: LedgerReader = {
  readKey: (uid, period) => {
    assert.deepEqual([uid, period], ['team/ci', { period: 'Never', timeZone: 'UTC' }]);
    return Promise.resolve({
      periodStartMs: null,
      resetsMs: null,
      spentNanoUsd: 1_600_000_000n,
      heldNanoUsd: 1n,
      totalSpentNanoUsd: 1_600_000_000n,
      lastUsedMs: 0,
    });
  },
  readAccount: (account) => {
    assert.equal(account, 'team/team');
    return Promise.resolve({ spentNanoUsd: 10_000_000_000n, heldNanoUsd: 0n });
  },
};

test('translates a folder of manifests into a snapshot and statuses with spending', async (t) => {
  const { operator, minted, data } = await start(t, { ledger: LEDGER });
  assert.equal(minted.length, 1);
  assert.match(await readFile(join(data, 'secrets/team/ci-key.yaml'), 'utf8'), new RegExp(minted[0]?.key ?? '?'));
  const statuses = await operator.statuses();
  const status = (kind: string) => statuses.find((one) => one.kind === kind)?.status;
  assert.deepEqual(
    statuses.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
    [
      'Account team/team',
      'ApiKey team/ci',
      'Group model-gateway/main',
      'ModelRoute model-gateway/openai',
      'PriceCatalog model-gateway/acme',
    ],
  );
  assert.deepEqual(
    [status('ApiKey')?.spentUsd, status('ApiKey')?.remainingUsd, status('ApiKey')?.lastUsedTime],
    ['1.60', '0.40', '1970-01-01T00:00:00Z'],
  );
  assert.deepEqual(
    status('ApiKey')?.conditions.map(({ type }) => type),
    ['Accepted', 'Programmed', 'Ready', 'QuotaLow'],
  );
  assert.deepEqual(
    status('Account')?.conditions.map(({ type, status: value }) => `${type}=${value}`),
    ['Accepted=True', 'Programmed=True', 'Ready=False', 'BalanceLow=True', 'BalanceExhausted=True'],
  );
  assert.equal(status('Account')?.balanceUsd, '0.00');
  assert.deepEqual([status('Group')?.models, status('Group')?.keys], [1, 1]);
  assert.ok(!JSON.stringify(statuses).includes(minted[0]?.key ?? ''));
});

test('reports only changed statuses', async (t) => {
  let spentNanoUsd = 0n;
  const ledger: LedgerReader = { ...LEDGER, readAccount: () => Promise.resolve({ spentNanoUsd, heldNanoUsd: 0n }) };
  const { operator, config, snapshotWhere } = await start(t, { ledger });
  const first = await operator.statusChanges();
  assert.deepEqual(
    [...first.keys()].toSorted(),
    (await operator.statuses()).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).toSorted(),
  );
  assert.deepEqual([...(await operator.statusChanges()).keys()], []);
  spentNanoUsd = 5n;
  assert.deepEqual([...(await operator.statusChanges()).keys()], ['Account team/team']);
  assert.equal(operator.lastStatuses().find(({ kind }) => kind === 'Account')?.status.spentUsd, '0.000000005');
  await writeFile(
    join(config, 'all.yaml'),
    MANIFESTS.replace(/apiVersion: \S+\nkind: PriceCatalog\n.*\n.*\n---\n/, ''),
  );
  await snapshotWhere(({ catalogs }) => catalogs.length === 0);
  const gone = await operator.statusChanges();
  assert.ok(gone.has('PriceCatalog model-gateway/acme') && gone.get('PriceCatalog model-gateway/acme') === undefined);
});

test('applies an edit, reports a mistake with its place and keeps the state, and applies the fix', async (t) => {
  const { config, snapshotWhere, nextProblems } = await start(t);
  await snapshotWhere(({ accounts }) => accounts[0]?.creditNanoUsd === 10_000_000_000n);
  const write = (from: string, to: string) => writeFile(join(config, 'all.yaml'), MANIFESTS.replace(from, to));
  await write('usd: "10"', 'usd: "20"');
  const edited = await snapshotWhere(({ accounts }) => accounts[0]?.creditNanoUsd === 20_000_000_000n);
  await write('usd: "10"', 'usd: twenty');
  const [problem] = await nextProblems();
  assert.deepEqual([problem?.file, problem?.line, problem?.path], [join(config, 'all.yaml'), 21, 'spec.grants[0].usd']);
  await write('usd: "10"', 'usd: "30"');
  assert.deepEqual(await nextProblems(), []);
  const mended = await snapshotWhere(({ accounts }) => accounts[0]?.creditNanoUsd === 30_000_000_000n);
  assert.ok((mended.accounts[0]?.generation ?? 0n) > (edited.accounts[0]?.generation ?? 0n));
  assert.equal(mended.groups[0]?.generation, edited.groups[0]?.generation);
});

test('generates a new key for a deleted key file at once', async (t) => {
  const { data, minted, snapshotWhere } = await start(t);
  const before = await snapshotWhere(({ keys }) => keys.length === 1);
  await rm(join(data, 'secrets/team/ci-key.yaml'));
  const after = await snapshotWhere(({ keys }) => keys[0]?.hashes[0]?.sha256 !== before.keys[0]?.hashes[0]?.sha256);
  assert.deepEqual([after.keys[0]?.hashes.length, minted.length], [1, 2]);
});

test('does not start with mistakes in the folder', async (t) => {
  await assert.rejects(
    start(t, {}, MANIFESTS.replaceAll('kind:', 'knd:')),
    (error) => error instanceof InvalidManifests && error.diagnostics.length === 5,
  );
});

test('starts with missing references, which are reported in statuses', async (t) => {
  const { operator } = await start(t, {}, MANIFESTS.replace('groupRef: {name: main}', 'groupRef: {name: nobody}'));
  const key = (await operator.statuses()).find(({ kind }) => kind === 'ApiKey');
  assert.equal(key?.status.conditions[0]?.reason, 'GroupNotFound');
  assert.equal(key.status.spentUsd, undefined);
});

test('reports a first snapshot that the proxy refuses at the lines of its objects', async (t) => {
  const rejected = [{ kind: 'Account', namespace: 'team', name: 'team', message: 'too rich' }] as const;
  await assert.rejects(start(t, { publish: () => ({ accepted: false, rejected }) }), (error) => {
    assert.ok(error instanceof InvalidManifests);
    assert.deepEqual(
      error.diagnostics.map(({ line, object, message }) => ({ line, object, message })),
      [
        {
          line: 18,
          object: 'Account team/team',
          message: 'rejected by the proxy: too rich',
        },
      ],
    );
    return true;
  });
});

test('reports a later snapshot that the proxy refuses, and its recovery', async (t) => {
  let refuse = false;
  const { config, nextProblems, operator } = await start(t, {
    publish: () =>
      refuse
        ? { accepted: false, rejected: [{ kind: 'Account', namespace: 'team', name: 'team', message: 'too rich' }] }
        : { accepted: true },
  });
  refuse = true;
  await writeFile(join(config, 'all.yaml'), MANIFESTS.replace('usd: "10"', 'usd: "20"'));
  assert.deepEqual(
    (await nextProblems()).map(({ line, object }) => ({ line, object })),
    [{ line: 18, object: 'Account team/team' }],
  );
  const account = (await operator.statuses()).find(({ kind }) => kind === 'Account');
  assert.equal(account?.status.conditions[1]?.reason, 'Rejected');
  refuse = false;
  await writeFile(join(config, 'all.yaml'), MANIFESTS);
  assert.deepEqual(await nextProblems(), []);
});

test("keeps statuses' last spending if the ledger does not respond", async (t) => {
  const unavailable = () => Promise.reject(new LedgerUnavailable('gone'));
  const { operator, logs } = await start(t, { ledger: { readKey: unavailable, readAccount: unavailable } });
  assert.equal((await operator.statuses()).length, 5);
  assert.match(JSON.stringify(logs), /ledger does not respond/);
});

test('generates a key even if printing it fails, and logs none', async (t) => {
  const { snapshotWhere, logs, data } = await start(t, {
    onMinted: () => {
      throw new Error('no terminal');
    },
  });
  const { keys } = await snapshotWhere((snapshot) => snapshot.keys.length === 1);
  const key = /sk-\w+/.exec(await readFile(join(data, 'secrets/team/ci-key.yaml'), 'utf8'))?.[0] ?? '?';
  assert.equal(keys[0]?.prefix, key.slice(0, 8));
  assert.match(JSON.stringify(logs), /could not be printed/);
  assert.ok(!JSON.stringify(logs).includes(key));
});

/** The keys of two starts on the same folders, at a time that the test sets. */
async function retained(t: TestContext) {
  const config = await temporaryFolder(t);
  const data = join(await temporaryFolder(t), 'data');
  const file = join(config, 'key.yaml');
  const path = join(data, 'secrets/team/ci-key.yaml');
  const [account, key] = MANIFESTS.split('---\n').slice(-2);
  await writeFile(join(config, 'a.yaml'), `${platformManifest()}---\n${account}`);
  await writeFile(file, key ?? '');
  let nowMs = Date.parse('2026-11-26T12:00:00Z');
  let operator: Operator | undefined;
  const run = async (minutes: number): Promise<string | undefined> => {
    await operator?.stop();
    nowMs += minutes * 60_000;
    operator = await startOperator({
      configDir: config,
      dataDir: data,
      gatewayNamespace: GATEWAY_NAMESPACE,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      publish: () => ({ accepted: true }),
      onMinted: () => undefined,
      onProblems: () => undefined,
      clock: { nowMs: () => nowMs, after: SYSTEM_CLOCK.after },
    });
    const text = await readFile(path, 'utf8').catch(() => undefined);
    return text && /apiKey: (\S+)/.exec(text)?.[1];
  };
  t.onTestFinished(() => operator?.stop());
  return {
    run,
    remove: () => rm(file),
    restore: () => writeFile(file, key ?? ''),
    config,
    mode: async () => (await stat(path)).mode,
  };
}

test("keeps a deleted ApiKey's key for ten minutes, across starts, and never longer", async (t) => {
  const { run, remove, restore, mode } = await retained(t);
  const first = await run(0);
  assert.match(first ?? '', /^sk-/);
  await remove();
  assert.equal(await run(1), first);
  assert.equal((await mode()) & 0o777, 0o600);
  assert.equal(await run(9), first);
  await restore();
  assert.equal(await run(0.5), first, 'an edit in two steps');
  await remove();
  assert.equal(await run(30), first, 'counts from the deletion that is seen');
  assert.equal(await run(10), undefined);
  await restore();
  const next = await run(0);
  assert.match(next ?? '', /^sk-/);
  assert.notEqual(next, first);
});

test('deletes no key because of a folder in which nothing is', async (t) => {
  const { run, remove, config } = await retained(t);
  const first = await run(0);
  await remove();
  await rm(join(config, 'a.yaml'));
  await run(1);
  assert.equal(await run(60), first);
});
