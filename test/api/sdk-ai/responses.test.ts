/**
 * The Vercel AI SDK on Responses (its OpenAI provider's default): a conversation with a tool, streaming, and required
 * settings.
 */
import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startDemoProvider } from '../../../demo/provider.ts';
import type { DemoProvider } from '../../../demo/provider.ts';
import { nothingLeaks, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';

const DEMO = (url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: demo}
spec:
  models: [{name: demo-model, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: only, protocol: OpenAI, baseUrl: "${url}/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: demo}
spec: {models: [{name: demo-model, vendor: Demo, quotaType: Token, modelRatio: "1"}]}
`;

let provider: DemoProvider;
let stack: TestStack;
beforeAll(async () => {
  provider = await startDemoProvider({ host: '127.0.0.1', port: 0, tokenMs: 0 });
  stack = await startTestStack({ files: () => ({ 'demo.yaml': DEMO(provider.url) }) });
});
afterAll(async () => {
  await stack.stop();
  await provider.stop();
});

const weather = tool({
  description: 'The weather of a city.',
  inputSchema: jsonSchema<{ city: string }>({
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  }),
  execute: ({ city }) => Promise.resolve(`rain in ${city}`),
});

/** It refers to earlier items at the provider, unless it is told that nothing is stored there. */
const KEEPS_NOTHING = { openai: { store: false } };

describe("the AI SDK's responses", () => {
  const model = (): ReturnType<ReturnType<typeof createOpenAI>['responses']> =>
    createOpenAI({ apiKey: KEYS.main, baseURL: `${stack.gateway.url}/v1` }).responses('demo-model');

  it('converse with a tool', async () => {
    const { text, steps, totalUsage } = await generateText({
      model: model(),
      prompt: 'use the tool',
      tools: { weather },
      stopWhen: stepCountIs(3),
      providerOptions: KEEPS_NOTHING,
    });
    assert.match(text, /The tool says: .*rain in Paris/);
    assert.equal(steps.length, 2);
    assert.ok((totalUsage.outputTokens ?? 0) > 0);
    assert.ok(nothingLeaks(stack));
  });
  it('stream, with a tool as well', async () => {
    const result = streamText({
      model: model(),
      prompt: 'use the tool',
      tools: { weather },
      stopWhen: stepCountIs(3),
      providerOptions: KEEPS_NOTHING,
    });
    assert.match((await Array.fromAsync(result.textStream)).join(''), /rain in Paris/);
  });
  it('by reference are refused with what to do', async () => {
    const call = generateText({
      model: model(),
      prompt: 'hi',
      providerOptions: { openai: { previousResponseId: 'resp_1' } },
      maxRetries: 0,
    });
    await assert.rejects(
      call,
      (error) => APICallError.isInstance(error) && error.statusCode === 400 && /whole conversation/.test(error.message),
    );
  });
});
