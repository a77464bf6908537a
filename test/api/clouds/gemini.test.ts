/**
 * Gemini's own API, with a key and on Vertex: clients of all dialects. Google's SDK reads the fake's responses, and
 * generates the requests that the gateway must send.
 */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel } from '@google/genai';
import type { GenerateContentParameters } from '@google/genai';
import type OpenAI from 'openai';
import { afterAll, afterEach, beforeEach, describe, it } from 'vitest';
import { cloudRoute, secret, serviceAccount, token } from '../../support/api/clouds.ts';
import { caught, collect, free, paid } from '../../support/api/sdk.ts';
import type { RecordedRequest, Reply } from '../../support/mock-provider.ts';
import { json, sseReply } from '../../support/provider-answers.ts';
import { startCloudWorld } from '../../support/worlds/clouds.ts';

const MODEL = 'gemini-3-pro-preview';

const { clouds, openai, anthropic, books, beginTest, endTest, stop } = await startCloudWorld({
  manifest: ({ cloudUrl, tokensUrl }) =>
    [
      secret('gemini-key', { apiKey: 'google-api-key-value' }),
      secret('google', { apiKey: serviceAccount(`${tokensUrl}/token`) }),
      ...[
        ['gemini', MODEL],
        ['older', 'gemini-2.5-flash'],
      ].map(([name = '', upstream = '']) =>
        cloudRoute(name, {
          upstream,
          protocol: 'Gemini',
          lines: `
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: gemini-key}}`,
        }),
      ),
      cloudRoute('vertex', {
        upstream: MODEL,
        protocol: 'Gemini',
        lines: `
    platform: VertexPublisher
    baseUrl: ${cloudUrl}/v1/projects/p/locations/global
    auth: {type: GoogleOAuth, secretRef: {name: google}}`,
      }),
    ].join(''),
});
const google = new GoogleGenAI({
  apiKey: 'google-api-key-value',
  vertexai: false,
  apiVersion: 'v1beta',
  httpOptions: { baseUrl: clouds.cloud.url },
});
afterAll(stop);
beforeEach(beginTest);
afterEach(endTest);

/** Nano-USD per token. */
const PRICE = { input: 2_000n, cached: 500n, output: 16_000n } as const;
/** 100 prompt tokens were read from the cache, and 8 come from a tool. */
const USAGE = {
  promptTokenCount: 120,
  cachedContentTokenCount: 100,
  toolUsePromptTokenCount: 8,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 30,
  totalTokenCount: 165,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 120 }],
};
const COST = 28n * PRICE.input + 100n * PRICE.cached + 37n * PRICE.output;
const CITY = { type: 'object' as const, properties: { city: { type: 'string' } } };
const PNG = 'iVBORw0KGgo=';
const SIGNATURE = 'c2lnbmF0dXJlLW9mLXRob3VnaHRz';
const TOOL = { name: 'get_weather', description: 'The weather.', input_schema: CITY };
const CHAT_TOOL = { type: 'function' as const, function: { name: 'get_weather', parameters: CITY } };

const WORDS = [[{ text: 'Bon' }], [{ text: 'jour 🗼' }]];
const CALLS = [
  [{ text: 'I should look.', thought: true }],
  [
    { functionCall: { name: 'get_weather', args: { city: 'Oslo' } }, thoughtSignature: SIGNATURE },
    { functionCall: { name: 'get_weather', args: { city: 'Rome' } } },
  ],
];

function chunk(parts: readonly unknown[], finishReason?: string, usage: unknown = USAGE): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
    usageMetadata: usage,
    modelVersion: MODEL,
    responseId: 'r-1',
  };
}

function answer(parts: readonly unknown[], finishReason = 'STOP', usage: unknown = USAGE): Reply {
  return json(chunk(parts, finishReason, usage));
}

/** Chunks with growing usage; the last has the finish reason, and no text. */
function streamed(chunks: readonly (readonly unknown[])[], finishReason = 'STOP'): Reply {
  const partial = { promptTokenCount: 120, candidatesTokenCount: 1, totalTokenCount: 121 };
  return sseReply(...chunks.map((parts) => ({ data: chunk(parts, undefined, partial) })), {
    data: chunk([{ text: '' }], finishReason),
  });
}

