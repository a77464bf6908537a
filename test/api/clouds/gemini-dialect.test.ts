/** Google's SDK through the gateway to Gemini's own API: streams, tools, images, signatures and token counts. */
import assert from 'node:assert/strict';
import { GoogleGenAI } from '@google/genai';
import type { Content } from '@google/genai';
import { afterAll, afterEach, beforeEach, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import {
  chunkFrame,
  cloudRoute,
  eventFrame,
  eventStreamReply,
  secret,
  serviceAccount,
  token,
} from '../../support/api/clouds.ts';
import { CLAUDE, collect, free, GPT, paid } from '../../support/api/sdk.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { json, sseReply } from '../../support/provider-answers.ts';
import { startCloudWorld } from '../../support/worlds/clouds.ts';

const MODEL = 'gemini-3-pro-preview';
const USAGE = {
  promptTokenCount: 120,
  cachedContentTokenCount: 100,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 30,
  totalTokenCount: 157,
};
const COST = 20n * 2_000n + 100n * 500n + 37n * 16_000n;
const PNG = 'iVBORw0KGgo=';
const SIGNATURE = 'c2lnbmF0dXJlLW9mLXRob3VnaHRz';
const TOOLS = [
  {
    functionDeclarations: [
      {
        name: 'get_weather',
        parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
  },
];

const { clouds, books, beginTest, endTest, stop } = await startCloudWorld({
  realTime: true,
  manifest: ({ cloudUrl, tokensUrl }) =>
    [
      secret('key', { apiKey: 'provider-key-value' }),
      secret('google', { apiKey: serviceAccount(`${tokensUrl}/token`) }),
      cloudRoute('gemini', {
        upstream: MODEL,
        protocol: 'Gemini',
        lines: `
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: key}}`,
      }),
      cloudRoute('azure', {
        upstream: 'my-deployment',
        protocol: 'OpenAI',
        lines: `
    platform: AzureDeployments
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: key}}`,
      }),
      cloudRoute('invoke', {
        upstream: 'anthropic.claude',
        protocol: 'Anthropic',
        lines: `
    platform: BedrockInvoke
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: key}}`,
      }),
      cloudRoute('converse', {
        upstream: 'amazon.nova-pro-v1:0',
        protocol: 'BedrockConverse',
        lines: `
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: key}}`,
      }),
      cloudRoute('vertex', {
        upstream: 'claude-sonnet-4-5@20250929',
        protocol: 'Anthropic',
        lines: `
    platform: VertexPublisher
    baseUrl: ${cloudUrl}/v1/projects/p/locations/global
    auth: {type: GoogleOAuth, secretRef: {name: google}}`,
      }),
    ].join(''),
});
const client = new GoogleGenAI({ apiKey: KEYS.main, httpOptions: { baseUrl: clouds.gateway.url } });
afterAll(stop);
beforeEach(beginTest);
afterEach(endTest);

function chunk(parts: readonly object[], finishReason?: string): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
    usageMetadata: USAGE,
    modelVersion: MODEL,
  };
}

function streamed(...parts: readonly object[]): Reply {
  return sseReply(
    ...parts.map((part, index) => ({ data: chunk([part], index === parts.length - 1 ? 'STOP' : undefined) })),
  );
}

async function sentContents(index: number): Promise<readonly Content[]> {
  return (await clouds.cloud.request(index)).json()['contents'] as readonly Content[];
}

describe("Google's SDK on a channel of Gemini", () => {
  it('streams text, sends images, and is billed for thoughts', async () => {
    clouds.cloud.script(streamed({ text: 'Bon' }, { text: 'jour 🗼' }));
    const chunks = await collect(
      await client.models.generateContentStream({
        model: 'gemini',
        contents: [{ role: 'user', parts: [{ text: 'where?' }, { inlineData: { mimeType: 'image/png', data: PNG } }] }],
      }),
    );
    assert.equal(chunks.map(({ text }) => text ?? '').join(''), 'Bonjour 🗼');
    const { usageMetadata } = chunks.at(-1) ?? assert.fail();
    assert.deepEqual([usageMetadata?.promptTokenCount, usageMetadata?.cachedContentTokenCount], [120, 100]);
    const [{ parts } = assert.fail()] = await sentContents(0);
    assert.deepEqual(parts, [{ text: 'where?' }, { inlineData: { mimeType: 'image/png', data: PNG } }]);
    await books.check(paid(COST));
  });

  it('calls tools over two turns, and returns the signature with its call', async () => {
    const call = { functionCall: { name: 'get_weather', args: { city: 'Oslo' } } };
    clouds.cloud.script(
      streamed({ text: 'I should look.', thought: true }, { ...call, thoughtSignature: SIGNATURE }),
      streamed({ text: 'Rain.' }),
    );
    const chat = client.chats.create({ model: 'gemini', config: { tools: TOOLS } });
    const first = await collect(await chat.sendMessageStream({ message: 'where?' }));
    const [called] = first.flatMap(({ functionCalls }) => functionCalls ?? []);
    assert.deepEqual([called?.name, called?.args], ['get_weather', { city: 'Oslo' }]);
    const result = {
      name: 'get_weather',
      response: { rain: true },
      ...(called?.id !== undefined && { id: called.id }),
    };
    const second = await collect(await chat.sendMessageStream({ message: [{ functionResponse: result }] }));
    assert.equal(second.map(({ text }) => text ?? '').join(''), 'Rain.');
    const contents = await sentContents(1);
    const parts = contents.filter(({ role }) => role === 'model').flatMap(({ parts: own }) => own ?? []);
    assert.deepEqual(parts.at(-1), { ...call, thoughtSignature: SIGNATURE });
    assert.equal(contents.at(-1)?.parts?.[0]?.functionResponse?.name, 'get_weather');
    await books.check(paid(COST), paid(COST));
  });

  it('counts tokens with Gemini', async () => {
    clouds.cloud.script(json({ totalTokens: 42 }));
    assert.equal((await client.models.countTokens({ model: 'gemini', contents: 'hi' })).totalTokens, 42);
    assert.match((await clouds.cloud.request(0)).path, /:countTokens$/);
    await books.check(free());
  });
});

interface Platform {
  readonly path: RegExp;
  readonly cost: bigint;
  /** A tool call, or text. */
  readonly reply: (calls: boolean) => Reply;
}

/** Events of Anthropic's protocol: 20 tokens in, 7 out. */
function anthropicEvents(calls: boolean): readonly (Readonly<Record<string, unknown>> & { readonly type: string })[] {
  const block = calls
    ? { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }
    : { type: 'text', text: '' };
  const delta = calls
    ? { type: 'input_json_delta', partial_json: '{"city":"Oslo"}' }
    : { type: 'text_delta', text: 'Rain.' };
  return [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 20, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: calls ? 'tool_use' : 'end_turn' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ];
}

function chatChunks(calls: boolean): readonly object[] {
  const delta = calls
    ? {
        tool_calls: [
          {
            index: 0,
            id: 'call_1',
            type: 'function',
            function: {
              name: 'get_weather',
              arguments: '{"city":"Oslo"}',
            },
          },
        ],
      }
    : { content: 'Rain.' };
  const chat = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt' };
  return [
    { ...chat, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...chat, choices: [{ index: 0, delta: {}, finish_reason: calls ? 'tool_calls' : 'stop' }] },
    { ...chat, choices: [], usage: { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 } },
  ];
}

function converseFrames(calls: boolean): readonly Buffer[] {
  const start = calls ? { start: { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather' } } } : undefined;
  const delta = calls ? { toolUse: { input: '{"city":"Oslo"}' } } : { text: 'Rain.' };
  return [
    eventFrame('messageStart', { role: 'assistant' }),
    ...(start ? [eventFrame('contentBlockStart', { contentBlockIndex: 0, ...start })] : []),
    eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta }),
    eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
    eventFrame('messageStop', { stopReason: calls ? 'tool_use' : 'end_turn' }),
    eventFrame('metadata', { usage: { inputTokens: 20, outputTokens: 7, totalTokens: 27 }, metrics: { latencyMs: 5 } }),
  ];
}

const CLAUDE_COST = 20n * CLAUDE.input + 7n * CLAUDE.output;
const PLATFORMS: Readonly<Record<string, Platform>> = {
  azure: {
    path: /^\/openai\/deployments\/my-deployment\/chat\/completions\?/,
    cost: 20n * GPT.input + 7n * GPT.output,
    reply: (calls) => sseReply(...chatChunks(calls).map((data) => ({ data })), { data: '[DONE]' }),
  },
  invoke: {
    path: /\/invoke-with-response-stream$/,
    cost: CLAUDE_COST,
    reply: (calls) => eventStreamReply(anthropicEvents(calls).map(chunkFrame)),
  },
  converse: {
    path: /\/converse-stream$/,
    cost: CLAUDE_COST,
    reply: (calls) => eventStreamReply(converseFrames(calls)),
  },
  vertex: {
    path: /:streamRawPredict$/,
    cost: CLAUDE_COST,
    reply: (calls) => sseReply(...anthropicEvents(calls).map((data) => ({ event: data.type, data }))),
  },
};

describe("Google's SDK on another platform", () => {
  it.each(Object.entries(PLATFORMS))('%s: streams, with tools and images', async (model, { path, cost, reply }) => {
    clouds.tokens.script(token('google-token'));
    clouds.cloud.script(reply(true), reply(false));
    const chat = client.chats.create({ model, config: { tools: TOOLS, maxOutputTokens: 100 } });
    const first = await collect(
      await chat.sendMessageStream({
        message: [{ text: 'where?' }, { inlineData: { mimeType: 'image/png', data: PNG } }],
      }),
    );
    const [called] = first.flatMap(({ functionCalls }) => functionCalls ?? []);
    assert.deepEqual([called?.name, called?.args], ['get_weather', { city: 'Oslo' }]);
    const result = {
      name: 'get_weather',
      response: { rain: true },
      ...(called?.id !== undefined && { id: called.id }),
    };
    const second = await collect(await chat.sendMessageStream({ message: [{ functionResponse: result }] }));
    assert.equal(second.map(({ text }) => text ?? '').join(''), 'Rain.');
    assert.equal(second.at(-1)?.usageMetadata?.candidatesTokenCount, 7);
    const sent = await clouds.cloud.request(1);
    assert.match(sent.path, path);
    assert.ok(sent.body.includes(PNG) && sent.body.includes('rain'), 'the image and the result');
    await books.check(paid(cost), paid(cost));
    clouds.tokens.clear();
  });
});
