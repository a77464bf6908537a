/** The hold of a running call, and the lowering of its output limit (docs/concepts/money.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS, keyManifest } from '../../support/manifests.ts';
import { anthropicMessage, gated, openaiChat, openaiImages, openaiStream } from '../../support/provider-answers.ts';
import { chat, message, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

// gpt-model, nano-USD per token: input $2.50 a million, as a five-minute cache write 1.25 times that, output $10 a
// million
const INPUT = 3_125n;
const OUTPUT = 10_000n;
const KEY = (name: string): string => `sk-test-${name}-`.padEnd(43, '0');
const QUOTAS = { afford300: '0.0045', afford200: '0.0028', afford3000: '0.034', affordlittle: '0.0028' } as const;
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    files: () => ({
      'dear.yaml': `
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: dear}
spec: {priceRatio: "1.5", allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
${keyManifest('dear', KEY('dear'), 'groupRef: {name: dear}')}
${Object.entries(QUOTAS)
  .map(([name, usd]) =>
    keyManifest(
      name.toLowerCase(),
      KEY(name),
      `quota: {limitUsd: "${usd}"${name === 'afford200' ? ', minOutputTokens: 256' : ''}}`,
    ),
  )
  .join('')}`,
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

/** A key's hold while this call, its only one, is at the provider. */
async function held(path: string, body: unknown, name = 'main'): Promise<bigint> {
  const reply = gated(
    path === '/v1/messages' ? anthropicMessage() : path === '/v1/images/generations' ? openaiImages(1) : openaiChat(),
  );
  (path === '/v1/messages' ? stack.anthropic : stack.openai).script(reply.reply);
  const call = post(stack, path, body, name === 'main' ? {} : { 'x-api-key': KEY(name) });
  await Promise.race([reply.gate.reached, call]);
  const { held: amount } = await spending(stack, name);
  reply.gate.open();
  const answer = await call;
  assert.equal(answer.status, 200, answer.text);
  return amount;
}

const heldByChat = (more: Record<string, unknown>, name?: string): Promise<bigint> =>
  held('/v1/chat/completions', chat('gpt-model', { max_tokens: 100, ...more }), name);
const says = (content: unknown): Record<string, unknown> => ({ messages: [{ role: 'user', content }] });
/** The model's whole context. */
const INPUT_CAP = 100_000n * INPUT;

describe('the hold', () => {
  it('is the output limit that is sent, times n, and the input bounded by its bytes', async () => {
    const plain = await heldByChat({});
    assert.equal((await heldByChat({ max_tokens: 350 })) - plain, 250n * OUTPUT);
    const three = await heldByChat({ n: 3 });
    assert.ok(three - plain >= 200n * OUTPUT && three - plain < 201n * OUTPUT + 20n * INPUT, String(three - plain));
    assert.equal((await heldByChat(says('x'.repeat(1005)))) - plain, 1000n * INPUT, 'hello has 5 bytes');
    assert.equal((await heldByChat(says('é'.repeat(1005)))) - plain, 2005n * INPUT, 'bytes, not characters');
    assert.ok(plain > 100n * OUTPUT + 5n * INPUT && plain < 100n * OUTPUT + 400n * INPUT, String(plain));
  });
  it("uses the model's own limit if the call has none or a higher one", async () => {
    const limited = await heldByChat({ max_tokens: 4000 });
    assert.ok((await heldByChat({ max_tokens: 999_999 })) - limited <= 10n * INPUT);
    const unlimited = await held('/v1/chat/completions', chat('gpt-model'));
    assert.ok(limited - unlimited >= 0n && limited - unlimited <= 40n * INPUT);
  });
  it('counts an image at imageTokens, however large its data', async () => {
    const image = (bytes: number): Record<string, unknown> =>
      says([
        { type: 'text', text: 'hello' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } },
      ]);
    const none = await heldByChat(says([{ type: 'text', text: 'hello' }]));
    const small = await heldByChat(image(400));
    assert.equal(await heldByChat(image(60_000)), small);
    assert.ok(small - none >= 4096n * INPUT && small - none <= 4300n * INPUT, String((small - none) / INPUT));
  });
  it('never exceeds the context as input, which a file by reference fills', async () => {
    const full = await heldByChat(says('x'.repeat(400_000)));
    assert.equal(full, INPUT_CAP + 100n * OUTPUT);
    const file = says([{ type: 'file', file: { file_id: 'file-1' } }]);
    assert.equal(await held('/v1/chat/completions', chat('tools-model', { max_tokens: 100, ...file })), full);
  });
  it('counts one-hour cache writes only where the call asks for them', async () => {
    const asks = (ttl?: string): Record<string, unknown> =>
      message('claude-model', {
        system: [
          {
            type: 'text',
            text: 'x'.repeat(10_000),
            cache_control: { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) },
          },
        ],
      });
    const [five, hour] = [await held('/v1/messages', asks('5m')), await held('/v1/messages', asks('1h'))];
    // $3 a million: 1.25 times for five minutes, twice for an hour; 100 tokens of output at $15
    const [fiveInput, hourInput] = [five - 1_500_000n, hour - 1_500_000n];
    assert.equal(fiveInput * 6_000n, hourInput * 3_750n);
    assert.ok(fiveInput / 3_750n > 10_000n);
  });
  it('uses the ratio of the serving group, rounded up', async () => {
    const plain = await heldByChat({});
    assert.equal(plain % 2n, 1n, 'half as much again is no whole number');
    assert.equal(await heldByChat({}, 'dear'), (plain * 3n + 1n) / 2n);
  });
  it('of images is their price times n', async () => {
    assert.equal(
      await held('/v1/images/generations', { model: 'image-model', prompt: 'x'.repeat(1000), n: 3 }),
      120_000_000n,
    );
  });
  it("uses the limit that is sent: the requested one, or the model's own if that is lower", async () => {
    stack.openai.script(openaiChat());
    await post(stack, '/v1/chat/completions', chat('gpt-model', { max_completion_tokens: 999_999_999 }));
    await post(stack, '/v1/chat/completions', chat('gpt-model'));
    await post(stack, '/v1/chat/completions', chat('gpt-model', { max_tokens: 7 }));
    await post(stack, '/v1/chat/completions', chat('old-field-model', { max_completion_tokens: 7 }));
    const sent = await Promise.all([0, 1, 2, 3].map(async (index) => (await stack.openai.request(index)).json()));
    const limits = sent.map(({ max_tokens: old, max_completion_tokens: current }) => [old, current]);
    assert.deepEqual(limits, [
      [undefined, 4000],
      [undefined, 4000],
      [undefined, 7],
      [7, undefined],
    ]);
  });
});

