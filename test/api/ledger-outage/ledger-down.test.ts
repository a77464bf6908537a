/**
 * A ledger that cannot write: nothing is admitted, nothing completes unbilled, and completed calls are billed once
 * later.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { FAULT } from '../../../dataplane/ledger/embedded/faults.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { Settlement } from '../../../dataplane/ledger/ledger.ts';
import { chat, get, message, nothingLeaks, post, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { gate } from '../../support/mock-provider.ts';
import {
  anthropicMessage,
  anthropicStream,
  gated,
  insertAt,
  openaiChat,
  openaiStream,
} from '../../support/provider-answers.ts';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import { ask, nanoUsd } from '../../support/api/client.ts';
import type { Usage } from '../../support/api/client.ts';
import { eventually } from '../../support/api/process.ts';

/** A clock that the test controls: for leases, ticks, and a settlement's timeout. */
class Time {
  monotonicMs = 1_000_000;
  /** The timeouts of all waiting operations, and functions that end them. */
  waiting: { readonly ms: number; readonly expire: () => void }[] = [];
  readonly #ticks: (() => void)[] = [];

  readonly every = (_intervalMs: number, tick: () => void): (() => void) => {
    this.#ticks.push(tick);
    return () => undefined;
  };

  readonly withTimeout = <T>(ms: number, work: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const expire = (): void => reject(new LedgerUnavailable('late'));
      this.waiting.push({ ms, expire });
      work.then(resolve, reject);
      if (ms === 0) setImmediate(expire);
    });

  /** Advances the clock, in steps of the renewals' interval. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      this.monotonicMs += 1_000;
      for (const tick of this.#ticks) tick();
      await new Promise(setImmediate);
    }
  }
}

const time = new Time();
const faults = new Int32Array(new SharedArrayBuffer(4));
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    faults,
    monotonicMs: () => time.monotonicMs,
    timers: { every: time.every, withTimeout: time.withTimeout },
  });
});
afterAll(() => (stack as TestStack | undefined)?.stop());
beforeEach(() => {
  time.waiting = [];
});
afterEach(async () => {
  setFault(FAULT.none);
  await eventually(
    'the ledger works again, and nothing is left',
    () => nothingLeaks(stack) && readBooks(stack.gateway.dataDir).holds.length === 0,
  );
  assertBalanced(readBooks(stack.gateway.dataDir));
  stack.openai.clear();
  stack.anthropic.clear();
});

function setFault(fault: number): void {
  Atomics.store(faults, 0, fault);
  Atomics.notify(faults, 0);
}

const CALLS = [
  { name: 'OpenAI, whole', path: '/v1/chat/completions', body: chat() },
  { name: 'OpenAI, stream', path: '/v1/chat/completions', body: chat('gpt-model', { stream: true }) },
  { name: 'Anthropic, whole', path: '/v1/messages', body: message() },
  { name: 'Anthropic, stream', path: '/v1/messages', body: message('claude-model', { stream: true }) },
] as const;
const USAGE = { prompt_tokens: 11, completion_tokens: 33 };
const COST = 11n * 2_500n + 33n * 10_000n;

function assertUnavailable(path: string, answer: { status: number; headers: Headers; text: string }): void {
  assert.equal(answer.status, 503, answer.text);
  assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const { type, error } = JSON.parse(answer.text);
  if (path === '/v1/messages') assert.deepEqual([type, error.type], ['error', 'api_error']);
  else assert.deepEqual([error.type, error.code], ['server_error', 'ledger_unavailable']);
}

async function usageOf(id: string): Promise<Usage> {
  return (await get(stack, `/v1/usage/${id}`)).json();
}

describe('a ledger whose file cannot be written', () => {
  for (const fault of ['commitFails', 'stalls'] as const)
    it(`makes every call get 503 with retry-after in both dialects, without a provider (${fault})`, async () => {
      const before = await spending(stack);
      setFault(FAULT[fault]);
      // at once: late holds, and then holds that are refused because the ledger is known to fail
      for (let round = 0; round < 2; round++)
        for (const [index, answer] of (
          await Promise.all(CALLS.map(({ path, body }) => post(stack, path, body)))
        ).entries())
          assertUnavailable(CALLS[index]!.path, answer);
      assert.equal(stack.openai.requests.length + stack.anthropic.requests.length, 0);
      setFault(FAULT.none);
      stack.openai.script(openaiChat({ usage: USAGE }));
      await eventually(
        'calls are taken again',
        async () => (await post(stack, '/v1/chat/completions', chat())).status === 200,
      );
      assert.deepEqual(await spending(stack), { spent: before.spent + COST, held: 0n });
    });

  it('leaves the gateway ready, because all replicas share it, and models and prices are served', async () => {
    const { ledger, adminUrl, url } = stack.gateway;
    const admit = (): Promise<never> => Promise.reject(new LedgerUnavailable('down'));
    Object.assign(ledger, { admit, health: () => ({ ok: false, reason: 'the store does not answer' }) });
    try {
      const ready = await fetch(`${adminUrl}/readyz`);
      assert.equal(ready.status, 200, 'callers would find no endpoint in place of a response that they can act on');
      const { degraded } = (await ready.json()) as { degraded: unknown };
      assert.deepEqual(degraded, [{ name: 'ledger', detail: 'the store does not answer' }]);
      for (const { path, body } of CALLS) assertUnavailable(path, await post(stack, path, body));
      assert.equal((await get(stack, '/v1/models')).status, 200);
      assert.equal((await fetch(`${url}/pricing.json`)).status, 200);
    } finally {
      for (const name of ['admit', 'health']) Reflect.deleteProperty(ledger, name);
    }
  });

  it('that does not respond causes no 401', async () => {
    const { ledger } = stack.gateway;
    const down = (): Promise<never> => Promise.reject(new LedgerUnavailable('down'));
    // in the place of its class's methods
    const answers = { admit: down, take: down, readKey: down, readAccount: down, readUsage: down };
    Object.assign(ledger, answers);
    try {
      for (const { path, body } of CALLS) assertUnavailable(path, await post(stack, path, body));
      for (const path of ['/v1/key', '/v1/usage/req_1']) assertUnavailable(path, await get(stack, path));
      assertUnavailable(
        '/v1/chat/completions',
        await post(stack, '/v1/chat/completions', chat(), { 'x-api-key': KEYS.serial }),
      );
      assert.equal((await get(stack, '/v1/models')).status, 200, 'what needs no ledger goes on');
    } finally {
      for (const name of Object.keys(answers)) Reflect.deleteProperty(ledger, name);
    }
  });
});

describe('a settlement that cannot be committed', () => {
  it('replaces the end of a stream by an error event, and the call is billed once later', async () => {
    const before = await spending(stack);
    const waiting = gate();
    stack.openai.script(insertAt(openaiStream(['hel', 'lo'], { usage: USAGE }), 2, waiting));
    const asked = ask(stack.gateway.url, {
      path: '/v1/chat/completions',
      key: KEYS.main,
      body: chat('gpt-model', { stream: true }),
    });
    await waiting.reached;
    setFault(FAULT.commitFails);
    waiting.open();
    const { ms, expire } = await eventually('the settlement is waited for', () => time.waiting[0]);
    assert.equal(ms, 20_000);
    expire();
    const seen = await asked;
    assert.equal(seen.status, 200);
    assert.ok(seen.text.includes('"lo"') && !seen.text.includes('[DONE]'), seen.text);
    assert.match(seen.text, /data: \{"error":\{.*"code":"billed_later"/);
    assert.match(seen.text, new RegExp(`was served and will be billed.*${seen.id}`));
    setFault(FAULT.none);
    await withheldAndBilledOnce(seen.id, before.spent);
  });
  it("does the same in Anthropic's dialect", async () => {
    const waiting = gate();
    stack.anthropic.script(insertAt(anthropicStream(), 2, waiting));
    const asked = ask(stack.gateway.url, {
      path: '/v1/messages',
      key: KEYS.main,
      body: message('claude-model', { stream: true }),
    });
    await waiting.reached;
    setFault(FAULT.stalls);
    waiting.open();
    (await eventually('the settlement is waited for', () => time.waiting[0])).expire();
    const seen = await asked;
    assert.match(seen.text, /event: error\ndata: \{"type":"error","error":\{"type":"api_error"/);
    assert.ok(!seen.text.includes('message_stop'));
  });
  it('becomes an error that no SDK repeats for a whole response, and the call is billed once later', async () => {
    const before = await spending(stack);
    const waiting = gated(openaiChat({ usage: USAGE }));
    stack.openai.script(waiting.reply);
    const asked = post(stack, '/v1/chat/completions', chat());
    await waiting.gate.reached;
    setFault(FAULT.commitFails);
    waiting.gate.open();
    (await eventually('the settlement is waited for', () => time.waiting[0])).expire();
    const answer = await asked;
    const { error } = answer.json();
    assert.deepEqual([answer.status, error.type, error.code], [500, 'server_error', 'billed_later']);
    assert.deepEqual(
      ['x-should-retry', 'retry-after'].map((name) => answer.headers.get(name)),
      ['false', null],
    );
    assert.match(error.message, new RegExp(`was served and will be billed.*${answer.headers.get('x-request-id')}`));
    setFault(FAULT.none);
    await withheldAndBilledOnce(answer.headers.get('x-request-id') ?? '', before.spent);
    await eventually('the log tells what it came to', () =>
      stack.gateway.logs.some(
        (line) =>
          line.includes('"billed late"') &&
          line.includes('"Withheld"') &&
          line.includes(answer.headers.get('x-request-id') ?? '?'),
      ),
    );
  });
  it('does not affect the client if it is committed before the timeout', async () => {
    const waiting = gated(anthropicMessage());
    stack.anthropic.script(waiting.reply);
    const asked = post(stack, '/v1/messages', message());
    await waiting.gate.reached;
    setFault(FAULT.commitFails);
    waiting.gate.open();
    await eventually('the settlement is waited for', () => time.waiting[0]);
    setFault(FAULT.none);
    const answer = await asked;
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.000045');
  });

  async function withheldAndBilledOnce(id: string, spentBefore: bigint): Promise<void> {
    await eventually('the settlement is in the file', () =>
      readBooks(stack.gateway.dataDir).records.some((record) => record.id === id),
    );
    const usage = await usageOf(id);
    assert.deepEqual([usage.status, nanoUsd(usage.cost_usd)], ['Withheld', COST]);
    assert.deepEqual(await spending(stack), { spent: spentBefore + COST, held: 0n });
  }
});

describe('a settlement that waits in the journal', () => {
  for (const { name, path, body } of [
    ...CALLS,
    { name: 'Responses, converted', path: '/v1/responses', body: { model: 'claude-model', input: 'hello' } },
  ])
    it(`delivers the response, which the ledger bills once later (${name})`, async () => {
      const before = await spending(stack);
      const { ledger } = stack.gateway;
      const [settle, storeIsBack] = [ledger.settle.bind(ledger), Promise.withResolvers<void>()];
      Object.assign(ledger, {
        settle: async (settlement: Settlement, onJournaled: () => void) => {
          onJournaled();
          await storeIsBack.promise;
          return settle(settlement);
        },
      });
      try {
        const streams = 'stream' in body && body.stream;
        stack.openai.script(streams ? openaiStream(['hel', 'lo'], { usage: USAGE }) : openaiChat({ usage: USAGE }));
        stack.anthropic.script(streams ? anthropicStream() : anthropicMessage());
        const answer = await post(stack, path, body);
        assert.equal(answer.status, 200, answer.text);
        if (streams) assert.match(answer.text, /\[DONE\]|message_stop/);
        else assert.match(answer.headers.get('x-modelgateway-cost-usd') ?? '', /^0\.000/);
        assert.ok(!/"error":\{/.test(answer.text), answer.text);
        storeIsBack.resolve();
        const id = answer.headers.get('x-request-id') ?? '';
        await eventually('it is billed', async () => (await usageOf(id)).status === 'Succeeded');
        const cost = nanoUsd((await usageOf(id)).cost_usd);
        assert.deepEqual(await spending(stack), { spent: before.spent + cost, held: 0n });
      } finally {
        Reflect.deleteProperty(ledger, 'settle');
      }
    });
});

describe('holds that cannot be renewed', () => {
  it('for 20 s end running streams with an error at once, billed for their output so far', async () => {
    const stopping = gate();
    stack.openai.script(insertAt(openaiStream(['x'.repeat(40), 'never'], { usage: USAGE }), 2, stopping));
    stack.anthropic.script(insertAt(anthropicStream(['x'.repeat(40), 'never']), 3, stopping));
    const streams = [CALLS[1], CALLS[3]].map(({ path, body }) => {
      const begun = Promise.withResolvers<void>();
      const ended = ask(stack.gateway.url, {
        path,
        body,
        key: KEYS.main,
        onText: (text) => {
          if (text.includes('xxx')) begun.resolve();
        },
      });
      return { begun: begun.promise, ended };
    });
    for (const { begun } of streams) await begun;
    let over = 0;
    for (const { ended } of streams)
      void ended.then(() => {
        over++;
      });
    setFault(FAULT.commitFails);
    await failedRenewal();
    await time.pass(18_000);
    assert.equal(over, 0, 'given up too early');
    await time.pass(2_000);
    // while the ledger still fails
    const [openai, anthropic] = await Promise.all(streams.map(({ ended }) => ended));
    assert.match(openai!.text, /data: \{"error":\{.*"code":"billed_later"/);
    assert.match(openai!.text, new RegExp(`will be billed.*${openai!.id}`));
    assert.match(anthropic!.text, /event: error\ndata: \{"type":"error","error":\{"type":"api_error"/);
    assert.ok(!openai!.text.includes('[DONE]') && !anthropic!.text.includes('message_stop'));
    for (const provider of [stack.openai, stack.anthropic]) {
      const request = await provider.request(0);
      await request.over;
      assert.ok(request.clientGone, 'the provider was not stopped');
    }
    setFault(FAULT.none);
    await eventually('both are in the books', () => nothingLeaks(stack));
    for (const { id } of [openai!, anthropic!]) {
      const usage = await usageOf(id);
      assert.deepEqual([usage.status, usage.usage_source, usage.output_tokens], ['Withheld', 'Partial', 10]);
      assert.ok(usage.input_tokens > 0 && nanoUsd(usage.cost_usd) > 0n);
    }
  });
  it('for less than 20 s let running streams continue', async () => {
    const waiting = gate();
    stack.openai.script(insertAt(openaiStream(['a', 'b'], { usage: USAGE }), 2, waiting));
    const asked = ask(stack.gateway.url, { path: '/v1/chat/completions', key: KEYS.main, body: CALLS[1].body });
    await waiting.reached;
    setFault(FAULT.commitFails);
    await failedRenewal();
    await time.pass(17_000);
    setFault(FAULT.none);
    await eventually('the ledger works again', async () => {
      await time.pass(0);
      return stack.gateway.ledger.recordProgress(new Map()).then(
        () => true,
        () => false,
      );
    });
    const renewals = await renewalCount('ok');
    await eventually('the holds are renewed', async () => {
      time.monotonicMs -= 1_000;
      await time.pass(1_000);
      return (await renewalCount('ok')) > renewals;
    });
    await time.pass(17_000);
    waiting.open();
    assert.ok((await asked).ended);
  });

  /** After a call has shown that the ledger fails, renewals are refused at once. */
  async function failedRenewal(): Promise<void> {
    assert.equal((await post(stack, '/v1/chat/completions', chat())).status, 503);
    const failed = await renewalCount('unavailable');
    await time.pass(1_000);
    await eventually('a renewal has failed', async () => (await renewalCount('unavailable')) > failed);
  }

  async function renewalCount(outcome: string): Promise<number> {
    const text = await (await fetch(`${stack.gateway.adminUrl}/metrics`)).text();
    const line = text
      .split('\n')
      .find(
        (each) =>
          /ledger.*_count\{/.test(each) &&
          each.includes('operation="progress"') &&
          each.includes(`outcome="${outcome}"`),
      );
    return Number(line?.split(' ').at(-1) ?? 0);
  }
});
