/**
 * Bedrock: Claude through InvokeModel with its binary event stream, signed or with a key, and its OpenAI-compatible
 * paths. The fake verifies each signature as AWS does.
 */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeEach, describe, it } from 'vitest';
import {
  AWS_SECRET,
  chunkFrame,
  cloudRoute,
  eventStreamReply,
  exceptionFrame,
  formOf,
  FEDERATED_TOKEN,
  secret,
} from '../../support/api/clouds.ts';
import { caught, CLAUDE, collect, free, GPT, paid } from '../../support/api/sdk.ts';
import { checkSignature } from '../../support/api/signature.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { anthropicMessage, anthropicStream, json, openaiChat, openaiStream } from '../../support/provider-answers.ts';
import { startCloudWorld } from '../../support/worlds/clouds.ts';

const MODEL = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
const PROFILE = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123';
const POD_SECRET = 'secret-of-the-assumed-role';

const RULES = `betas:
      drop: [context-management-*, tool-examples-2025-10-29]
      rename: [{name: old-name, to: interleaved-thinking-2025-05-14}]
      allow: [files-api-*]`;

const { clouds, openai, anthropic, books, clock, beginTest, endTest, stop } = await startCloudWorld({
  env: ({ tokensUrl, tokenFile }) => ({
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/gateway',
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_ENDPOINT_URL_STS: tokensUrl,
  }),
  manifest: ({ cloudUrl }) =>
    [
      secret('aws', { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: AWS_SECRET }),
      secret('bedrock-key', { apiKey: 'bedrock-api-key-value' }),
      cloudRoute('bedrock-claude', {
        upstream: MODEL,
        protocol: 'Anthropic',
        lines: `
    platform: BedrockInvoke
    baseUrl: ${cloudUrl}
    auth: {type: AwsSigV4, secretRef: {name: aws}, aws: {region: eu-west-1}}`,
      }),
      cloudRoute('bedrock-profile', {
        upstream: PROFILE,
        protocol: 'Anthropic',
        lines: `
    platform: BedrockInvoke
    baseUrl: ${cloudUrl}
    auth: {type: AwsSigV4, aws: {region: eu-west-1}}`,
      }),
      cloudRoute('bedrock-bearer', {
        upstream: MODEL,
        protocol: 'Anthropic',
        lines: `
    platform: BedrockInvoke
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: bedrock-key}}`,
      }),
      cloudRoute('bedrock-rules', {
        upstream: MODEL,
        protocol: 'Anthropic',
        lines: `
    platform: BedrockInvoke
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: bedrock-key}}
    ${RULES}`,
      }),
      cloudRoute('direct-rules', {
        upstream: 'claude',
        protocol: 'Anthropic',
        lines: `
    baseUrl: ${cloudUrl}
    ${RULES}`,
      }),
      cloudRoute('bedrock-openai', {
        upstream: 'global.openai.gpt-5',
        protocol: 'OpenAI',
        lines: `
    baseUrl: ${cloudUrl}/openai/v1
    auth: {type: AwsSigV4, secretRef: {name: aws}, aws: {region: us-east-1, service: bedrock-mantle}}`,
      }),
      cloudRoute('mantle-claude', {
        upstream: 'anthropic.claude-opus',
        protocol: 'Anthropic',
        lines: `
    baseUrl: ${cloudUrl}/anthropic
    auth: {type: ApiKey, secretRef: {name: bedrock-key}, header: Authorization}`,
      }),
    ].join(''),
});

afterAll(stop);
beforeEach(beginTest);
afterEach(() => {
  endTest();
  clouds.tokens.clear();
});

