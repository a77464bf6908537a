/** Errors as the official OpenAI client raises them: its own classes, every field, and never a storm of retries. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startWorld } from '../../support/api/world.ts';
import type { World } from '../../support/api/world.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT } from '../../support/mock-provider.ts';
import { breakAt, gated, json, openaiChat, openaiError, openaiStream, sse } from '../../support/provider-answers.ts';
import { Books, caught, free, GPT, openaiClient, paid } from '../../support/api/sdk.ts';

const MAX_BODY_BYTES = 1_000_000;

let world: World;
/** With the SDK's own number of retries. */
let client: OpenAI;
/** For answers that the SDK would rightly try again. */
let once: OpenAI;
let books: Books;

beforeAll(async () => {
  world = await startWorld({ maxBodyBytes: MAX_BODY_BYTES });
  client = openaiClient(world);
  once = openaiClient(world, { maxRetries: 0 });
  books = new Books(world);
});
afterAll(() => world.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const HELLO = { model: 'gpt-model', messages: [{ role: 'user' as const, content: 'hello' }] };

type ErrorClass = new (...args: never[]) => InstanceType<typeof OpenAI.APIError>;

/** What a user reads off an error: its class, its fields, and an id that the gateway knows. */
async function assertRaises(
  call: PromiseLike<unknown>, type: ErrorClass,
  expected: { status: number; type: string; code: string | null; param?: string | null; message: RegExp },
): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await caught(call, type);
  assert.deepEqual({ status: error.status, type: error.type, code: error.code, param: error.param },
    { status: expected.status, type: expected.type, code: expected.code, param: expected.param ?? null });
  assert.match(error.message, expected.message);
  assert.match(error.requestID ?? '', /^req_[0-9a-f]{32}$/);
  assert.equal(error.headers?.get('x-request-id'), error.requestID);
  return error;
}

describe('AuthenticationError', () => {
  const cases: Record<string, readonly [string, RegExp]> = {
    'an unknown key': ['sk-nobody-has-this-key-00000000000000000000', /unknown/],
    'another provider\'s key': ['AIzaSyA-1234567890123456789012345678', /start with "sk-"/],
    'a key with a piece missing': [KEYS.main.slice(0, -3), /unknown/],
    'a disabled key': [KEYS.disabled, /disabled/],
    'an expired key': [KEYS.expired, /expired/],
    'a key that its group does not admit': [KEYS.orphan, /not accepted/],
  };
  for (const [name, [apiKey, message]] of Object.entries(cases)) {
    it(name, async () => {
      const expected = { status: 401, type: 'invalid_request_error', code: 'invalid_api_key', message };
      const wrong = openaiClient(world, { apiKey });
      await assertRaises(wrong.chat.completions.create(HELLO), OpenAI.AuthenticationError, expected);
      await assertRaises(
        wrong.chat.completions.create({ ...HELLO, stream: true }), OpenAI.AuthenticationError, expected,
      );
      await assertRaises(wrong.models.list(), OpenAI.AuthenticationError, expected);
      await books.check(free(401), free(401), free(401));
    });
  }
});

describe('NotFoundError', () => {
  it('a model that is not there, or not for this key', async () => {
    const expected = { status: 404, type: 'invalid_request_error', code:
      'model_not_found', param: 'model', message: /"gpt-nothing" does not exist or you do not have access/ };
    await assertRaises(
      client.chat.completions.create({ ...HELLO, model: 'gpt-nothing' }), OpenAI.NotFoundError, expected,
    );
    await assertRaises(client.models.retrieve('gpt-nothing'), OpenAI.NotFoundError, expected);
    await assertRaises(
      openaiClient(world, { apiKey: KEYS.narrow }).chat.completions.create(HELLO), OpenAI.NotFoundError,
      { ...expected, message: /"gpt-model" does not exist/ },
    );
    await books.check(free(404), free(404), free(404));
  });
  it('a base URL without /v1 says so', async () => {
    const expected = { status: 404, type: 'invalid_request_error', code: 'not_found' };
    const never = openaiClient(world, { baseURL: world.gateway.url });
    await assertRaises(
      never.chat.completions.create(HELLO), OpenAI.NotFoundError, { ...expected, message: /base URL.*\/v1/ },
    );
    await assertRaises(never.models.list(), OpenAI.NotFoundError, { ...expected, message: /base URL.*\/v1/ });
    await books.check(free(404), free(404));
  });
  it('an endpoint that the gateway has not', async () => {
    await assertRaises(client.moderations.create({ input: 'hello' }), OpenAI.NotFoundError,
      { status: 404, type: 'invalid_request_error', code: 'not_found', message: /moderation.*chat model/ });
    await books.check(free(404));
  });
});

