/** Errors as the official Anthropic client raises them: its own classes, every field, and never a storm of retries. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startWorld } from '../../support/api/world.ts';
import type { World } from '../../support/api/world.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT } from '../../support/mock-provider.ts';
import {
  anthropicError, anthropicMessage, anthropicStream, breakAt, gated, json, sse,
} from '../../support/provider-answers.ts';
import { anthropicClient, Books, caught, CLAUDE, free, paid } from '../../support/api/sdk.ts';

const MAX_BODY_BYTES = 1_000_000;

let world: World;
/** With the SDK's own number of retries. */
let client: Anthropic;
/** For answers that the SDK would rightly try again. */
let once: Anthropic;
let books: Books;

beforeAll(async () => {
  world = await startWorld({ maxBodyBytes: MAX_BODY_BYTES });
  client = anthropicClient(world);
  once = anthropicClient(world, { maxRetries: 0 });
  books = new Books(world);
});
afterAll(() => world.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const HELLO = { model: 'claude-model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };
const SMALL = 10n * CLAUDE.input + CLAUDE.output;

type ErrorClass = new (...args: never[]) => InstanceType<typeof Anthropic.APIError>;

/** What a user reads off an error: its class, its fields, and an id that the gateway knows. */
async function assertRaises(
  call: PromiseLike<unknown>, type: ErrorClass,
  expected: { status: number; type: string; message: RegExp; errorCode?: string },
): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error = await caught(call, type);
  assert.deepEqual({
    status: error.status, type: error.type, errorCode: error.errorCode,
  }, { status: expected.status, type: expected.type, errorCode: expected.errorCode ?? null });
  assert.match(error.apiMessage ?? '', expected.message);
  assert.match(error.requestID ?? '', /^req_[0-9a-f]{32}$/);
  assert.equal((error.error as { request_id?: string }).request_id, error.requestID);
  return error;
}

describe('AuthenticationError', () => {
  const cases: Record<string, readonly [{ apiKey: string | null; authToken?: string }, RegExp]> = {
    'an unknown key': [{ apiKey: 'sk-nobody-has-this-key-00000000000000000000' }, /unknown/],
    'a key of the provider\'s own': [{ apiKey: 'sk-ant-api03-0000000000000000000000000000000' }, /unknown/],
    'a token that is no key': [{ apiKey: null, authToken: 'eyJhbGciOi.eyJzdWIi.c2ln' }, /start with "sk-"/],
    'a disabled key': [{ apiKey: KEYS.disabled }, /disabled/],
    'an expired key': [{ apiKey: KEYS.expired }, /expired/],
    'a key that its group does not admit': [{ apiKey: KEYS.orphan }, /not accepted/],
  };
  for (const [name, [options, message]] of Object.entries(cases)) {
    it(name, async () => {
      const expected = { status: 401, type: 'authentication_error', message };
      const wrong = anthropicClient(world, options);
      await assertRaises(wrong.messages.create(HELLO), Anthropic.AuthenticationError, expected);
      await assertRaises(wrong.messages.stream(HELLO).finalMessage(), Anthropic.AuthenticationError, expected);
      await assertRaises(wrong.messages.countTokens({
        model: 'claude-model', messages: HELLO.messages,
      }), Anthropic.AuthenticationError, expected);
      await books.check(free(401), free(401), free(401));
    });
  }
});

describe('NotFoundError', () => {
  it('a model that is not there, or not for this key', async () => {
    const expected = { status: 404, type: 'not_found_error', message: /does not exist or you do not have access/ };
    await assertRaises(
      client.messages.create({ ...HELLO, model: 'claude-nothing' }), Anthropic.NotFoundError, expected,
    );
    await assertRaises(
      anthropicClient(world, { apiKey: KEYS.narrow }).messages.create(HELLO), Anthropic.NotFoundError, expected,
    );
    await books.check(free(404), free(404));
  });
  it('a model that is looked up', async () => {
    const error = await caught(client.models.retrieve('claude-nothing'), Anthropic.NotFoundError);
    assert.match(error.message, /claude-nothing/);
    assert.match(error.requestID ?? '', /^req_/);
    await books.check(free(404));
  });
});

describe('BadRequestError', () => {
  const expected = { status: 400, type: 'invalid_request_error' };
  it('a base URL with /v1, which the SDK adds itself, says so', async () => {
    const twice = anthropicClient(world, { baseURL: `${world.gateway.url}/v1` });
    await assertRaises(twice.messages.create(HELLO), Anthropic.BadRequestError, {
      ...expected, message: /\/v1 twice.*base URL/,
    });
    await books.check(free(400));
  });
  it('a field that is missing or wrong', async () => {
    const wrong = (more: object): Promise<unknown> => client.messages.create({ ...HELLO, ...more });
    await assertRaises(
      wrong({ messages: undefined }), Anthropic.BadRequestError, { ...expected, message: /"messages"/ },
    );
    await assertRaises(wrong({ max_tokens: 1.5 }), Anthropic.BadRequestError, { ...expected, message: /"max_tokens"/ });
    await books.check(free(400), free(400));
  });
  it('an image for a model that takes text only', async () => {
    const image = { type:
      'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'iVBORw0KGgo=' } };
    await assertRaises(client.messages.create({
      ...HELLO, model: 'text-model', messages: [{ role: 'user', content: [image] }],
    }), Anthropic.BadRequestError, { ...expected, message: /text only/ });
    await books.check(free(400));
  });
  it('what has no bounded price', async () => {
    await assertRaises(client.messages.create({
      ...HELLO, tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    }), Anthropic.BadRequestError, { ...expected, message: /tools\[0\]\.type/ });
    await books.check(free(400));
  });
  it('a conversation that the provider should keep, with the code that the SDK makes a class of', async () => {
    const thread = client.beta.messages.thread({ model: 'claude-model', max_tokens: 100 });
    await assertRaises(thread.send({ role: 'user', content: 'hello' }), Anthropic.BadRequestError, {
      ...expected, message: /"thread"/, errorCode: 'thread_unsupported_request',
    });
    await books.check(free(400));
  });
  it('the provider\'s own refusal, in its words and with its code', async () => {
    world.anthropic.script(anthropicError(400, 'invalid_request_error', 'max_tokens: too many'));
    await assertRaises(
      client.messages.create(HELLO), Anthropic.BadRequestError, { ...expected, message: /^max_tokens: too many$/ },
    );
    world.anthropic.script(json({ type: 'error', error: { type:
      'invalid_request_error', message: 'No.', details: { error_code: 'tool_name_conflict' } } }, { status: 400 }));
    await assertRaises(client.messages.create(HELLO), Anthropic.BadRequestError, {
      ...expected, message: /^No\.$/, errorCode: 'tool_name_conflict',
    });
    world.anthropic.script(anthropicError(413, 'request_too_large', 'Too large for us.'));
    await assertRaises(client.messages.create(HELLO), Anthropic.ContentTooLargeError, {
      status: 413, type: 'request_too_large', message: /Too large for us/,
    });
    await books.check(free(400), free(400), free(413));
  });
});

describe('money that does not reach', () => {
  it('of the key: RateLimitError, and one request only', async () => {
    const poor = anthropicClient(world, { apiKey: KEYS.refuse });
    const expected = { status: 429, type: 'rate_limit_error', message: /this key's quota of \$0\.01/ };
    const error =
      await assertRaises(poor.messages.create({ ...HELLO, max_tokens: 4000 }), Anthropic.RateLimitError, expected);
    assert.equal(error.headers?.get('x-should-retry'), 'false');
    await assertRaises(
      poor.messages.stream({ ...HELLO, max_tokens: 4000 }).finalMessage(), Anthropic.RateLimitError, expected,
    );
    await books.check(free(429), free(429));
    assert.equal(world.anthropic.requests.length, 0);
  });
  it('of the account: PaymentRequiredError, and one request only', async () => {
    await assertRaises(anthropicClient(world, { apiKey: KEYS.poor }).messages.create({
      ...HELLO, max_tokens: 4000,
    }), Anthropic.PaymentRequiredError,
      { status: 402, type: 'billing_error', message: /balance of its account team\/poor/ });
    await books.check(free(402));
  });
});

describe('a full key', () => {
  it('is waited for by the SDK: the call succeeds once the slot is free', async () => {
    const waiting = gated(anthropicMessage());
    world.anthropic.script(waiting.reply, anthropicMessage());
    const running = anthropicClient(world, { apiKey: KEYS.serial }).messages.create(HELLO);
    await waiting.gate.reached;
    let refusals = 0;
    const patient = anthropicClient(world, {
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
    assert.equal((await patient.messages.create(HELLO)).stop_reason, 'end_turn');
    assert.equal(refusals, 1);
    await books.check(free(429), paid(SMALL), paid(SMALL));
  });
});

describe('a provider that fails', () => {
  it('is an OverloadedError or an InternalServerError', async () => {
    world.anthropic.script(anthropicError(529, 'overloaded_error', 'Overloaded'));
    await assertRaises(once.messages.create(HELLO), Anthropic.OverloadedError, {
      status: 529, type: 'overloaded_error', message: /overloaded/,
    });
    for (const [status, message] of [
      [500, /failed/], [401, /credential/], [402, /credential/], [404, /model name/],
    ] as const) {
      world.anthropic.script(anthropicError(status));
      await assertRaises(
        once.messages.create(HELLO), Anthropic.InternalServerError, { status: 502, type: 'api_error', message },
      );
    }
    await assertRaises(once.messages.create({ ...HELLO, model: 'unpriced-model' }), Anthropic.ServiceUnavailableError, {
      status: 503, type: 'api_error', message: /no price/,
    });
    await books.check(free(529), free(502), free(502), free(502), free(502), free(503));
  });
  it('is tried again by the SDK, and only the call that succeeds is paid', async () => {
    world.anthropic.script(anthropicError(529, 'overloaded_error'), anthropicStream());
    assert.equal(await client.messages.stream(HELLO).finalText(), 'hello');
    await books.check(free(529), paid(SMALL + CLAUDE.output));
  });
  it('for its own rate limit is a RateLimitError with its retry-after', async () => {
    world.anthropic.script(anthropicError(
      429, 'rate_limit_error', 'This request would exceed your organization\'s limit.', { 'retry-after': '7' },
    ));
    const error = await assertRaises(once.messages.create(HELLO), Anthropic.RateLimitError, {
      status: 429, type: 'rate_limit_error', message: /limit the rate/,
    });
    assert.equal(error.headers?.get('retry-after'), '7');
    await books.check(free(429));
  });
});

describe('within a stream', () => {
  // the input was told at the start; 40 bytes of output are estimated as ten tokens
  const seen = { status: 200, costNanoUsd: 10n * CLAUDE.input + 10n * CLAUDE.output, source: 'Partial' } as const;

  it('the provider\'s error is raised with its type, after what came before it', async () => {
    const error =
      sse({ event: 'error', data: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } });
    world.anthropic.script(breakAt(anthropicStream(['x'.repeat(40), 'y']), 3, error));
    const texts: string[] = [];
    const raised = await caught(
      client.messages.stream(HELLO).on('text', (text) => texts.push(text)).finalMessage(), Anthropic.APIError,
    );
    assert.deepEqual(texts, ['x'.repeat(40)]);
    assert.deepEqual([raised.type, raised.apiMessage], ['overloaded_error', 'Overloaded']);
    assert.match(raised.requestID ?? '', /^req_/);
    assert.equal((raised.error as { request_id?: string } | undefined)?.request_id, raised.requestID);
    await books.check(seen);
  });
  it('a cut is raised too, and is no end', async () => {
    world.anthropic.script(breakAt(anthropicStream(['x'.repeat(40), 'y']), 3, CUT));
    const raised = await caught(client.messages.stream(HELLO).finalMessage(), Anthropic.APIError);
    assert.deepEqual([raised.type, raised.status], ['api_error', undefined]);
    assert.match(raised.apiMessage ?? '', /broke off/);
    await books.check(seen);
  });
});

describe('a body that is too large', () => {
  for (const [name, bytes] of [['a little', MAX_BODY_BYTES], ['far', 30 * MAX_BODY_BYTES]] as const) {
    it(`by ${name}: ContentTooLargeError, not a broken connection`, async () => {
      await assertRaises(client.messages.create({
        ...HELLO, messages: [{ role: 'user', content: 'x'.repeat(bytes) }],
      }), Anthropic.ContentTooLargeError,
        { status: 413, type: 'request_too_large', message: /larger than 1000000 bytes/ });
      await books.check(free(413));
    });
  }
});