const HELLO = { messages: [{ role: 'user' as const, content: 'hello' }] };
const STATIC = { secretAccessKey: AWS_SECRET, region: 'eu-west-1', service: 'bedrock' };
const USAGE = { input_tokens: 20, cache_read_input_tokens: 100, cache_creation_input_tokens: 30, output_tokens: 7 };
const COST = 20n * CLAUDE.input + 100n * CLAUDE.cached + 30n * CLAUDE.write5m + 7n * CLAUDE.output;
const TOOL = {
  name: 'get_weather',
  description: 'The weather.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};

/** The events of an Anthropic stream in InvokeModel's frames, with the metrics that it adds to the last. */
function framed(stream: Reply, pieceBytes?: number): Reply {
  const events = stream.steps.map((step) => {
    const sent = typeof step === 'object' && 'bytes' in step ? step.bytes : step;
    assert.ok(typeof sent === 'string');
    return JSON.parse(sent.slice(sent.indexOf('data: ') + 6)) as Record<string, unknown>;
  });
  return eventStreamReply(
    events.map((event) =>
      chunkFrame(
        event['type'] === 'message_stop'
          ? { ...event, 'amazon-bedrock-invocationMetrics': { inputTokenCount: 1, outputTokenCount: 1 } }
          : event,
      ),
    ),
    pieceBytes,
  );
}

describe('Claude through InvokeModel', () => {
  it('puts the model into the signed path, and the version into the body', async () => {
    clouds.cloud.script(anthropicMessage({ usage: USAGE }));
    await anthropic.messages.create({ model: 'bedrock-claude', max_tokens: 50, ...HELLO });
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke');
    assert.equal(checkSignature(sent, STATIC), 'AKIDEXAMPLE');
    assert.deepEqual(sent.json(), { max_tokens: 50, ...HELLO, anthropic_version: 'bedrock-2023-05-31' });
    assert.deepEqual([sent.headers['anthropic-version'], sent.headers['x-api-key']], [undefined, undefined]);
    await books.check(paid(COST));
  });
  it('reads the event stream in chunks of any size', async () => {
    for (const pieceBytes of [undefined, 1, 7, 100]) {
      clouds.cloud.script(framed(anthropicStream(['Bon', 'jour 🗼'], { usage: USAGE }), pieceBytes));
      const stream = anthropic.messages.stream({ model: 'bedrock-claude', max_tokens: 50, ...HELLO });
      const message = await stream.finalMessage();
      assert.deepEqual(
        message.content.map((block) => block.type === 'text' && block.text),
        ['Bonjour 🗼'],
      );
      assert.ok(!JSON.stringify(message).includes('amazon-bedrock'));
    }
    const [sent] = clouds.cloud.requests;
    assert.match(sent?.path ?? '', /%3A0\/invoke-with-response-stream$/);
    assert.equal(sent?.json()['stream'], undefined);
    await books.check(paid(COST), paid(COST), paid(COST), paid(COST));
  });
  it('serves tools and images to clients of all dialects', async () => {
    const toolUses = [{ id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } }];
    const image = 'data:image/png;base64,iVBORw0KGgo=';
    clouds.cloud.script(framed(anthropicStream([], { toolUses, usage: USAGE })));
    const message = await anthropic.messages
      .stream({
        model: 'bedrock-claude',
        max_tokens: 50,
        tools: [TOOL],
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'image',
                source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
              },
            ],
          },
        ],
      })
      .finalMessage();
    assert.deepEqual(message.content[0]?.type === 'tool_use' && message.content[0].input, { city: 'Oslo' });
    const chunks = await collect(
      await openai.chat.completions.create({
        model: 'bedrock-claude',
        stream: true,
        tools: [{ type: 'function', function: { name: 'get_weather', parameters: TOOL.input_schema } }],
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: image } }] }],
      }),
    );
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    assert.equal(calls.map((call) => call.function?.arguments ?? '').join(''), '{"city":"Oslo"}');
    const response = await openai.responses.create({
      model: 'bedrock-claude',
      stream: true,
      tools: [{ type: 'function', name: 'get_weather', parameters: TOOL.input_schema, strict: false }],
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: image, detail: 'auto' }] }],
    });
    const done = (await collect(response)).at(-1);
    assert.deepEqual(done?.type === 'response.completed' && done.response.output.map(({ type }) => type), [
      'function_call',
    ]);
    for (const sent of clouds.cloud.requests) checkSignature(sent, STATIC);
    await books.check(paid(COST), paid(COST), paid(COST));
  });
  it('fails the stream at a frame with a wrong checksum', async () => {
    const reply = framed(anthropicStream(['a', 'b'], { usage: USAGE }));
    const [bytes] = reply.steps;
    assert.ok(bytes instanceof Uint8Array);
    bytes[bytes.length - 20] = (bytes.at(-20) ?? 0) ^ 1;
    clouds.cloud.script(reply);
    await caught(
      anthropic.messages.stream({ model: 'bedrock-claude', max_tokens: 50, ...HELLO }).finalMessage(),
      Anthropic.APIError,
    );
    await books.check(free(502));
  });
  it("reports exceptions within a stream as errors of the client's dialect", async () => {
    clouds.cloud.script(eventStreamReply([exceptionFrame('throttlingException', 'Too many tokens')]));
    const error = await caught(
      anthropic.messages.stream({ model: 'bedrock-claude', max_tokens: 50, ...HELLO }).finalMessage(),
      Anthropic.APIError,
    );
    assert.match(error.message, /rate_limit_error/);
    await books.check(free(429));
  });
  it('sends only the beta flags that Bedrock supports, in the body', async () => {
    clouds.cloud.script(anthropicMessage({ usage: USAGE }));
    const { response } = await anthropic.beta.messages
      .create({
        model: 'bedrock-claude',
        max_tokens: 50,
        ...HELLO,
        context_management: { edits: [] },
        betas: [
          'interleaved-thinking-2025-05-14',
          'files-api-2025-04-14',
          'advanced-tool-use-2025-11-20',
          'context-management-2099-01-01',
        ],
      })
      .withResponse();
    const sent = await clouds.cloud.request(0);
    assert.deepEqual(sent.json()['anthropic_beta'], ['interleaved-thinking-2025-05-14', 'tool-search-tool-2025-10-19']);
    assert.equal(sent.json()['context_management'], undefined);
    assert.equal(sent.headers['anthropic-beta'], undefined);
    assert.match(response.headers.get('x-modelgateway-dropped') ?? '', /anthropic-beta=files-api-2025-04-14/);
    await books.check(paid(COST));
  });
  it('counts tokens with CountTokens, and estimates for models without it', async () => {
    clouds.cloud.script(json({ inputTokens: 42 }), json({ message: 'not supported' }, { status: 400 }));
    const { input_tokens: tokens } = await anthropic.messages.countTokens({ model: 'bedrock-claude', ...HELLO });
    assert.equal(tokens, 42);
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, `/model/${encodeURIComponent(MODEL)}/count-tokens`);
    checkSignature(sent, STATIC);
    const { invokeModel } = sent.json()['input'] as { invokeModel: { body: string } };
    assert.deepEqual(JSON.parse(Buffer.from(invokeModel.body, 'base64').toString()), {
      ...HELLO,
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 64_000,
    });
    const estimated = await anthropic.messages.countTokens({ model: 'bedrock-claude', ...HELLO });
    assert.ok(estimated.input_tokens > 0 && estimated.input_tokens !== 42);
    await books.check(free(), free());
  });
  it("applies the channel's own rules for beta flags, and counts dropped flags", async () => {
    clouds.cloud.script(anthropicMessage({ usage: USAGE }));
    for (const model of ['bedrock-rules', 'direct-rules']) {
      const { response } = await anthropic.beta.messages
        .create({
          model,
          max_tokens: 50,
          ...HELLO,
          context_management: { edits: [] },
          tools: [{ ...TOOL, input_examples: [{ city: 'Oslo' }] }],
          output_config: { effort: 'low' },
          betas: ['context-management-2025-06-27', 'files-api-2025-04-14', 'old-name', 'tool-examples-2025-10-29'],
        })
        .withResponse();
      assert.match(
        response.headers.get('x-modelgateway-dropped') ?? '',
        /anthropic-beta=context-management-2025-06-27.*anthropic-beta=tool-examples-2025-10-29/,
      );
    }
    const [bedrock, direct] = clouds.cloud.requests.map((request) => ({ body: request.json(), request }));
    assert.deepEqual(bedrock?.body['anthropic_beta'], ['files-api-2025-04-14', 'interleaved-thinking-2025-05-14']);
    assert.equal(direct?.request.headers['anthropic-beta'], 'files-api-2025-04-14,interleaved-thinking-2025-05-14');
    for (const body of clouds.cloud.requests.map((request) => request.json())) {
      assert.equal(body['context_management'], undefined);
      assert.deepEqual(body['tools'], [TOOL]);
      assert.deepEqual(body['output_config'], { effort: 'low' });
    }
    const metrics = await (await fetch(`${clouds.gateway.adminUrl}/metrics`)).text();
    assert.match(metrics, /dropped_betas_total\{channel="direct-rules\/only",beta="context-management"\} 1/);
    await books.check(paid(COST), paid(COST));
  });
  it('passes on a refusal of the request, but not one of the signature', async () => {
    clouds.cloud.script(json({ message: 'max_tokens: too large' }, { status: 400 }));
    const refused = await caught(
      anthropic.messages.create({ model: 'bedrock-claude', max_tokens: 50, ...HELLO }),
      Anthropic.BadRequestError,
    );
    assert.match(refused.message, /too large/);
    clouds.cloud.script(json({ message: 'The security token included in the request is invalid.' }, { status: 403 }));
    await caught(
      anthropic.messages.create({ model: 'bedrock-claude', max_tokens: 50, ...HELLO }),
      Anthropic.InternalServerError,
    );
    clouds.cloud.script(json({ message: 'The provided model identifier is invalid.' }, { status: 400 }));
    const unknown = anthropic.messages.create({ model: 'bedrock-claude', max_tokens: 50, ...HELLO });
    assert.match((await caught(unknown, Anthropic.InternalServerError)).message, /its model name/);
    await books.check(free(400), free(502), free(502));
  });
  it('sends a bearer key', async () => {
    clouds.cloud.script(anthropicMessage({ usage: USAGE }));
    await anthropic.messages.create({ model: 'bedrock-bearer', max_tokens: 50, ...HELLO });
    const { headers } = await clouds.cloud.request(0);
    assert.deepEqual([headers.authorization, headers['x-api-key']], ['Bearer bedrock-api-key-value', undefined]);
    await books.check(paid(COST));
  });
});