describe('BadRequestError', () => {
  const expected = { status: 400, type: 'invalid_request_error' };
  it('a base URL with /v1 twice says so', async () => {
    const twice = openaiClient(world, { baseURL: `${world.gateway.url}/v1/v1` });
    await assertRaises(twice.chat.completions.create(HELLO), OpenAI.BadRequestError, {
      ...expected, code: 'invalid_value', message: /base URL.*\/v1 twice|\/v1 twice.*base URL/,
    });
    await books.check(free(400));
  });
  it('a field that is missing, wrong or given twice', async () => {
    const wrong = (more: object): Promise<unknown> => client.chat.completions.create({ ...HELLO, ...more });
    await assertRaises(wrong({ model: undefined }), OpenAI.BadRequestError, {
      ...expected, code: 'invalid_value', param: 'model', message: /"model"/,
    });
    await assertRaises(wrong({ messages: 'hello' }), OpenAI.BadRequestError, {
      ...expected, code: 'invalid_value', param: 'messages', message: /"messages"/,
    });
    await assertRaises(wrong({ max_tokens: 1, max_completion_tokens: 2 }), OpenAI.BadRequestError, {
      ...expected, code: 'invalid_value', param: 'max_tokens', message: /differ/,
    });
    await books.check(free(400), free(400), free(400));
  });
  it('an image for a model that takes text only', async () => {
    const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    await assertRaises(client.chat.completions.create({
      model: 'text-model', messages: [{ role: 'user', content: [image] }],
    }), OpenAI.BadRequestError,
      { ...expected, code: 'unsupported_image', param: 'messages[0].content[0]', message: /text only/ });
    await books.check(free(400));
  });
  it('what has no bounded price', async () => {
    await assertRaises(client.chat.completions.create({ ...HELLO, service_tier: 'priority' }), OpenAI.BadRequestError, {
      ...expected, code: 'not_allowed', param: 'service_tier', message: /service_tier/,
    });
    await assertRaises(client.chat.completions.create({ ...HELLO, web_search_options: {} }), OpenAI.BadRequestError, {
      ...expected, code: 'not_allowed', param: 'web_search_options', message: /web_search_options/,
    });
    await books.check(free(400), free(400));
  });
  it('the provider\'s own refusal, in its words', async () => {
    world.openai.script(json({ error: { message: 'Temperature must be at most 2.', type:
      'invalid_request_error', param: 'temperature', code: 'decimal_above_max_value' } }, { status: 400 }));
    await assertRaises(client.chat.completions.create({ ...HELLO, temperature: 9 }), OpenAI.BadRequestError,
      { ...expected, code:
        'decimal_above_max_value', param: 'temperature', message: /^400 Temperature must be at most 2\.$/ });
    world.openai.script(openaiError(422, 'Unprocessable.'));
    await assertRaises(client.chat.completions.create(HELLO), OpenAI.UnprocessableEntityError, {
      status: 422, type: 'invalid_request_error', code: null, message: /Unprocessable/,
    });
    await books.check(free(400), free(422));
  });
});

