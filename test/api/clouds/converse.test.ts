/**
 * Bedrock's Converse: clients of all dialects, signed or with a key. AWS's own SDK reads the fake's responses, and
 * generates the requests that the gateway must send.
 */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime';
import type { ConverseCommandInput } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeEach, describe, it } from 'vitest';
import {
  AWS_SECRET,
  cloudRoute,
  eventFrame,
  eventStreamReply,
  exceptionFrame,
  secret,
} from '../../support/api/clouds.ts';
import { caught, CLAUDE, collect, free, paid } from '../../support/api/sdk.ts';
import { checkSignature } from '../../support/api/signature.ts';
import type { RecordedRequest, Reply } from '../../support/mock-provider.ts';
import { json } from '../../support/provider-answers.ts';
import { startCloudWorld } from '../../support/worlds/clouds.ts';

const NOVA = 'eu.amazon.nova-pro-v1:0';
const SONNET = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
const PROFILE = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123';
const SIGNER = { secretAccessKey: AWS_SECRET, region: 'eu-west-1', service: 'bedrock' };

const { clouds, openai, anthropic, books, beginTest, endTest, stop } = await startCloudWorld({
  manifest: ({ cloudUrl }) =>
    [
      secret('aws', { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: AWS_SECRET }),
      secret('bedrock-key', { apiKey: 'bedrock-api-key-value' }),
      ...[
        ['nova', NOVA],
        ['sonnet', SONNET],
        ['profile', PROFILE],
      ].map(([name = '', upstream = '']) =>
        cloudRoute(name, {
          upstream,
          protocol: 'BedrockConverse',
          lines: `
    baseUrl: ${cloudUrl}
    auth: {type: AwsSigV4, secretRef: {name: aws}, aws: {region: eu-west-1}}`,
        }),
      ),
      cloudRoute('nova-bearer', {
        upstream: NOVA,
        protocol: 'BedrockConverse',
        lines: `
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: bedrock-key}}`,
      }),
    ].join(''),
});
const aws = new BedrockRuntimeClient({
  // the client's own default is HTTP/2
  requestHandler: new NodeHttpHandler(),
  region: 'eu-west-1',
  endpoint: clouds.cloud.url,
  maxAttempts: 1,
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: AWS_SECRET },
});
afterAll(async () => {
  aws.destroy();
  await stop();
});
beforeEach(beginTest);
afterEach(endTest);

const USAGE = {
  inputTokens: 20,
  outputTokens: 7,
  totalTokens: 157,
  cacheReadInputTokens: 100,
  cacheWriteInputTokens: 30,
};
const COST = 20n * CLAUDE.input + 100n * CLAUDE.cached + 30n * CLAUDE.write5m + 7n * CLAUDE.output;
const CITY = { type: 'object' as const, properties: { city: { type: 'string' } } };
const PNG = 'iVBORw0KGgo=';

function answer(content: readonly unknown[], stopReason = 'end_turn', usage: unknown = USAGE): Reply {
  return json({ output: { message: { role: 'assistant', content } }, stopReason, usage, metrics: { latencyMs: 5 } });
}

/** A stream of blocks, each with its start and its deltas. */
function streamed(
  blocks: readonly { readonly start?: unknown; readonly deltas: readonly unknown[] }[],
  stopReason = 'end_turn',
): readonly Buffer[] {
  const events = blocks.flatMap(({ start, deltas }, contentBlockIndex) => [
    ...(start === undefined ? [] : [eventFrame('contentBlockStart', { contentBlockIndex, start })]),
    ...deltas.map((delta) => eventFrame('contentBlockDelta', { contentBlockIndex, delta })),
    eventFrame('contentBlockStop', { contentBlockIndex }),
  ]);
  return [
    eventFrame('messageStart', { role: 'assistant' }),
    ...events,
    eventFrame('messageStop', { stopReason }),
    eventFrame('metadata', { usage: USAGE, metrics: { latencyMs: 5 } }),
  ];
}

