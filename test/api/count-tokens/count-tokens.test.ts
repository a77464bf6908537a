/**
 * Counting tokens: close estimates for models whose provider cannot count, reports of failing providers, and
 * thresholds.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { gate, RESET } from '../../support/mock-provider.ts';
import { anthropicError, json } from '../../support/provider-answers.ts';
import { chat, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';
import { eventually } from '../../support/api/process.ts';

/** A model at two channels of one address. */
const pair = (name: string, url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: ${name}}
spec:
  models: [{name: ${name}-model, contextTokens: 100000, maxOutputTokens: 1000}]
  channels:
  - {name: first, protocol: Anthropic, baseUrl: '${url}'}
  - {name: second, protocol: Anthropic, baseUrl: '${url}', priority: 1}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: ${name}}
spec: {models: [{name: ${name}-model, vendor: Pair, quotaType: Token, modelRatio: "1"}]}
`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ anthropicUrl }) => ({
      'away.yaml': pair('away', 'http://127.0.0.1:9'),
      'pair.yaml': pair('pair', anthropicUrl),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const count = (
  model: string,
  body: object = {
    messages: [
      {
        role: 'user',
        content: 'hello world',
      },
    ],
  },
  headers: Record<string, string> = {},
): Promise<Answer> => post(stack, '/v1/messages/count_tokens', { model, ...body }, headers);
const tokensOf = async (body: object): Promise<number> => (await count('gpt-model', body)).json().input_tokens;

describe('an estimate', () => {
  it('counts words instead of bytes, and is marked as an estimate', async () => {
    const answer = await count('gpt-model', {
      messages: [{ role: 'user', content: 'internationalization '.repeat(500) }],
    });
    assert.equal(answer.headers.get('x-modelgateway-usage'), 'estimated');
    // two tokens each, although its bytes suggest five
    assert.ok(answer.json().input_tokens > 990 && answer.json().input_tokens < 1100, answer.text);
  });
  it('counts everything that a model reads', async () => {
    const words = 'one two three four five six seven eight nine ten';
    const plain = await tokensOf({ messages: [{ role: 'user', content: 'hi' }] });
    const read: readonly object[] = [
      { system: words },
      {
        system: [
          {
            type: 'text',
            text: words,
          },
        ],
      },
      { tools: [{ name: 'f', description: words, input_schema: { type: 'object' } }] },
      { messages: [{ role: 'user', content: [{ type: 'text', text: words }] }] },
      {
        messages: [
          {
            role: 'user',
            content: 'hi',
          },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { words } }] },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: 'hi',
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: words }] },
        ],
      },
      {
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: words }] }],
          },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                title: 't',
                source: { type: 'text', media_type: 'text/plain', data: words },
              },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                source: { type: 'content', content: [{ type: 'text', text: words }] },
              },
            ],
          },
        ],
      },
    ];
    for (const body of read) {
      const tokens = await tokensOf({ messages: [{ role: 'user', content: 'hi' }], ...body });
      assert.ok(tokens >= plain + 9 && tokens < plain + 45, `${tokens} for ${JSON.stringify(body)}`);
    }
  });
  it("counts an image at the model's bound, and does not count its data as text", async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(100_000) } };
    const tokens = await tokensOf({ messages: [{ role: 'user', content: [image, { type: 'text', text: 'see' }] }] });
    assert.ok(tokens > 4096 && tokens < 4120, String(tokens));
  });
  it('leaves out content that the model does not read again', async () => {
    const thought = { type: 'thinking', thinking: 'a long thought '.repeat(100), signature: 's'.repeat(500) };
    assert.ok(
      (await tokensOf({
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: [thought, { type: 'text', text: 'ok' }],
          },
          { role: 'user', content: 'go on' },
        ],
      })) < 40,
    );
  });
  it("may exceed the model's context", async () => {
    assert.ok((await tokensOf({ messages: [{ role: 'user', content: 'word '.repeat(150_000) }] })) > 100_000);
  });
});

describe('a provider that fails to count', () => {
  for (const [what, outcome, reply] of [
    ['says 500', 'status_500', anthropicError(500)],
    ['refuses the credential', 'status_401', anthropicError(401, 'authentication_error')],
    ['has no such endpoint', 'status_404', anthropicError(404, 'not_found_error')],
    ['answers nonsense', 'cut', json({ tokens: 'many' })],
    ['breaks off', 'reset', { beforeHead: [RESET], steps: [] }],
  ] as const) {
    it(`because it ${what} is replaced by an estimate, and reported in log and metrics`, async () => {
      stack.anthropic.script(reply);
      const answer = await count('claude-model');
      assert.deepEqual([answer.status, answer.headers.get('x-modelgateway-usage')], [200, 'estimated']);
      const line = stack.gateway.logs
        .map((text) => JSON.parse(text))
        .find(({ request_id: id }) => id === answer.headers.get('x-request-id'));
      assert.deepEqual(
        line.attempts.map(({ channel, outcome: said }: { channel: string; outcome: string }) => [channel, said]),
        [['anthropic/direct', outcome]],
      );
      const metrics = await (await fetch(`${stack.gateway.adminUrl}/metrics`)).text();
      assert.match(
        metrics,
        new RegExp(`modelgateway_upstream_attempts_total\\{channel="anthropic/direct",outcome="${outcome}"\\} \\d`),
      );
    });
  }
  it("and cannot be reached is replaced by an estimate, and the route's owner is told", async () => {
    assert.equal((await count('away-model')).headers.get('x-modelgateway-usage'), 'estimated');
    const told = stack.gateway.logs
      .map((text) => JSON.parse(text))
      .filter(({ connectError }) => connectError === 'ECONNREFUSED')
      .map(({ route, channel }) => [route, channel]);
    assert.deepEqual(told, [
      ['away', 'first'],
      ['away', 'second'],
    ]);
  });
  it('is the last that is asked if the client leaves', async () => {
    const holding = gate();
    stack.anthropic.script({ beforeHead: [holding], steps: [] });
    const left = new AbortController();
    const counting = fetch(`${stack.gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      signal: left.signal,
      headers: { 'x-api-key': KEYS.main, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'pair-model', messages: [{ role: 'user', content: 'hi' }] }),
    });
    await stack.anthropic.request(0);
    left.abort();
    await assert.rejects(counting);
    const line = await eventually('the line of the count', () =>
      stack.gateway.logs
        .map((text) => JSON.parse(text))
        .find(({ attempts = [] }) => attempts[0]?.channel === 'pair/first'),
    );
    assert.deepEqual(
      line.attempts.map(({ outcome }: { outcome: string }) => outcome),
      ['aborted'],
    );
    holding.open();
  });
  it('has a response that differs from one that counts', async () => {
    stack.anthropic.script(json({ input_tokens: 42 }));
    const answer = await count('claude-model');
    assert.deepEqual([answer.json(), answer.headers.get('x-modelgateway-usage')], [{ input_tokens: 42 }, null]);
  });
});

describe("a key's threshold", () => {
  it('limits token counting with every provider', async () => {
    const holding = gate();
    stack.openai.script({ beforeHead: [holding], steps: ['{"choices":[]}'] });
    const running = post(stack, '/v1/chat/completions', chat(), { 'x-api-key': KEYS.serial });
    await stack.openai.request(0);
    for (const model of ['gpt-model', 'claude-model']) {
      const answer = await count(model, undefined, { 'x-api-key': KEYS.serial });
      assert.deepEqual([answer.status, answer.json().error.type], [429, 'rate_limit_error']);
    }
    holding.open();
    await running;
    assert.equal((await count('gpt-model', undefined, { 'x-api-key': KEYS.serial })).status, 200);
  });
});
