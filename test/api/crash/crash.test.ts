/**
 * After kill -9, calls whose end the client got are billed exactly, others at their last progress, and nothing leaks.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { gate } from '../../support/mock-provider.ts';
import { insertAt, openaiStream } from '../../support/provider-answers.ts';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import type { BookRecord, BooksOnDisk } from '../../support/api/books.ts';
import { ask, nanoUsd, usage } from '../../support/api/client.ts';
import type { Seen } from '../../support/api/client.ts';
import { eventually } from '../../support/api/process.ts';
import type { GatewayProcess } from '../../support/api/process.ts';
import {
  answerNumbered,
  createScene,
  KINDS,
  keyOf,
  numberedCall,
  numberIn,
  randomFrom,
  seedOfRun,
} from '../../support/api/scene.ts';
import type { NumberedCall, Scene } from '../../support/api/scene.ts';

describe('a gateway that is killed right after the client got the end', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await createScene({ keys: [{ name: 'one' }], creditUsd: '100' });
  });
  afterAll(() => scene.remove());

  for (const [n, kind] of KINDS.entries())
    it(`bills the call exactly: ${kind}`, async () => {
      scene.provider.script(answerNumbered);
      const call = numberedCall(n);
      const first = await scene.home.start();
      let killed: Promise<unknown> | undefined;
      // a stream: in the same turn of the event loop as its last event
      const seen = await ask(first.url, {
        ...call,
        key: keyOf('one'),
        onText: (text) => {
          if (/data: \[DONE\]|event: message_stop/.test(text)) killed ??= first.kill();
        },
      });
      killed ??= first.kill();
      await killed;
      assert.equal(seen.status, 200);
      assert.ok(seen.ended);
      const second = await scene.home.start();
      await assertBilled(second, 'one', call, seen);
      await second.kill();
    });
});

describe('a gateway that is killed at any moment under 100 concurrent calls', () => {
  const seed = seedOfRun();
  const random = randomFrom(seed);
  const LIMITS = { one: 200_000_000n, two: 10_000_000_000n, account: 450_000_000n };
  const ROUNDS = 4;
  const CALLS = 100;
  let scene: Scene;
  beforeAll(async () => {
    // whenShort is Refuse, since the provider does not know lowered output limits
    scene = await createScene({
      keys: [
        { name: 'one', spec: 'quota: {limitUsd: "0.2", whenShort: Refuse}' },
        { name: 'two', spec: 'quota: {limitUsd: "10", whenShort: Refuse}' },
      ],
      creditUsd: '0.45',
    });
  });
  afterAll(() => scene.remove());

  it(`overspends, loses and leaks nothing (SEED=${seed})`, async () => {
    scene.provider.script(answerNumbered);
    let gateway = await scene.home.start();
    const ended = new Map<number, Seen>();
    for (let round = 0; round < ROUNDS; round++) {
      const [stopAfter, killAfter] = [random(), random()]
        .map((part) => 1 + Math.floor(part * CALLS * 0.8))
        .sort((a, b) => a - b);
      const seen = await crowd(gateway, round, { stopAfter: stopAfter!, killAfter: killAfter! });
      assertWithin(readBooks(scene.home.dataDir), LIMITS);
      gateway = await scene.home.start();
      for (const [n, each] of seen) {
        if (each.status !== 200) continue;
        if (each.ended) ended.set(n, each);
        else await assertCutShort(gateway, n, each);
      }
      for (const [n, each] of ended) await assertBilled(gateway, keyName(n), numberedCall(n), each);
      assert.deepEqual(readBooks(scene.home.dataDir).holds, []);
      await assertNothingHeld(gateway);
    }
    await gateway.terminate();
    assert.ok(ended.size >= ROUNDS, `only ${ended.size} calls were completed`);
    assertReconciled(readBooks(scene.home.dataDir));
  });

  const keyName = (n: number): 'one' | 'two' => (n % 3 === 0 ? 'one' : 'two');

  /**
   * A hundred concurrent calls; after some of them, the process is stopped for longer than a hold may wait, and killed.
   */
  async function crowd(
    gateway: GatewayProcess,
    round: number,
    { stopAfter, killAfter }: { stopAfter: number; killAfter: number },
  ): Promise<Map<number, Seen>> {
    let over = 0;
    const seen = new Map<number, Seen>();
    await Promise.all(
      Array.from({ length: CALLS }, async (_, index) => {
        const call = numberedCall(round * CALLS + index);
        const each = await ask(gateway.url, { ...call, key: keyOf(keyName(call.n)) });
        if (each.ended) over++;
        if (each.ended && over === stopAfter) pause(gateway);
        if (each.ended && over === killAfter) gateway.signal('SIGKILL');
        seen.set(call.n, each);
      }),
    );
    await gateway.exited;
    return seen;
  }

  function pause(gateway: GatewayProcess): void {
    gateway.signal('SIGSTOP');
    setTimeout(() => gateway.signal('SIGCONT'), 250);
  }

  /**
   * Compares with the provider's log: one record for each request that it got, none twice, none complete without its
   * end.
   */
  function assertReconciled(books: BooksOnDisk): void {
    assertBalanced(books);
    assertWithin(books, LIMITS);
    const produced = new Map(scene.provider.requests.map((request) => [numberIn(request), request]));
    assert.equal(produced.size, scene.provider.requests.length, 'a call was sent twice');
    const succeeded = books.records.filter(({ status }) => status === 'Succeeded');
    const numbers = succeeded.map(({ input }) => input - 100);
    assert.equal(new Set(numbers).size, numbers.length, 'a call was billed twice');
    for (const [index, n] of numbers.entries()) assertSame(succeeded[index]!, numberedCall(n));
    for (const n of numbers)
      assert.ok(produced.get(n)?.produced.complete, `call ${n} is billed, and the provider did not complete it`);
    const abandoned = books.records.filter(({ status }) => status === 'Abandoned');
    assert.equal(succeeded.length + abandoned.length, books.records.length);
    assert.ok(
      abandoned.length >= produced.size - numbers.length,
      'the provider had a request that is not in the books',
    );
    assert.ok(
      abandoned.every(({ costNanoUsd }) => costNanoUsd > 0n),
      'a call was abandoned for nothing',
    );
  }
});