/** The request that Google's SDK generates for these parameters. */
async function googleRequest(parameters: GenerateContentParameters, stream = false): Promise<RecordedRequest> {
  clouds.cloud.clear();
  clouds.cloud.script(stream ? streamed(WORDS) : answer([{ text: 'x' }]));
  if (stream) await collect(await google.models.generateContentStream(parameters));
  else await google.models.generateContent(parameters);
  return clouds.cloud.request(0);
}

function assertSame(ours: RecordedRequest, theirs: RecordedRequest): void {
  assert.equal(ours.path, theirs.path);
  assert.deepEqual(ours.json(), theirs.json());
  assert.equal(ours.headers['x-goog-api-key'], theirs.headers['x-goog-api-key']);
}

function textOf([item]: readonly OpenAI.Responses.ResponseOutputItem[]): unknown {
  return item?.type === 'message' && item.content[0]?.type === 'output_text' && item.content[0].text;
}

async function contentsOf(index: number): Promise<readonly { readonly role: string; readonly parts: unknown[] }[]> {
  return (await clouds.cloud.request(index)).json()['contents'] as never;
}

describe('a conversation with Gemini', () => {
  it("matches the requests of Google's SDK, with tools, images and thinking", async () => {
    clouds.cloud.script(answer([{ text: 'hello' }]));
    await anthropic.messages.create({
      model: 'gemini',
      max_tokens: 2000,
      system: 'Be brief.',
      stop_sequences: ['END'],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      tools: [TOOL],
      tool_choice: { type: 'any' },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.jpg' } },
            { type: 'text', text: 'where?' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: `gemini.call.fc-1.${SIGNATURE}` },
            { type: 'tool_use', id: 'fc-1', name: 'get_weather', input: { city: 'Oslo' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'well?' },
            { type: 'tool_result', tool_use_id: 'fc-1', content: 'rain', is_error: true },
          ],
        },
      ],
    });
    const ours = await clouds.cloud.request(0);
    const theirs = await googleRequest({
      model: MODEL,
      contents: [
        {
          role: 'user',
          parts: [
            { inlineData: { mimeType: 'image/png', data: PNG } },
            { fileData: { fileUri: 'https://example.com/a.jpg', mimeType: 'image/jpeg' } },
            { text: 'where?' },
          ],
        },
        {
          role: 'model',
          parts: [
            {
              functionCall: { id: 'fc-1', name: 'get_weather', args: { city: 'Oslo' } },
              thoughtSignature: SIGNATURE,
            },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'fc-1', name: 'get_weather', response: { error: 'rain' } } },
            { text: 'well?' },
          ],
        },
      ],
      config: {
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        maxOutputTokens: 2000,
        stopSequences: ['END'],
        thinkingConfig: { thinkingLevel: ThinkingLevel.LOW, includeThoughts: true },
        tools: [
          {
            functionDeclarations: [
              {
                name: 'get_weather',
                description: 'The weather.',
                parametersJsonSchema: CITY,
              },
            ],
          },
        ],
        toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
      },
    });
    assertSame(ours, theirs);
    await books.check(paid(COST));
  });
  it("streams to clients of all dialects, and Google's SDK can read the stream too", async () => {
    clouds.cloud.script(streamed(WORDS));
    const message = await anthropic.messages
      .stream({
        model: 'gemini',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'hi' }],
      })
      .finalMessage();
    assert.deepEqual(
      message.content.map((block) => block.type === 'text' && block.text),
      ['Bonjour 🗼'],
    );
    assert.deepEqual(
      [message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens],
      [28, 100, 37],
    );
    const chunks = await collect(
      await openai.chat.completions.create({
        model: 'gemini',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'hi' }],
      }),
    );
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Bonjour 🗼');
    assert.deepEqual([chunks.at(-1)?.usage?.prompt_tokens, chunks.at(-1)?.usage?.completion_tokens], [128, 37]);
    const events = await collect(await openai.responses.create({ model: 'gemini', input: 'hi', stream: true }));
    const last = events.at(-1);
    assert.equal(last?.type === 'response.completed' && textOf(last.response.output), 'Bonjour 🗼');
    for (const { path } of clouds.cloud.requests)
      assert.equal(path, `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`);
    await books.check(paid(COST), paid(COST), paid(COST));
    const texts = [];
    for await (const { text } of await google.models.generateContentStream({ model: MODEL, contents: 'hi' }))
      texts.push(text);
    assert.equal(texts.join(''), 'Bonjour 🗼');
  });
  it('returns thought signatures to their calls, for clients of all dialects', async () => {
    const expected = [
      { functionCall: { name: 'get_weather', args: { city: 'Oslo' } }, thoughtSignature: SIGNATURE },
      { functionCall: { name: 'get_weather', args: { city: 'Rome' } } },
    ];
    clouds.cloud.script(streamed(CALLS), streamed(WORDS));
    const question = { role: 'user' as const, content: 'where?' };
    const message = await anthropic.messages
      .stream({
        model: 'gemini',
        max_tokens: 50,
        tools: [TOOL],
        messages: [question],
      })
      .finalMessage();
    const uses = message.content.filter((block) => block.type === 'tool_use');
    assert.deepEqual(
      [uses.map(({ input }) => input), message.stop_reason],
      [[{ city: 'Oslo' }, { city: 'Rome' }], 'tool_use'],
    );
    await anthropic.messages
      .stream({
        model: 'gemini',
        max_tokens: 50,
        tools: [TOOL],
        messages: [
          question,
          { role: 'assistant', content: message.content },
          {
            role: 'user',
            content: uses.map(({ id }) => ({
              type: 'tool_result' as const,
              tool_use_id: id,
              content: 'x',
            })),
          },
        ],
      })
      .finalMessage();
    assert.deepEqual((await contentsOf(1))[1]?.parts, expected);
    assert.deepEqual((await contentsOf(1))[2]?.parts[1], {
      functionResponse: { name: 'get_weather', response: { output: 'x' } },
    });

    clouds.cloud.clear();
    clouds.cloud.script(answer(CALLS.flat()), answer([{ text: 'sunny' }]));
    const completion = await openai.chat.completions.create({
      model: 'gemini',
      tools: [CHAT_TOOL],
      messages: [question],
    });
    const said = completion.choices[0]?.message;
    assert.equal(completion.choices[0]?.finish_reason, 'tool_calls');
    await openai.chat.completions.create({
      model: 'gemini',
      tools: [CHAT_TOOL],
      messages: [
        question,
        said!,
        ...(said?.tool_calls?.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'x' })) ?? []),
      ],
    });
    assert.deepEqual((await contentsOf(1))[1]?.parts, expected);

    clouds.cloud.clear();
    clouds.cloud.script(answer(CALLS.flat()), answer([{ text: 'sunny' }]));
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters: CITY, strict: false }];
    const include = ['reasoning.encrypted_content' as const];
    const response = await openai.responses.create({ model: 'gemini', store: false, include, input: 'where?', tools });
    const results = response.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'x' }]
        : [],
    );
    await openai.responses.create({
      model: 'gemini',
      store: false,
      include,
      tools,
      input: [question, ...(response.output as OpenAI.Responses.ResponseInputItem[]), ...results],
    });
    assert.deepEqual((await contentsOf(1))[1]?.parts, expected);
    await books.check(paid(COST), paid(COST), paid(COST), paid(COST), paid(COST), paid(COST));
  });
  it('skips the signature check for tool calls of other models', async () => {
    for (const model of ['gemini', 'older']) {
      clouds.cloud.clear();
      clouds.cloud.script(answer([{ text: 'sunny' }]));
      await openai.chat.completions.create({
        model,
        tools: [CHAT_TOOL],
        messages: [
          { role: 'user', content: 'where?' },
          {
            role: 'assistant',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: 'x' },
        ],
      });
      const [part] = (await contentsOf(0))[1]?.parts ?? [];
      assert.equal((part as Record<string, unknown>)['thoughtSignature'], 'skip_thought_signature_validator');
    }
    await books.check(paid(COST), paid(COST));
  });
});