const WORDS = [{ deltas: [{ text: 'Bon' }, { text: 'jour 🗼' }] }];
const CALL = [
  {
    start: { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather' } },
    deltas: [{ toolUse: { input: '{"city":' } }, { toolUse: { input: '"Oslo"}' } }],
  },
];

function textOf([item]: readonly OpenAI.Responses.ResponseOutputItem[]): unknown {
  return item?.type === 'message' && item.content[0]?.type === 'output_text' && item.content[0].text;
}

/** The request that AWS's SDK generates for this input. */
async function awsRequest(input: ConverseCommandInput, stream = false): Promise<RecordedRequest> {
  clouds.cloud.clear();
  clouds.cloud.script(stream ? eventStreamReply(streamed(WORDS)) : answer([{ text: 'x' }]));
  await (stream ? aws.send(new ConverseStreamCommand(input)) : aws.send(new ConverseCommand(input)));
  return clouds.cloud.request(0);
}

function assertSame(ours: RecordedRequest, theirs: RecordedRequest): void {
  assert.equal(ours.path, theirs.path);
  assert.deepEqual(ours.json(), theirs.json());
  assert.equal(checkSignature(ours, SIGNER), checkSignature(theirs, SIGNER));
}

describe('a conversation through Converse', () => {
  it("matches the requests of AWS's SDK, with tools, images and reasoning", async () => {
    clouds.cloud.script(answer([{ text: 'hello' }]));
    await anthropic.messages.create({
      model: 'sonnet',
      max_tokens: 2000,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      stop_sequences: ['END'],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      tools: [{ name: 'get_weather', description: 'The weather.', input_schema: CITY }],
      tool_choice: { type: 'auto' },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            { type: 'text', text: 'where?', cache_control: { type: 'ephemeral', ttl: '1h' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
            { type: 'tool_use', id: 'tooluse_1', name: 'get_weather', input: { city: 'Oslo' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'tooluse_1', content: 'rain', is_error: true },
            {
              type: 'document',
              title: 'my_file.pdf',
              source: {
                type: 'base64',
                media_type: 'application/pdf',
                data: 'JVBERi0=',
              },
            },
          ],
        },
      ],
    });
    const ours = await clouds.cloud.request(0);
    const theirs = await awsRequest({
      modelId: SONNET,
      inferenceConfig: { maxTokens: 2000, stopSequences: ['END'] },
      system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default' } }],
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1024 } },
      toolConfig: {
        tools: [
          {
            toolSpec: {
              name: 'get_weather',
              description: 'The weather.',
              inputSchema: { json: CITY },
            },
          },
        ],
      },
      messages: [
        {
          role: 'user',
          content: [
            { image: { format: 'png', source: { bytes: Buffer.from(PNG, 'base64') } } },
            { text: 'where?' },
            { cachePoint: { type: 'default', ttl: '1h' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
            { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather', input: { city: 'Oslo' } } },
          ],
        },
        {
          role: 'user',
          content: [
            { toolResult: { toolUseId: 'tooluse_1', content: [{ text: 'rain' }], status: 'error' } },
            { document: { format: 'pdf', name: 'my file pdf', source: { bytes: Buffer.from('JVBERi0=', 'base64') } } },
            { text: '.' },
          ],
        },
      ],
    });
    assertSame(ours, theirs);
    await books.check(paid(COST));
  });
  it("encodes an inference profile's ARN as one path segment, and hides the account from the response", async () => {
    clouds.cloud.script(answer([{ text: 'hello' }]));
    const message = await anthropic.messages.create({
      model: 'profile',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'hi' }],
    });
    const ours = await clouds.cloud.request(0);
    assert.equal(message.model, 'profile');
    assertSame(
      ours,
      await awsRequest({
        modelId: PROFILE,
        inferenceConfig: { maxTokens: 50 },
        messages: [{ role: 'user', content: [{ text: 'hi' }] }],
      }),
    );
    await books.check(paid(COST));
  });
  it("streams to clients of all dialects, and AWS's SDK can read the stream too", async () => {
    for (const pieceBytes of [undefined, 1, 50]) {
      clouds.cloud.script(eventStreamReply(streamed(WORDS), pieceBytes));
      const message = await anthropic.messages
        .stream({
          model: 'nova',
          max_tokens: 50,
          messages: [{ role: 'user', content: 'hi' }],
        })
        .finalMessage();
      assert.deepEqual(
        message.content.map((block) => block.type === 'text' && block.text),
        ['Bonjour 🗼'],
      );
      assert.deepEqual(
        [message.usage.cache_read_input_tokens, message.usage.output_tokens, message.stop_reason],
        [100, 7, 'end_turn'],
      );
    }
    const chunks = await collect(
      await openai.chat.completions.create({
        model: 'nova',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'hi' }],
      }),
    );
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Bonjour 🗼');
    assert.equal(chunks.at(-1)?.usage?.prompt_tokens, 150);
    const events = await collect(await openai.responses.create({ model: 'nova', input: 'hi', stream: true }));
    const last = events.at(-1);
    assert.equal(last?.type === 'response.completed' && textOf(last.response.output), 'Bonjour 🗼');
    for (const { path } of clouds.cloud.requests) assert.match(path, /nova-pro-v1%3A0\/converse-stream$/);
    await books.check(paid(COST), paid(COST), paid(COST), paid(COST), paid(COST));
    clouds.cloud.clear();
    clouds.cloud.script(eventStreamReply(streamed(WORDS)));
    const { stream } = await aws.send(new ConverseStreamCommand({ modelId: NOVA, messages: [] }));
    const texts = (await collect(stream!)).map((event) => event.contentBlockDelta?.delta?.text ?? '');
    assert.equal(texts.join(''), 'Bonjour 🗼');
  });
  it('calls tools in all dialects', async () => {
    clouds.cloud.script(eventStreamReply(streamed(CALL, 'tool_use')));
    const message = await anthropic.messages
      .stream({
        model: 'nova',
        max_tokens: 50,
        tools: [{ name: 'get_weather', input_schema: CITY }],
        messages: [{ role: 'user', content: 'hi' }],
      })
      .finalMessage();
    const [block] = message.content;
    assert.deepEqual(block?.type === 'tool_use' && [block.id, block.input, message.stop_reason], [
      'tooluse_1',
      { city: 'Oslo' },
      'tool_use',
    ]);
    const chunks = await collect(
      await openai.chat.completions.create({
        model: 'nova',
        stream: true,
        tools: [{ type: 'function', function: { name: 'get_weather', parameters: CITY } }],
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }] },
        ],
      }),
    );
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    assert.equal(calls.map((call) => call.function?.arguments ?? '').join(''), '{"city":"Oslo"}');
    assert.equal(chunks.flatMap(({ choices }) => choices).at(-1)?.finish_reason, 'tool_calls');
    clouds.cloud.clear();
    clouds.cloud.script(
      answer(
        [{ text: 'let me see' }, { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather', input: { city: 'Oslo' } } }],
        'tool_use',
      ),
    );
    const response = await openai.responses.create({
      model: 'nova',
      input: 'hi',
      tools: [{ type: 'function', name: 'get_weather', parameters: CITY, strict: false }],
    });
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ['message', 'function_call'],
    );
    const sent = (await clouds.cloud.request(0)).json();
    assert.deepEqual(sent['toolConfig'], {
      tools: [{ toolSpec: { name: 'get_weather', inputSchema: { json: CITY } } }],
    });
    await books.check(paid(COST), paid(COST), paid(COST));
  });
  it('returns reasoning with its signature, and hidden reasoning', async () => {
    clouds.cloud.script(
      eventStreamReply(
        streamed([
          { deltas: [{ reasoningContent: { text: 'hm' } }, { reasoningContent: { signature: 'c2ln' } }] },
          { deltas: [{ reasoningContent: { redactedContent: 'AAAA' } }] },
          ...WORDS,
        ]),
      ),
    );
    const message = await anthropic.messages
      .stream({
        model: 'sonnet',
        max_tokens: 2000,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        messages: [{ role: 'user', content: 'hi' }],
      })
      .finalMessage();
    assert.deepEqual(message.content.slice(0, 2), [
      { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'AAAA' },
    ]);
    await books.check(paid(COST));
  });
  it('authenticates with a bearer key', async () => {
    clouds.cloud.script(eventStreamReply(streamed(WORDS)));
    await anthropic.messages
      .stream({
        model: 'nova-bearer',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'hi' }],
      })
      .finalMessage();
    const { headers } = await clouds.cloud.request(0);
    assert.deepEqual(
      [headers.authorization, headers['x-api-key'], headers['anthropic-version']],
      ['Bearer bedrock-api-key-value', undefined, undefined],
    );
    await books.check(paid(COST));
  });
});

