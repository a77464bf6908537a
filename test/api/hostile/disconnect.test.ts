/** A client that disconnects after the last text and before the usage, to get hidden reasoning for nothing. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { gate, STALL } from '../../support/mock-provider.ts';
import { anthropicStream, breakAt, insertAt, openaiStream } from '../../support/provider-answers.ts';
import { chat, get, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { leaveAfter, routeManifest, settledUsage } from './route-world.ts';

const CANCEL = '  clientDisconnect: Cancel';
/** Ten tokens of o200k_base. */
const TEXT = 'The quick brown fox jumps over the lazy dog.';
/** The real cost of the answer: 2000 tokens of reasoning that no client sees. */
const USAGE = { prompt_tokens: 11, completion_tokens: 2010, completion_tokens_details: { reasoning_tokens: 2000 } };
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'disconnect.yaml':
        routeManifest('plain', openaiUrl, { spec: CANCEL }) +
        routeManifest('thinker', openaiUrl, {
          spec: CANCEL,
          channel: 'models: [{name: thinker-model, upstreamName: gpt-5-mini}]',
        }) +
        routeManifest('open', openaiUrl, {
          spec: CANCEL,
          model: 'contextTokens: 100000, maxOutputTokens: 4000, reasoning: Shown',
          channel: 'models: [{name: open-model, upstreamName: gpt-5-mini}]',
        }) +
        routeManifest('closed', openaiUrl, {
          spec: CANCEL,
          model: 'contextTokens: 100000, maxOutputTokens: 4000, reasoning: Hidden',
        }),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

/** Steps of the response: role, text, finish, usage, [DONE]. */
const ANSWER = openaiStream([TEXT], { usage: USAGE });

describe('a client that disconnects after the last text', () => {
  it('pays the exact usage by default, since the gateway reads the stream to its end', async () => {
    const waiting = gate();
    stack.openai.script(insertAt(ANSWER, 2, waiting));
    const id = await leaveAfter(stack, 'lazy dog', chat('gpt-model', { stream: true }));
    waiting.open();
    const usage = await settledUsage(stack, id);
    assert.deepEqual([usage.usage_source, usage.output_tokens], ['Provider', 2010]);
  });
  it('pays the exact usage under Cancel too, if it arrives within 2 s', async () => {
    for (const model of ['plain-model', 'thinker-model']) {
      const waiting = gate();
      stack.openai.script(insertAt(ANSWER, 2, waiting));
      const id = await leaveAfter(stack, 'lazy dog', chat(model, { stream: true }));
      // after an exchange on another connection, the gateway has seen the disconnection
      await get(stack, '/v1/key');
      waiting.open();
      const usage = await settledUsage(stack, id);
      assert.deepEqual([usage.usage_source, usage.output_tokens], ['Provider', 2010]);
    }
  });
  it('pays the hold of a model with hidden reasoning if no usage arrives', async () => {
    for (const model of ['thinker-model', 'closed-model']) {
      stack.openai.script(insertAt(ANSWER, 2, STALL));
      const body = chat(model, { stream: true, max_tokens: 3000 });
      const usage = await settledUsage(stack, await leaveAfter(stack, 'lazy dog', body));
      const bytes = Buffer.byteLength(JSON.stringify(body));
      assert.deepEqual([usage.status, usage.usage_source, usage.output_tokens], ['ClientClosed', 'Partial', 3000]);
      // input: bytes and overhead, in the most expensive class, a cache write
      assert.equal(usage.input_tokens, bytes + 128 + 16);
      const nanoUsd = BigInt(usage.input_tokens) * 3_125n + 3000n * 10_000n;
      assert.equal(usage.cost_usd, `0.${String(nanoUsd).padStart(9, '0').replace(/0+$/, '')}`);
    }
  });
  it('pays the hold of any model that the request asks to reason', async () => {
    stack.openai.script(insertAt(ANSWER, 2, STALL));
    const body = chat('plain-model', { stream: true, max_tokens: 3000, reasoning_effort: 'high' });
    const usage = await settledUsage(stack, await leaveAfter(stack, 'lazy dog', body));
    assert.deepEqual([usage.usage_source, usage.output_tokens], ['Partial', 3000]);
  });
  it('pays the text, counted by a tokenizer, of a model that shows all its output', async () => {
    for (const model of ['plain-model', 'open-model']) {
      stack.openai.script(insertAt(ANSWER, 2, STALL));
      const usage = await settledUsage(stack, await leaveAfter(stack, 'lazy dog', chat(model, { stream: true })));
      assert.deepEqual([usage.status, usage.usage_source, usage.output_tokens], ['ClientClosed', 'Partial', 10]);
    }
  });
});

describe('a client that disconnects in the middle of an answer under Cancel', () => {
  it("aborts the provider's response at the next text, and pays for that too", async () => {
    const waiting = gate();
    stack.openai.script(breakAt(insertAt(openaiStream([TEXT, TEXT, TEXT]), 2, waiting), 4, STALL));
    const id = await leaveAfter(stack, 'lazy dog', chat('plain-model', { stream: true }));
    await get(stack, '/v1/key');
    waiting.open();
    const request = await stack.openai.request(0);
    await request.over;
    assert.equal(request.clientGone, true);
    assert.equal((await settledUsage(stack, id)).output_tokens, 20);
  });
  it('pays the hold before the first text of a model with hidden reasoning', async () => {
    const waiting = gate();
    stack.openai.script({ ...ANSWER, beforeHead: [waiting] });
    const leaving = new AbortController();
    const call = fetch(`${stack.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'x-api-key': 'sk-test-main-000000000000000000000000000000' },
      body: JSON.stringify(chat('thinker-model', { stream: true, max_tokens: 3000 })),
    });
    const gone = assert.rejects(call);
    await waiting.reached;
    const spent = async (): Promise<bigint> => (await stack.gateway.ledger.readKey('team/main', 'Never')).spentNanoUsd;
    const before = await spent();
    leaving.abort();
    await gone;
    await (
      await stack.openai.request(0)
    ).over;
    while ((await spent()) === before)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    assert.ok((await spent()) - before > 3000n * 10_000n);
  });
  it('pays the reported input and the whole output limit where thinking is summarized', async () => {
    await stack.gateway.write(
      'claude.yaml',
      `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: claude}
spec:
  models: [{name: claude-cancel, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: only, protocol: Anthropic, baseUrl: "${stack.anthropic.url}"}]
  clientDisconnect: Cancel
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: claude}
spec: {models: [{name: claude-cancel, vendor: Anthropic, quotaType: Token, modelRatio: "1.5", completionRatio: "5"}]}
`,
    );
    stack.anthropic.script(insertAt(anthropicStream([TEXT]), -2, STALL));
    const body = {
      model: 'claude-cancel',
      stream: true,
      max_tokens: 3000,
      messages: [{ role: 'user', content: 'hello' }],
      thinking: { type: 'enabled', budget_tokens: 2000 },
    };
    const usage = await settledUsage(stack, await leaveAfter(stack, 'lazy dog', body, '/v1/messages'));
    assert.deepEqual([usage.usage_source, usage.input_tokens, usage.output_tokens], ['Partial', 10, 3000]);
  });
});