describe('Gemini on Vertex', () => {
  it('sends the model and the project in the path, and a token', async () => {
    clouds.tokens.script(token('google-token'));
    clouds.cloud.script(streamed(WORDS));
    const message = await anthropic.messages
      .stream({
        model: 'vertex',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'hi' }],
      })
      .finalMessage();
    assert.equal(message.stop_reason, 'end_turn');
    const { path, headers } = await clouds.cloud.request(0);
    assert.equal(
      path,
      `/v1/projects/p/locations/global/publishers/google/models/${MODEL}:streamGenerateContent?alt=sse`,
    );
    assert.deepEqual([headers.authorization, headers['x-goog-api-key']], ['Bearer google-token', undefined]);
    clouds.cloud.clear();
    clouds.cloud.script(json({ totalTokens: 42 }));
    const { input_tokens: tokens } = await anthropic.messages.countTokens({
      model: 'vertex',
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.equal(tokens, 42);
    const counted = await clouds.cloud.request(0);
    assert.match(counted.path, /models\/gemini-3-pro-preview:countTokens$/);
    assert.deepEqual(counted.json(), { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] });
    await books.check(paid(COST), free());
  });
});

describe('refusals and errors of Gemini', () => {
  const ask = async (): Promise<Anthropic.Message> =>
    anthropic.messages.create({
      model: 'gemini',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'hi' }],
    });
  const failure = (code: number, status: string, details: readonly object[] = []): Reply =>
    json({ error: { code, message: 'The call is not possible.', status, details } }, { status: code });

  it('reports blocked prompts and answers as refusals, and bills what Google reports', async () => {
    clouds.cloud.script(
      json({
        promptFeedback: { blockReason: 'SAFETY' },
        usageMetadata: { promptTokenCount: 20, totalTokenCount: 20 },
      }),
    );
    const blocked = await ask();
    assert.deepEqual([blocked.stop_reason, blocked.content], ['refusal', []]);
    clouds.cloud.clear();
    clouds.cloud.script(answer([{ text: 'I' }], 'SAFETY'));
    const {
      choices: [choice],
    } = await openai.chat.completions.create({
      model: 'gemini',
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.equal(choice?.finish_reason, 'content_filter');
    await books.check(paid(20n * PRICE.input), paid(COST));
  });
  it("uses the client's dialect, and hides a refused key", async () => {
    clouds.cloud.script(failure(400, 'INVALID_ARGUMENT'));
    assert.match((await caught(ask(), Anthropic.BadRequestError)).message, /not possible/);
    clouds.cloud.clear();
    clouds.cloud.script(failure(400, 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }]));
    assert.doesNotMatch((await caught(ask(), Anthropic.InternalServerError)).message, /not possible/);
    clouds.cloud.clear();
    clouds.cloud.script(
      failure(429, 'RESOURCE_EXHAUSTED', [
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '33.2s' },
      ]),
    );
    const limited = await caught(ask(), Anthropic.RateLimitError);
    assert.equal(limited.headers?.get('retry-after'), '34');
    await books.check(free(400), free(502), free(429));
  });
  it('ends a stream with an error, and never completes a stream that was cut off', async () => {
    const stream = (): Promise<unknown> =>
      anthropic.messages
        .stream({
          model: 'gemini',
          max_tokens: 50,
          messages: [{ role: 'user', content: 'hi' }],
        })
        .finalMessage();
    clouds.cloud.script(sseReply({ data: [{ error: { code: 503, message: 'Busy.', status: 'UNAVAILABLE' } }] }));
    assert.match((await caught(stream(), Anthropic.APIError)).message, /overloaded_error/);
    await books.check(free(529));
  });
  it('counts tokens', async () => {
    clouds.cloud.script(json({ totalTokens: 42 }));
    const { input_tokens: tokens } = await anthropic.messages.countTokens({
      model: 'gemini',
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.equal(tokens, 42);
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, `/v1beta/models/${MODEL}:countTokens`);
    assert.deepEqual(sent.json(), {
      generateContentRequest: {
        model: `models/${MODEL}`,
        contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
      },
    });
    await books.check(free());
  });
});
