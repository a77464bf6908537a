/**
 * Unserved calls cost nothing, also if the client disconnected; a call that the provider may have begun costs its
 * input.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { chat, get, nothingLeaks, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT, gate } from '../../support/mock-provider.ts';
import { gated, openaiChat, openaiError } from '../../support/provider-answers.ts';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import type { BookRecord } from '../../support/api/books.ts';
import { ask } from '../../support/api/client.ts';
import { eventually } from '../../support/api/process.ts';

const manifest = (first: string, second: string, silent: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: pair}
spec:
  clientDisconnect: Cancel
  models: [{name: pair-model, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: first, protocol: OpenAI, baseUrl: ${first}/v1, maxConcurrency: 9},
    {name: second, protocol: OpenAI, baseUrl: ${second}/v1, maxConcurrency: 9, priority: 1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: silent}
spec:
  clientDisconnect: Cancel
  models: [{name: silent-model, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: only, protocol: OpenAI, baseUrl: ${silent}/v1, timeouts: {connectSeconds: 60}}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: unserved}
spec:
  models:
  - {name: pair-model, vendor: V, quotaType: Token, modelRatio: "1.25"}
  - {name: silent-model, vendor: V, quotaType: Token, modelRatio: "1.25"}
`;

/** Accepts connections and sends nothing: a TLS handshake with it does not end. */
let silent: Server;
const sockets = new Set<Socket>();
const connected = Promise.withResolvers<void>();
let stack: TestStack;

beforeAll(async () => {
  silent = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    connected.resolve();
  });
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  const { port } = silent.address() as AddressInfo;
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({
      'pair.yaml': manifest(openaiUrl, anthropicUrl, `https://127.0.0.1:${port}`),
    }),
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent.close();
  await (stack as TestStack | undefined)?.stop();
});
afterEach(() => {
  assert.ok(nothingLeaks(stack));
  assertBalanced(readBooks(stack.gateway.dataDir));
  stack.openai.clear();
  stack.anthropic.clear();
});

interface Leaving {
  /** Resolves when the gateway has noticed: a later request has had its response. */
  leave(): Promise<void>;
  /** Returns the call's record, once it has ended. */
  record(): Promise<BookRecord>;
}

/** A call whose client disconnects on request. */
function leavingCall(model: string, stream: boolean): Leaving {
  const known = new Set(readBooks(stack.gateway.dataDir).records.map(({ id }) => id));
  const leaving = new AbortController();
  const asked = ask(stack.gateway.url, {
    path: '/v1/chat/completions',
    key: KEYS.main,
    body: chat(model, { stream }),
    signal: leaving.signal,
  });
  return {
    async leave() {
      leaving.abort();
      for (let n = 0; n < 2; n++) assert.equal((await get(stack, '/v1/models')).status, 200);
    },
    async record() {
      assert.equal((await asked).status, 0);
      return eventually('the call is in the books', () =>
        readBooks(stack.gateway.dataDir).records.find(({ id }) => !known.has(id)),
      );
    },
  };
}

/** Returns the cost for a client that disconnected before any response. */
async function charged(
  call: Leaving,
): Promise<{ readonly status: string; readonly owesInput: boolean; readonly output: number }> {
  const { status, costNanoUsd, input, output } = await call.record();
  return { status, owesInput: costNanoUsd > 0n && costNanoUsd === BigInt(input) * 2_500n, output };
}

describe('a client that disconnects before any response', () => {
  for (const [name, failure] of [
    ['refuses', openaiError(500)],
    ['breaks off', { beforeHead: [CUT], steps: [] }],
  ] as const)
    it(`pays nothing if the provider then ${name} the call`, async () => {
      const waiting = gated(failure);
      stack.openai.script(waiting.reply);
      const call = leavingCall('pair-model', false);
      await waiting.gate.reached;
      await call.leave();
      waiting.gate.open();
      assert.deepEqual(await charged(call), { status: 'ClientClosed', owesInput: false, output: 0 });
      assert.equal(stack.anthropic.requests.length, 0, 'the next channel was tried for nobody');
    });

  it('pays nothing while the next channel is being admitted', async () => {
    stack.openai.script(openaiError(500));
    const { ledger } = stack.gateway;
    const take = ledger.take.bind(ledger);
    const second = gate();
    ledger.take = async (id, limits, load) => {
      if (limits.some((limit) => limit.id.includes('second'))) await second.pass();
      return take(id, limits, load);
    };
    try {
      const call = leavingCall('pair-model', true);
      await second.reached;
      await call.leave();
      second.open();
      assert.deepEqual(await charged(call), { status: 'ClientClosed', owesInput: false, output: 0 });
      assert.deepEqual([stack.openai.requests.length, stack.anthropic.requests.length], [1, 0]);
    } finally {
      Reflect.deleteProperty(ledger, 'takeSlots');
    }
  });

  it('pays nothing while the connection to the provider is being established', async () => {
    const call = leavingCall('silent-model', true);
    await connected.promise;
    await call.leave();
    assert.deepEqual(await charged(call), { status: 'ClientClosed', owesInput: false, output: 0 });
  });

  it('pays the input of a stream that the provider may have begun', async () => {
    const waiting = gated(openaiChat());
    stack.openai.script(waiting.reply);
    const call = leavingCall('pair-model', true);
    await waiting.gate.reached;
    await call.leave();
    assert.deepEqual(await charged(call), { status: 'ClientClosed', owesInput: true, output: 0 });
  });

  it('pays nothing while its hold is being taken, and is not served', async () => {
    const { ledger } = stack.gateway;
    const admit = ledger.admit.bind(ledger);
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    ledger.admit = async (request) => {
      asked.resolve();
      await release.promise;
      return admit(request);
    };
    const closed = (): number => stack.gateway.logs.filter((line) => line.includes('"status":499')).length;
    const [before, closedBefore] = [await spending(stack), closed()];
    try {
      const leaving = new AbortController();
      const call = fetch(`${stack.gateway.url}/v1/chat/completions`, {
        method: 'POST',
        signal: leaving.signal,
        headers: { authorization: `Bearer ${KEYS.main}` },
        body: JSON.stringify(chat('pair-model', { stream: true })),
      });
      const gone = assert.rejects(call);
      await asked.promise;
      leaving.abort();
      await gone;
      // the server has noticed when later requests have had their responses
      for (let n = 0; n < 2; n++) assert.equal((await get(stack, '/v1/models')).status, 200);
    } finally {
      ledger.admit = admit;
      release.resolve();
    }
    await eventually('the call is logged', () => closed() > closedBefore);
    assert.equal(stack.openai.requests.length, 0);
    assert.deepEqual(await spending(stack), before);
  });
});
