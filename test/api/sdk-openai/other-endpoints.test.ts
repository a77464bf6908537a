/** The official OpenAI client at endpoints that pass through to OpenAI's protocol alone. */
import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { Books, collect, EMBEDDING_TOKEN, GPT, openaiClient, paid } from '../../support/api/sdk.ts';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { openaiCompletion, openaiCompletionStream, openaiModerations } from '../../support/provider-answers.ts';

let stack: TestStack;
let client: OpenAI;
let books: Books;

const manifest = (openaiUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: others}
spec:
  models: [{name: seeing-moderation, endpoints: [Embeddings], contextTokens: 8192, inputs: [Text, Image]}]
  channels: [{name: only, protocol: OpenAI, baseUrl: "${openaiUrl}/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: others}
spec: {models: [{name: seeing-moderation, vendor: OpenAI, quotaType: Token, modelRatio: "0.01"}]}
`;

beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'others.yaml': manifest(openaiUrl) }) });
  client = openaiClient(stack);
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

describe('moderations', () => {
  it('are made of a text, of several, and of a text with an image', async () => {
    stack.openai.script(openaiModerations(1, 12), openaiModerations(2, 5), openaiModerations(1, 40));
    const model = 'seeing-moderation';
    const one = await client.moderations.create({ model, input: 'I like cats. '.repeat(9) });
    assert.equal(one.results[0]?.category_scores.violence, 0.01);
    const { results } = await client.moderations.create({ model, input: ['one', 'two'] });
    assert.equal(results.length, 2);
    const input = [
      { type: 'text' as const, text: 'a cat' },
      { type: 'image_url' as const, image_url: { url: 'https://example.com/cat.png' } },
    ];
    await client.moderations.create({ model, input });
    assert.deepEqual((await stack.openai.request(2)).json(), { model, input });
    await books.check(paid(12n * EMBEDDING_TOKEN), paid(5n * EMBEDDING_TOKEN), paid(40n * EMBEDDING_TOKEN));
  });
});

describe('legacy completions', () => {
  const cost = (input: number, output: number): bigint => BigInt(input) * GPT.input + BigInt(output) * GPT.output;

  it('are made of texts and of tokens', async () => {
    stack.openai.script(
      openaiCompletion([' world'], { prompt_tokens: 1, completion_tokens: 2 }),
      openaiCompletion(['a', 'b', 'c', 'd'], { prompt_tokens: 5, completion_tokens: 9 }),
    );
    const { choices, usage } = await client.completions.create({ model: 'gpt-model', prompt: 'hello', stop: '!' });
    assert.deepEqual([choices[0]?.text, usage?.completion_tokens], [' world', 2]);
    const several = await client.completions.create({
      model: 'gpt-model',
      prompt: [
        [1, 2],
        [3, 4, 5],
      ],
      n: 2,
    });
    assert.deepEqual(
      several.choices.map(({ text }) => text),
      ['a', 'b', 'c', 'd'],
    );
    await books.check(paid(cost(1, 2)), paid(cost(5, 9)));
  });
  it('stream, with usage if it is asked for', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    const pieces = [
      [0, 'one'],
      [1, 'uno'],
      [0, ' two'],
      [1, ' due'],
    ] as const;
    stack.openai.script(openaiCompletionStream(pieces, usage));
    const asked = { model: 'gpt-model', prompt: 'count', n: 2, max_tokens: 30, stream: true } as const;
    const silent = await collect(await client.completions.create(asked));
    const told = await collect(await client.completions.create({ ...asked, stream_options: { include_usage: true } }));
    const textOf = (chunks: typeof told, of: number): string =>
      chunks.flatMap(({ choices }) => choices.map(({ index, text }) => (index === of ? text : ''))).join('');
    for (const chunks of [silent, told])
      assert.deepEqual([textOf(chunks, 0), textOf(chunks, 1)], ['one two', 'uno due']);
    assert.ok(silent.every(({ usage: none }) => none === undefined));
    assert.equal(told.at(-1)?.usage?.completion_tokens, 4);
    await books.check(paid(cost(3, 4)), paid(cost(3, 4)));
  });
});