function assertWithin(
  { keys, accounts, holds, records }: BooksOnDisk,
  limits: { one: bigint; two: bigint; account: bigint },
): void {
  const held = (uid?: string): bigint =>
    holds.reduce((sum, hold) => (uid === undefined || hold.key === uid ? sum + hold.heldNanoUsd : sum), 0n);
  for (const name of ['one', 'two'] as const) {
    const uid = `team/${name}`;
    assert.ok((keys.get(uid) ?? 0n) + held(uid) <= limits[name], `key ${name} is overspent`);
  }
  assert.ok((accounts.get('team/shared') ?? 0n) + held() <= limits.account, 'the account is overspent');
  assert.ok(records.every(({ unbilledNanoUsd }) => unbilledNanoUsd === 0n));
}

async function assertBilled(gateway: GatewayProcess, keyName: string, call: NumberedCall, seen: Seen): Promise<void> {
  const { status, body } = await usage(gateway.url, keyOf(keyName), seen.id);
  assert.equal(status, 200, `call ${call.n} (${call.kind}) was completed at the client, and is lost`);
  assert.deepEqual(
    [body.status, body.usage_source, body.input_tokens, body.output_tokens, nanoUsd(body.cost_usd)],
    ['Succeeded', 'Provider', call.inputTokens, call.outputTokens, call.costNanoUsd],
  );
}

/** The client got the beginning, so at least the input is billed. */
async function assertCutShort(gateway: GatewayProcess, n: number, seen: Seen): Promise<void> {
  const { status, body } = await usage(gateway.url, keyOf(n % 3 === 0 ? 'one' : 'two'), seen.id);
  assert.equal(status, 200, `call ${n} was begun, and is lost`);
  assert.ok(['Abandoned', 'Succeeded'].includes(body.status), body.status);
  assert.ok(body.input_tokens > 0 && nanoUsd(body.cost_usd) > 0n);
}

async function assertNothingHeld(gateway: GatewayProcess): Promise<void> {
  for (const name of ['one', 'two']) {
    const response = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${keyOf(name)}` } });
    assert.equal(((await response.json()) as { held_usd: string }).held_usd, '0.00');
  }
}

function assertSame(record: BookRecord, call: NumberedCall): void {
  assert.deepEqual(
    [record.input, record.output, record.costNanoUsd],
    [call.inputTokens, call.outputTokens, call.costNanoUsd],
  );
}

describe('a gateway that is killed within a stream', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await createScene({
      keys: [{ name: 'serial', spec: 'quota: {limitUsd: "0.012"}\nmaxConcurrency: 1' }],
      creditUsd: '1',
    });
  });
  afterAll(() => scene.remove());

  it("bills the call's last recorded progress, and frees its hold and slot at once", async () => {
    const waiting = gate();
    scene.provider.script(insertAt(openaiStream(['x'.repeat(400), 'y'.repeat(400), 'z']), 3, waiting));
    const first = await scene.home.start();
    const call = { ...numberedCall(0), key: keyOf('serial') };
    const asked = ask(first.url, call);
    await waiting.reached;
    const recorded = await eventually('the progress of the stream is on disk', () =>
      readBooks(scene.home.dataDir).holds.find(({ output }) => output === 200),
    );
    // there is money for one call only, and its key has one slot
    const refused = await ask(first.url, call);
    assert.equal(refused.status, 429);
    await first.kill();
    const seen = await asked;
    assert.equal(seen.ended, false);

    const second = await scene.home.start();
    const { body } = await usage(second.url, keyOf('serial'), seen.id);
    assert.deepEqual(
      [body.status, body.usage_source, body.output_tokens, nanoUsd(body.cost_usd)],
      ['Abandoned', 'Partial', 200, recorded.costNanoUsd],
    );
    assert.equal(nanoUsd(body.cost_usd), BigInt(body.input_tokens) * 2_500n + 200n * 10_000n);
    assert.ok(body.input_tokens > 300, 'the input was not billed');
    assert.deepEqual(readBooks(scene.home.dataDir).holds, []);
    scene.provider.script(answerNumbered);
    const next = await ask(second.url, call);
    assert.equal(next.status, 200, next.text);
    await second.terminate();
    assertBalanced(readBooks(scene.home.dataDir));
  });
  it('bills a call without output for its input, never zero', async () => {
    const waiting = gate();
    const reply = openaiStream(['never']);
    scene.provider.script({ ...reply, beforeHead: [waiting] });
    const before = await scene.home.start();
    const asked = ask(before.url, { ...numberedCall(0), key: keyOf('serial') });
    await waiting.reached;
    await before.kill();
    assert.equal((await asked).ended, false);
    await (await scene.home.start()).terminate();
    const books = readBooks(scene.home.dataDir);
    const record = books.records.at(-1);
    assert.deepEqual(
      [record?.status, record?.output, record?.costNanoUsd],
      ['Abandoned', 0, BigInt(record?.input ?? 0) * 2_500n],
    );
    assert.ok((record?.input ?? 0) > 300);
    assertBalanced(books);
  });
});