describe("the pod's own identity at AWS", () => {
  const role = (id: string, endMs: number): Reply => ({
    headers: { 'content-type': 'text/xml' },
    steps: [
      `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
      <AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${POD_SECRET}</SecretAccessKey>
      <SessionToken>session-token-value</SessionToken><Expiration>${new Date(endMs).toISOString()}</Expiration>
      </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    ],
  });

  it("assumes its role once, and signs for an inference profile's ARN as one path segment", async () => {
    clouds.tokens.script(role('ASIAPOD', clock.nowMs + 3_600_000));
    clouds.cloud.script(anthropicMessage({ usage: USAGE }));
    for (let call = 0; call < 2; call++)
      await anthropic.messages.create({ model: 'bedrock-profile', max_tokens: 50, ...HELLO });
    assert.equal(clouds.tokens.requests.length, 1);
    const form = formOf(clouds.tokens.requests[0]);
    assert.deepEqual(
      [form['Action'], form['WebIdentityToken'], form['RoleArn']],
      ['AssumeRoleWithWebIdentity', FEDERATED_TOKEN, 'arn:aws:iam::123456789012:role/gateway'],
    );
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, `/model/${encodeURIComponent(PROFILE)}/invoke`);
    assert.equal(checkSignature(sent, { ...STATIC, secretAccessKey: POD_SECRET }), 'ASIAPOD');
    assert.equal(sent.headers['x-amz-security-token'], 'session-token-value');
    assert.ok(clouds.gateway.logs.every((line) => !line.includes(POD_SECRET) && !line.includes('session-token-value')));
    await books.check(paid(COST), paid(COST));
  });
  it('fails the channel if the role cannot be assumed', async () => {
    const refusal = '<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>';
    clouds.tokens.script({ status: 403, steps: [refusal] });
    await caught(
      anthropic.messages.create({ model: 'bedrock-profile', max_tokens: 50, ...HELLO }),
      Anthropic.InternalServerError,
    );
    assert.equal(clouds.cloud.requests.length, 0);
    assert.ok(clouds.gateway.logs.some((line) => line.includes('SIGN_IN:AccessDenied')));
    await books.check(free(502));
  });
});

describe("OpenAI's and Anthropic's own paths on Bedrock", () => {
  it('signs for the service that the channel names, and streams', async () => {
    clouds.cloud.script(
      openaiChat({ usage: { prompt_tokens: 20, completion_tokens: 5 } }),
      openaiStream(['a'], { usage: { prompt_tokens: 20, completion_tokens: 5 } }),
    );
    await openai.chat.completions.create({ model: 'bedrock-openai', ...HELLO });
    await collect(await openai.chat.completions.create({ model: 'bedrock-openai', ...HELLO, stream: true }));
    for (const sent of clouds.cloud.requests) {
      assert.equal(sent.path, '/openai/v1/chat/completions');
      checkSignature(sent, { secretAccessKey: AWS_SECRET, region: 'us-east-1', service: 'bedrock-mantle' });
    }
    await books.check(paid(20n * GPT.input + 5n * GPT.output), paid(20n * GPT.input + 5n * GPT.output));
  });
  it("sends Anthropic's protocol with a bearer key", async () => {
    clouds.cloud.script(anthropicMessage({ usage: USAGE }));
    await anthropic.messages.create({ model: 'mantle-claude', max_tokens: 50, ...HELLO });
    const { path, headers } = await clouds.cloud.request(0);
    assert.deepEqual(
      [path, headers.authorization, headers['x-api-key']],
      ['/anthropic/v1/messages', 'Bearer bedrock-api-key-value', undefined],
    );
    assert.match(String(headers['anthropic-version']), /^20\d\d-/);
    await books.check(paid(COST));
  });
});