describe('a limit that is lowered', () => {
  const ask = (
    name: keyof typeof QUOTAS,
    more: Record<string, unknown>,
    path: '/v1/chat/completions' | '/v1/messages' = '/v1/chat/completions',
  ): Promise<Answer> => {
    stack.openai.script(openaiChat());
    stack.anthropic.script(anthropicMessage());
    return post(stack, path, path === '/v1/messages' ? message('claude-model', more) : chat('gpt-model', more), {
      'x-api-key': KEY(name),
    });
  };
  it('is the affordable output, but at least minOutputTokens', async () => {
    const lowered = await ask('afford300', {});
    const limit = Number(lowered.headers.get('x-modelgateway-max-tokens'));
    assert.ok(lowered.status === 200 && limit >= 16 && limit <= 450, `${lowered.status} ${limit}`);
    assert.ok(BigInt(limit) * OUTPUT <= 4_500_000n, 'the limit costs at most the quota');
    assert.equal((await stack.openai.request(0)).json()['max_completion_tokens'], limit);
    const short = await ask('afford200', {});
    assert.deepEqual([short.status, short.headers.get('x-modelgateway-max-tokens')], [429, null]);
    const little = await ask('affordlittle', {});
    const least = Number(little.headers.get('x-modelgateway-max-tokens'));
    assert.ok(little.status === 200 && least >= 16 && least < 256, `${little.status} ${least}`);
    const small = await ask('afford200', { max_tokens: 100 });
    assert.deepEqual(
      [small.status, small.headers.get('x-modelgateway-max-tokens')],
      [200, null],
      'a smaller wish is served as it is',
    );
  });
  it('stays above a thinking budget', async () => {
    const thinking = (budget: number): Record<string, unknown> => ({
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: budget },
    });
    const lowered = await ask('afford3000', thinking(1024), '/v1/messages');
    const limit = Number(lowered.headers.get('x-modelgateway-max-tokens'));
    assert.ok(lowered.status === 200 && limit > 1024 && limit < 4000, `${lowered.status} ${limit}`);
    assert.equal((await ask('afford3000', thinking(3000), '/v1/messages')).status, 429);
  });
  it('is not lowered for tools or an output schema, nor with Refuse', async () => {
    const headers = { 'x-api-key': KEY('afford300') };
    const tools = { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] };
    assert.equal((await post(stack, '/v1/chat/completions', chat('gpt-model', tools), headers)).status, 429);
    assert.equal(
      (
        await post(
          stack,
          '/v1/chat/completions',
          chat('gpt-model', { response_format: { type: 'json_object' } }),
          headers,
        )
      ).status,
      429,
    );
    assert.equal((await post(stack, '/v1/chat/completions', chat(), { 'x-api-key': KEYS.refuse })).status, 429);
  });
  it("is reported in streams and in Anthropic's dialect too", async () => {
    stack.openai.script(openaiStream());
    stack.anthropic.script(anthropicMessage());
    for (const answer of [
      await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }), { 'x-api-key': KEYS.small }),
      await post(stack, '/v1/messages', message('claude-model', { max_tokens: 4000 }), { 'x-api-key': KEYS.small }),
    ]) {
      assert.equal(answer.status, 200, answer.text);
      const told = Number(answer.headers.get('x-modelgateway-max-tokens'));
      assert.ok(told >= 16 && told < 4000, String(told));
    }
    assert.equal(((await stack.anthropic.request(0)).json()['max_tokens'] as number) < 4000, true);
  });
});