describe('settings that only some models support', () => {
  const sentFor = async (model: string, fields: object): Promise<Record<string, unknown>> => {
    clouds.cloud.clear();
    clouds.cloud.script(answer([{ text: 'hello' }]));
    const body = { model, max_tokens: 50, messages: [{ role: 'user' as const, content: 'hi' }], ...fields };
    await anthropic.messages.create(body);
    return (await clouds.cloud.request(0)).json();
  };

  it('go into additionalModelRequestFields', async () => {
    const fields = { top_k: 5, output_config: { effort: 'low' } };
    assert.deepEqual((await sentFor('nova', fields))['additionalModelRequestFields'], { inferenceConfig: { topK: 5 } });
    const claude = await sentFor('sonnet', fields);
    assert.deepEqual(
      [claude['additionalModelRequestFields'], claude['outputConfig']],
      [{ top_k: 5 }, { effort: 'low' }],
    );
    await books.check(paid(COST), paid(COST));
  });
  it('exclude cache points for models that refuse them', async () => {
    const cached = {
      system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'f', input_schema: CITY, cache_control: { type: 'ephemeral', ttl: '1h' } }],
    };
    const nova = await sentFor('nova', cached);
    assert.ok(JSON.stringify(nova['system']).includes('cachePoint'));
    assert.ok(!JSON.stringify(nova['toolConfig']).includes('cachePoint'));
    // its name does not reveal the model
    assert.ok(!JSON.stringify(await sentFor('profile', cached)).includes('cachePoint'));
    await books.check(paid(COST), paid(COST));
  });
});

