/** The official OpenAI client at endpoints that pass through to OpenAI's protocol alone. */
import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { Books, EMBEDDING_TOKEN, openaiClient, paid } from '../../support/api/sdk.ts';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { openaiModerations } from '../../support/provider-answers.ts';

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