describe('money that does not reach', () => {
  it('of the key: RateLimitError with insufficient_quota, and one request only', async () => {
    const poor = openaiClient(world, { apiKey: KEYS.refuse });
    const expected = {
      status: 429, type: 'insufficient_quota', code: 'insufficient_quota', message: /this key's quota of \$0\.01/,
    };
    const error = await assertRaises(poor.chat.completions.create(HELLO), OpenAI.RateLimitError, expected);
    assert.equal(error.headers?.get('retry-after'), null);
    await assertRaises(poor.chat.completions.create({ ...HELLO, stream: true }), OpenAI.RateLimitError, expected);
    await assertRaises(
      poor.images.generate({ model: 'image-model', prompt: 'a cat' }), OpenAI.RateLimitError, expected,
    );
    await books.check(free(429), free(429), free(429));
    assert.equal(world.openai.requests.length, 0);
  });
  it('of the account: status 402, and one request only', async () => {
    const poor = openaiClient(world, { apiKey: KEYS.poor });
    await assertRaises(poor.chat.completions.create({
      ...HELLO, max_tokens: 4000, tools: [{ type: 'function', function: { name: 'f' } }],
    }), OpenAI.APIError,
      { status:
        402, type:
          'insufficient_quota', code: 'credit_balance_exhausted', message: /balance of its account team\/poor/ });
    await books.check(free(402));
  });
});

