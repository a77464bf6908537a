/**
 * The clouds' official clients as oracles, on the same fakes: for one conversation, with tools and an image, streaming
 * and not, the gateway sends what they send, each of them can read the fake's response, and the bill is exact in every
 * dialect.
 */
import assert from 'node:assert/strict';
import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk';
import { AnthropicFoundry } from '@anthropic-ai/foundry-sdk';
import type Anthropic from '@anthropic-ai/sdk';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { OAuth2Client } from 'google-auth-library';
import { AzureOpenAI } from 'openai';
import type OpenAI from 'openai';
import { afterAll, afterEach, beforeEach, describe, it } from 'vitest';
import {
  AWS_SECRET,
  AZURE_KEY,
  chunkFrame,
  cloudRoute,
  eventStreamReply,
  secret,
  serviceAccount,
  token,
} from '../../support/api/clouds.ts';
import { CLAUDE, collect, GPT, paid } from '../../support/api/sdk.ts';
import { checkSignature } from '../../support/api/signature.ts';
import type { RecordedRequest, Reply } from '../../support/mock-provider.ts';
import { anthropicMessage, anthropicStream, openaiChat, openaiStream } from '../../support/provider-answers.ts';
import { startCloudWorld } from '../../support/worlds/clouds.ts';

const BEDROCK_MODEL = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
const VERTEX_MODEL = 'claude-sonnet-4-5@20250929';
const VERTEX = '/v1/projects/my-project/locations/europe-west1';

const { clouds, openai, anthropic, books, beginTest, endTest, stop } = await startCloudWorld({
  realTime: true,
  manifest: ({ cloudUrl, tokensUrl }) =>
    [
      secret('aws', { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: AWS_SECRET }),
      secret('azure', { apiKey: AZURE_KEY }),
      secret('google', { 'key.json': serviceAccount(`${tokensUrl}/token`) }),
      cloudRoute('bedrock', {
        upstream: BEDROCK_MODEL,
        protocol: 'Anthropic',
        lines: `
    platform: BedrockInvoke
    baseUrl: ${cloudUrl}
    auth: {type: AwsSigV4, secretRef: {name: aws}, aws: {region: eu-west-1}}`,
      }),
      cloudRoute('vertex', {
        upstream: VERTEX_MODEL,
        protocol: 'Anthropic',
        lines: `
    platform: VertexPublisher
    baseUrl: ${cloudUrl}${VERTEX}
    auth: {type: GoogleOAuth, secretRef: {name: google, key: key.json}}`,
      }),
      cloudRoute('foundry', {
        upstream: 'my-claude',
        protocol: 'Anthropic',
        lines: `
    baseUrl: ${cloudUrl}/anthropic
    auth: {type: ApiKey, secretRef: {name: azure}}`,
      }),
      cloudRoute('azure', {
        upstream: 'my-gpt',
        protocol: 'OpenAI',
        lines: `
    platform: AzureDeployments
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: azure}}`,
      }),
    ].join(''),
});
clouds.tokens.script(token('google-token'));
afterAll(stop);
beforeEach(beginTest);
afterEach(endTest);

