/**
 * A full disk. Under the ledger of one machine, nothing is admitted and nothing is billed wrongly. With Valkey, calls
 * continue, and the journal is written later.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'vitest';
import { fillDisk, freeDisk, prlimit } from '../../support/full-disk.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import { gate } from '../../support/mock-provider.ts';
import { insertAt } from '../../support/provider-answers.ts';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import { ask, nanoUsd, usage } from '../../support/api/client.ts';
import type { Seen } from '../../support/api/client.ts';
import { eventually } from '../../support/api/process.ts';
import type { GatewayProcess } from '../../support/api/process.ts';
import { answerNumbered, createScene, KINDS, keyOf, numberedCall } from '../../support/api/scene.ts';
import type { Scene } from '../../support/api/scene.ts';

const KEY = keyOf('one');
const LIMITED = keyOf('limited');
const STREAM = numberedCall(0);
/** No space at all, and less than the header of SQLite's log, whose write is cut short. */
const ROOM = [0, 10] as const;

let scene: Scene;
beforeEach(async () => {
  const limited = { name: 'limited', spec: 'maxConcurrency: 4' };
  scene = await createScene({ keys: [{ name: 'one' }, limited], creditUsd: '9' });
});
afterEach(() => scene.remove());

function assertUnavailable(path: string, { status, text }: Seen): void {
  assert.equal(status, 503, text);
  const { error } = JSON.parse(text);
  if (path === '/v1/messages') assert.equal(error.type, 'api_error');
  else assert.equal(error.code, 'ledger_unavailable');
}

/** A call that the provider completes only when the gate opens. */
async function startCall(gateway: GatewayProcess) {
  const waiting = gate();
  scene.provider.script((call) => insertAt(answerNumbered(call), 2, waiting));
  const running = ask(gateway.url, { ...STREAM, key: KEY });
  await waiting.reached;
  scene.provider.script(answerNumbered);
  return { waiting, running };
}

/** First calls that wait for the disk, then calls that are refused because it is known to be full. */
async function refuseAll(gateway: GatewayProcess): Promise<Seen[]> {
  const before = scene.provider.requests.length;
  const refused: Seen[] = [];
  for (const key of [KEY, LIMITED]) {
    const calls = KINDS.map((_, kind) => numberedCall(4 + kind));
    const seen = await Promise.all(calls.map((call) => ask(gateway.url, { ...call, key })));
    for (const [index, each] of seen.entries()) assertUnavailable(calls[index]?.path ?? '', each);
    refused.push(...seen);
  }
  assert.equal(scene.provider.requests.length, before, 'a provider was asked');
  return refused;
}

function assertNotBilled(refused: readonly Seen[]): void {
  const books = readBooks(scene.home.dataDir);
  assertBalanced(books);
  assert.deepEqual(books.holds, []);
  const ids = new Set(refused.map(({ id }) => id));
  assert.deepEqual(
    books.records.filter(({ id }) => ids.has(id)),
    [],
  );
}

describe.skipIf(prlimit.skip)('a full disk under the ledger of one machine', () => {
  for (const bytes of ROOM) {
    it(`stops new calls, and a running one is billed when there is space again (${bytes} bytes)`, async () => {
      const gateway = await scene.home.start();
      const { waiting, running } = await startCall(gateway);
      await fillDisk(gateway.pid, bytes);
      const refused = await refuseAll(gateway);
      waiting.open();
      await freeDisk(gateway.pid);
      const seen = await running;
      assert.ok(seen.ended, seen.text);
      await eventually(
        'calls are taken again',
        async () => (await ask(gateway.url, { ...numberedCall(1), key: LIMITED })).status === 200,
      );
      const { body } = await usage(gateway.url, KEY, seen.id);
      assert.deepEqual([body.status, nanoUsd(body.cost_usd)], ['Succeeded', STREAM.costNanoUsd]);
      assert.equal(await gateway.terminate(), 0);
      assertNotBilled(refused);
    });

    it(`bills no refused call of a gateway that is killed at that time (${bytes} bytes)`, async () => {
      const gateway = await scene.home.start();
      const { running } = await startCall(gateway);
      await fillDisk(gateway.pid, bytes);
      const refused = await refuseAll(gateway);
      await gateway.kill();
      const { id, ended } = await running;
      assert.equal(ended, false);
      const next = await scene.home.start();
      assert.equal((await usage(next.url, KEY, id)).body.status, 'Abandoned');
      assert.equal((await ask(next.url, { ...numberedCall(1), key: LIMITED })).status, 200);
      assert.equal(await next.terminate(), 0);
      assertNotBilled(refused);
    });
  }
});

describe.skipIf(prlimit.skip || valkey.skip)('a full disk under a gateway with Valkey', () => {
  for (const when of ['while it is full', 'when there is room again'] as const) {
    it(`stops no call, and a store that loses everything ${when} is given back records and spending`, async () => {
      await using server = await startValkey();
      const gateway = await scene.home.start('--ledger', server.url);
      await fillDisk(gateway.pid, 0);
      scene.provider.script(answerNumbered);
      const calls = KINDS.map((_, kind) => numberedCall(kind));
      const seen = await Promise.all(calls.map((call) => ask(gateway.url, { ...call, key: KEY })));
      assert.deepEqual(
        seen.map(({ status }) => status),
        [200, 200, 200, 200],
      );
      await eventually('the log says so', () => /journal of the ledger/i.test(gateway.output()));
      if (when === 'when there is room again') await freeDisk(gateway.pid);
      await server.command('FLUSHALL');
      const spent = await eventually('the store is filled again', async () => {
        const response = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${KEY}` } });
        const body = (await response.json()) as { spent_usd?: string };
        return body.spent_usd !== undefined && nanoUsd(body.spent_usd);
      });
      assert.equal(
        spent,
        calls.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n),
      );
      for (const [index, { id }] of seen.entries()) {
        const { body } = await usage(gateway.url, KEY, id);
        assert.deepEqual([body.status, nanoUsd(body.cost_usd)], ['Succeeded', calls[index]?.costNanoUsd]);
      }
      await freeDisk(gateway.pid);
      assert.equal(await gateway.terminate(), 0);
    });
  }
});

describe.skipIf(valkey.skip)('a Valkey that is unavailable', () => {
  for (const how of ['SIGSTOP', 'SIGKILL'] as const) {
    it(`makes the gateway refuse every call as ledger_unavailable, with thresholds or without (${how})`, async () => {
      await using server = await startValkey();
      const gateway = await scene.home.start('--ledger', server.url);
      scene.provider.script(answerNumbered);
      assert.equal((await ask(gateway.url, { ...STREAM, key: LIMITED })).status, 200);
      server.signal(how);
      await refuseAll(gateway);
      if (how === 'SIGSTOP') server.signal('SIGCONT');
      else await server.start();
      await eventually(
        'calls are taken again',
        async () => (await ask(gateway.url, { ...STREAM, key: LIMITED })).status === 200,
      );
      assert.equal(await gateway.terminate(), 0);
    });
  }
});