describe('a full key', () => {
  it('is waited for by the SDK: the call succeeds once the slot is free', async () => {
    const cost = 10n * GPT.input + GPT.output;
    const waiting = gated(openaiChat());
    world.openai.script(waiting.reply, openaiChat());
    const running = openaiClient(world, { apiKey: KEYS.serial }).chat.completions.create(HELLO);
    await waiting.gate.reached;
    let refusals = 0;
    const patient = openaiClient(world, {
      apiKey: KEYS.serial,
      fetch: async (...args) => {
        const response = await fetch(...args);
        if (response.status !== 429) return response;
        refusals += 1;
        waiting.gate.open();
        await running;
        return response;
      },
    });
    assert.equal((await patient.chat.completions.create(HELLO)).choices[0]?.message.content, 'hello');
    assert.equal(refusals, 1);
    await books.check(free(429), paid(cost), paid(cost));
  });
  it('is a RateLimitError that says when to come back', async () => {
    const waiting = gated(openaiChat());
    world.openai.script(waiting.reply);
    const running = openaiClient(world, { apiKey: KEYS.serial }).chat.completions.create(HELLO);
    await waiting.gate.reached;
    const error = await assertRaises(openaiClient(
      world, { apiKey: KEYS.serial, maxRetries: 0 },
    ).chat.completions.create(HELLO), OpenAI.RateLimitError,
      { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded', message: /calls in flight/ });
    assert.equal(error.headers?.get('retry-after'), '1');
    waiting.gate.open();
    await running;
    await books.check(free(429), paid(10n * GPT.input + GPT.output));
  });
});

describe('InternalServerError', () => {
  const expected = { type: 'server_error', code: 'upstream_error' };
  it('a provider that fails, that is overloaded, that does not know the gateway', async () => {
    const answers =
      [[500, 502, /failed/], [529, 503, /overloaded/], [401, 502, /credential/], [404, 502, /model name/]] as const;
    for (const [status, seen, message] of answers) {
      world.openai.script(openaiError(status));
      await assertRaises(
        once.chat.completions.create(HELLO), OpenAI.InternalServerError, { ...expected, status: seen, message },
      );
    }
    world.openai.script({ steps: ['<html>'] });
    await assertRaises(once.chat.completions.create(HELLO), OpenAI.InternalServerError, {
      ...expected, status: 502, message: /not JSON/,
    });
    await assertRaises(
      once.chat.completions.create({ ...HELLO, model: 'unpriced-model' }), OpenAI.InternalServerError,
      { status: 503, type: 'server_error', code: 'model_not_priced', param: 'model', message: /no price/ },
    );
    await books.check(free(502), free(503), free(502), free(502), free(502), free(503));
  });
  it('is tried again by the SDK, and only the call that succeeds is paid', async () => {
    world.openai.script(openaiError(500), openaiChat());
    assert.equal((await client.chat.completions.create(HELLO)).choices.length, 1);
    await books.check(free(502), paid(10n * GPT.input + GPT.output));
  });
  it('the provider\'s own rate limit is a RateLimitError with its retry-after', async () => {
    world.openai.script(openaiError(429, 'Slow down, org-abc.', { headers: { 'retry-after': '7' } }));
    const error = await assertRaises(once.chat.completions.create(HELLO), OpenAI.RateLimitError, {
      status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded', message: /limit the rate/,
    });
    assert.equal(error.headers?.get('retry-after'), '7');
    await books.check(free(429));
  });
});

describe('within a stream', () => {
  const input = BigInt(Math.ceil(Buffer.byteLength(JSON.stringify({ ...HELLO, stream: true })) / 4) + 3) * GPT.input;
  /** 40 bytes, estimated as ten tokens. */
  const output = 10n * GPT.output;

  it('the provider\'s error is raised, with its fields, after what came before it', async () => {
    const error =
      sse({ data: { error: { message: 'The server had an error.', type: 'server_error', param: null, code: null } } });
    world.openai.script(breakAt(openaiStream(['x'.repeat(40), 'y']), 2, error));
    const seen: string[] = [];
    const stream = await client.chat.completions.create({ ...HELLO, stream: true });
    const raised = await caught((async () => { for await (const chunk of stream)
      seen.push(chunk.choices[0]?.delta.content ?? ''); })(), OpenAI.APIError);
    assert.equal(seen.join(''), 'x'.repeat(40));
    assert.deepEqual([
      raised.message, raised.type, raised.code, raised.param,
    ], ['The server had an error.', 'server_error', 'upstream_error', null]);
    assert.match(raised.requestID ?? '', /^req_/);
    await books.check({ status: 200, costNanoUsd: input + output, source: 'Partial' });
  });
  it('a cut is raised too, and is no end', async () => {
    world.openai.script(breakAt(openaiStream(['x'.repeat(40), 'y']), 2, CUT));
    const raised = await caught(client.chat.completions.stream(HELLO).finalChatCompletion(), OpenAI.APIError);
    assert.deepEqual([raised.type, raised.code], ['server_error', 'upstream_error']);
    assert.match(raised.message, /broke off/);
    await books.check({ status: 200, costNanoUsd: input + output, source: 'Partial' });
  });
  it('an error before its first chunk is an answer of its own, with a status', async () => {
    world.openai.script({
      headers: { 'content-type': 'text/event-stream' },
      steps: [sse({ data: { error: { message: 'Overloaded', type: 'server_error', code: 'server_is_overloaded' } } })],
    });
    const raised = await caught(once.chat.completions.create({ ...HELLO, stream: true }), OpenAI.InternalServerError);
    assert.equal(raised.code, 'upstream_error');
    await books.check(free(raised.status));
  });
});

describe('a body that is too large', () => {
  for (const [name, bytes] of [['a little', MAX_BODY_BYTES], ['far', 30 * MAX_BODY_BYTES]] as const) {
    it(`by ${name}: status 413, not a broken connection`, async () => {
      const messages = [{ role: 'user' as const, content: 'x'.repeat(bytes) }];
      await assertRaises(client.chat.completions.create({ model: 'gpt-model', messages }), OpenAI.APIError,
        { status:
          413, type: 'invalid_request_error', code: 'request_too_large', message: /larger than 1000000 bytes/ });
      await books.check(free(413));
    });
  }
  it('of a sender whose key is unknown: status 401', async () => {
    const messages = [{ role: 'user' as const, content: 'x'.repeat(20 * MAX_BODY_BYTES) }];
    await assertRaises(openaiClient(
      world, { apiKey: 'sk-nobody-has-this-key-00000000000000000000' },
    ).chat.completions.create({ model: 'gpt-model', messages }), OpenAI.AuthenticationError,
      { status: 401, type: 'invalid_request_error', code: 'invalid_api_key', message: /unknown/ });
    await books.check(free(401));
  });
});