const CITY = { type: 'object' as const, properties: { city: { type: 'string' } } };
const PNG = 'iVBORw0KGgo=';
const CONVERSATION = {
  max_tokens: 50,
  tools: [{ name: 'get_weather', description: 'The weather.', input_schema: CITY }],
  messages: [
    {
      role: 'user' as const,
      content: [
        { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data: PNG } },
        { type: 'text' as const, text: 'where is this?' },
      ],
    },
  ],
} satisfies Omit<Anthropic.MessageCreateParamsNonStreaming, 'model'>;
const CHAT = {
  max_completion_tokens: 50,
  tools: [{ type: 'function' as const, function: { name: 'get_weather', parameters: CITY } }],
  messages: [
    {
      role: 'user' as const,
      content: [{ type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PNG}` } }],
    },
  ],
} satisfies Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model'>;
const USAGE = { input_tokens: 20, cache_read_input_tokens: 100, cache_creation_input_tokens: 30, output_tokens: 7 };
const COST = 20n * CLAUDE.input + 100n * CLAUDE.cached + 30n * CLAUDE.write5m + 7n * CLAUDE.output;
const CALL = [{ id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } }];

/** Frames of InvokeModel. */
function framed(stream: Reply): Reply {
  return eventStreamReply(
    stream.steps.map((step) => {
      const text = typeof step === 'object' && 'bytes' in step ? step.bytes : step;
      assert.ok(typeof text === 'string');
      return chunkFrame(JSON.parse(text.slice(text.indexOf('data: ') + 6)));
    }),
  );
}

const plain = (stream: Reply): Reply => stream;

interface Cloud {
  readonly name: string;
  readonly model: string;
  readonly client: () => Pick<Anthropic, 'messages'>;
  readonly wire: (stream: Reply) => Reply;
  readonly headers: readonly string[];
}

const CLOUDS: readonly Cloud[] = [
  {
    name: 'bedrock',
    model: BEDROCK_MODEL,
    wire: framed,
    headers: ['anthropic-version', 'anthropic-beta', 'x-api-key'],
    client: () =>
      new AnthropicBedrock({
        baseURL: clouds.cloud.url,
        awsRegion: 'eu-west-1',
        awsAccessKey: 'AKIDEXAMPLE',
        awsSecretKey: AWS_SECRET,
        apiKey: null,
        maxRetries: 0,
      }) as unknown as Anthropic,
  },
  {
    name: 'vertex',
    model: VERTEX_MODEL,
    wire: plain,
    headers: ['authorization', 'x-api-key'],
    client: () => {
      const authClient = new OAuth2Client();
      authClient.setCredentials({ access_token: 'google-token', expiry_date: Date.now() + 3_600_000 });
      return new AnthropicVertex({
        baseURL: `${clouds.cloud.url}/v1`,
        region: 'europe-west1',
        projectId: 'my-project',
        authClient,
        maxRetries: 0,
      }) as unknown as Anthropic;
    },
  },
  {
    name: 'foundry',
    model: 'my-claude',
    wire: plain,
    headers: ['x-api-key', 'authorization', 'anthropic-version'],
    client: () =>
      new AnthropicFoundry({
        baseURL: `${clouds.cloud.url}/anthropic`,
        apiKey: AZURE_KEY,
        maxRetries: 0,
      }) as unknown as Anthropic,
  },
];

/**
 * The parts of a request that must be equal; signatures have their own check. The clients send the version of
 * Anthropic's API, and the gateway the one that the clouds document; the clients do not escape a colon of the path, but
 * AWS's own client does.
 */
function essence(request: RecordedRequest, names: readonly string[]): unknown {
  const { path, headers, method } = request;
  const { anthropic_version: version, ...body } = request.json();
  return {
    method,
    path: decodeURIComponent(path),
    body,
    versioned: version !== undefined,
    headers: Object.fromEntries(
      names.map((name) => [name, name === 'anthropic-version' ? headers[name] !== undefined : headers[name]]),
    ),
    type: headers['content-type'],
  };
}

for (const cloud of CLOUDS)
  describe(`Claude at ${cloud.name}`, () => {
    it('gets the same request as from the official client, which reads the same response', async () => {
      clouds.cloud.script(anthropicMessage({ toolUses: CALL, usage: USAGE }));
      const ours = await anthropic.messages.create({ model: cloud.name, ...CONVERSATION });
      const theirs = await cloud.client().messages.create({ model: cloud.model, ...CONVERSATION });
      assert.deepEqual(
        [ours.content, ours.usage, ours.stop_reason],
        [theirs.content, theirs.usage, theirs.stop_reason],
      );
      const [sent, official] = clouds.cloud.requests;
      assert.ok(sent && official);
      assert.deepEqual(essence(sent, cloud.headers), essence(official, cloud.headers));
      if (cloud.name === 'bedrock')
        for (const request of [sent, official])
          checkSignature(request, { secretAccessKey: AWS_SECRET, region: 'eu-west-1', service: 'bedrock' });
      await books.check(paid(COST));
    });
    it('streams the same events as to the official client', async () => {
      clouds.cloud.script(cloud.wire(anthropicStream([], { toolUses: CALL, usage: USAGE })));
      const ours = await anthropic.messages.stream({ model: cloud.name, ...CONVERSATION }).finalMessage();
      const events = await collect(
        await cloud.client().messages.create({
          model: cloud.model,
          ...CONVERSATION,
          stream: true,
        }),
      );
      assert.equal(events.at(-1)?.type, 'message_stop');
      const json = events
        .map((event) =>
          event.type === 'content_block_delta' && event.delta.type === 'input_json_delta'
            ? event.delta.partial_json
            : '',
        )
        .join('');
      assert.deepEqual(
        ours.content.map((block) => block.type === 'tool_use' && block.input),
        [JSON.parse(json)],
      );
      const [sent, official] = clouds.cloud.requests;
      assert.ok(sent && official);
      assert.deepEqual(essence(sent, cloud.headers), essence(official, cloud.headers));
      await books.check(paid(COST));
    });
    it('serves chats and Responses, streaming and not, at the same price', async () => {
      clouds.cloud.script(
        anthropicMessage({ toolUses: CALL, usage: USAGE }),
        cloud.wire(anthropicStream([], { toolUses: CALL, usage: USAGE })),
        anthropicMessage({ toolUses: CALL, usage: USAGE }),
        cloud.wire(anthropicStream([], { toolUses: CALL, usage: USAGE })),
      );
      const chat = await openai.chat.completions.create({ model: cloud.name, ...CHAT });
      const [call] = chat.choices[0]?.message.tool_calls ?? [];
      assert.equal(call?.type === 'function' && call.function.arguments, '{"city":"Oslo"}');
      await collect(await openai.chat.completions.create({ model: cloud.name, ...CHAT, stream: true }));
      const request = {
        model: cloud.name,
        tools: [{ type: 'function' as const, name: 'get_weather', parameters: CITY, strict: false }],
        input: [
          {
            role: 'user' as const,
            content: [
              { type: 'input_image' as const, image_url: `data:image/png;base64,${PNG}`, detail: 'auto' as const },
            ],
          },
        ],
      };
      assert.equal((await openai.responses.create(request)).output[0]?.type, 'function_call');
      const events = await collect(await openai.responses.create({ ...request, stream: true }));
      assert.equal(events.at(-1)?.type, 'response.completed');
      await books.check(paid(COST), paid(COST), paid(COST), paid(COST));
    });
  });

describe("Azure's dated API", () => {
  const usage = { prompt_tokens: 20, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 8 } };
  const cost = 12n * GPT.input + 8n * GPT.cached + 5n * GPT.output;
  const azure = (): AzureOpenAI =>
    new AzureOpenAI({
      endpoint: clouds.cloud.url,
      apiKey: AZURE_KEY,
      apiVersion: '2024-10-21',
      maxRetries: 0,
    });

  it('gets the same request as from the official client', async () => {
    clouds.cloud.script(openaiChat({ usage }));
    const ours = await openai.chat.completions.create({ model: 'azure', ...CHAT });
    const theirs = await azure().chat.completions.create({ model: 'my-gpt', ...CHAT });
    assert.deepEqual([ours.choices, ours.usage], [theirs.choices, theirs.usage]);
    const [sent, official] = clouds.cloud.requests;
    assert.ok(sent && official);
    assert.deepEqual(essence(sent, ['api-key', 'authorization']), essence(official, ['api-key', 'authorization']));
    await books.check(paid(cost));
  });
  it('streams the same events as to the official client, in all dialects at the same price', async () => {
    clouds.cloud.script(openaiStream(['a', 'b'], { usage }));
    const request = { ...CHAT, stream: true, stream_options: { include_usage: true } } as const;
    const ours = await collect(await openai.chat.completions.create({ model: 'azure', ...request }));
    const theirs = await collect(await azure().chat.completions.create({ model: 'my-gpt', ...request }));
    assert.deepEqual(
      ours.map(({ choices }) => choices),
      theirs.map(({ choices }) => choices),
    );
    const [sent, official] = clouds.cloud.requests;
    assert.ok(sent && official);
    assert.deepEqual(essence(sent, ['api-key']), essence(official, ['api-key']));
    await anthropic.messages.stream({ model: 'azure', ...CONVERSATION }).finalMessage();
    await collect(await openai.responses.create({ model: 'azure', input: 'hi', stream: true }));
    await books.check(paid(cost), paid(cost), paid(cost));
  });
});