describe('the bill', () => {
  it('counts cache writes for an hour at their price', async () => {
    const call = async (): Promise<unknown> =>
      anthropic.messages.create({
        model: 'sonnet',
        max_tokens: 50,
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'text',
                text: 'hi',
                cache_control: { type: 'ephemeral', ttl: '1h' },
              },
            ],
          },
        ],
      });
    clouds.cloud.script(
      answer([{ text: 'hello' }], 'end_turn', {
        ...USAGE,
        cacheDetails: [
          { ttl: '1h', inputTokens: 10 },
          { ttl: '5m', inputTokens: 20 },
        ],
      }),
    );
    await call();
    await books.check(paid(COST - 10n * CLAUDE.write5m + 10n * CLAUDE.write1h));
  });
});

describe('refusals and errors', () => {
  const ask = async (): Promise<unknown> =>
    anthropic.messages.create({
      model: 'nova',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'hi' }],
    });

  it('reports what a guardrail blocked as a refusal, with its text', async () => {
    clouds.cloud.script(answer([{ text: 'I cannot talk about that.' }], 'guardrail_intervened'));
    const message = await anthropic.messages.create({
      model: 'nova',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.equal(message.stop_reason, 'refusal');
    const completion = await openai.chat.completions.create({
      model: 'nova',
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.equal(completion.choices[0]?.finish_reason, 'content_filter');
    assert.equal(completion.choices[0]?.message.content, 'I cannot talk about that.');
    await books.check(paid(COST), paid(COST));
  });
  it('passes on a refusal of the request, but not one of the signature', async () => {
    clouds.cloud.script(json({ message: 'Malformed input request' }, { status: 400 }));
    assert.match((await caught(ask(), Anthropic.BadRequestError)).message, /Malformed input/);
    clouds.cloud.clear();
    clouds.cloud.script(json({ Message: 'The security token is invalid' }, { status: 403 }));
    assert.doesNotMatch((await caught(ask(), Anthropic.InternalServerError)).message, /security token/);
    clouds.cloud.clear();
    clouds.cloud.script(json({ message: 'Too many requests' }, { status: 429 }));
    await caught(ask(), Anthropic.RateLimitError);
    clouds.cloud.clear();
    clouds.cloud.script(json({ message: 'The provided model identifier is invalid.' }, { status: 400 }));
    assert.match((await caught(ask(), Anthropic.InternalServerError)).message, /its model name/);
    await books.check(free(400), free(502), free(429), free(502));
  });
  it("reports exceptions within a stream in the caller's dialect", async () => {
    clouds.cloud.script(eventStreamReply([exceptionFrame('throttlingException', 'Too many tokens')]));
    const stream = anthropic.messages.stream({
      model: 'nova',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.match((await caught(stream.finalMessage(), Anthropic.APIError)).message, /rate_limit_error/);
    const chat = async (): Promise<unknown> =>
      collect(
        await openai.chat.completions.create({
          model: 'nova',
          stream: true,
          messages: [{ role: 'user', content: 'hi' }],
        }),
      );
    await caught(chat(), OpenAI.APIError);
    await books.check(free(429), free(429));
  });
  it('counts tokens with CountTokens', async () => {
    clouds.cloud.script(json({ inputTokens: 42 }));
    const { input_tokens: tokens } = await anthropic.messages.countTokens({
      model: 'nova',
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.equal(tokens, 42);
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, `/model/${encodeURIComponent(NOVA)}/count-tokens`);
    assert.deepEqual(sent.json(), {
      input: {
        converse: {
          messages: [{ role: 'user', content: [{ text: 'hi' }] }],
          system: [{ text: 'Be brief.' }],
        },
      },
    });
    await books.check(free());
  });
});
