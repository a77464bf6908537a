/**
 * Errors of the official OpenAI client in addition to test/api/errors/troubleshooting.test.ts: retries, errors within
 * streams, and those of other endpoints.
 */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT } from '../../support/mock-provider.ts';
import { breakAt, gated, json, openaiChat, openaiError, openaiStream, sse } from '../../support/provider-answers.ts';
import { Books, caught, free, GPT, openaiClient, paid } from '../../support/api/sdk.ts';

const MAX_BODY_BYTES = 1_000_000;

let stack: TestStack;
/** With the SDK's own number of retries. */
let client: OpenAI;
/** For responses that the SDK would rightly retry. */
let once: OpenAI;
let books: Books;

beforeAll(async () => {
  stack = await startTestStack({ maxBodyBytes: MAX_BODY_BYTES });
  client = openaiClient(stack);
  once = openaiClient(stack, { maxRetries: 0 });
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const HELLO = { model: 'gpt-model', messages: [{ role: 'user' as const, content: 'hello' }] };

type ErrorClass = new (...args: never[]) => InstanceType<typeof OpenAI.APIError>;

/** The parts of an error that users read: its class, its fields, and an id that the gateway knows. */
async function assertRaises(
  call: PromiseLike<unknown>,
  type: ErrorClass,
  expected: { status: number; type: string; code: string | null; param?: string | null; message: RegExp },
): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await caught(call, type);
  assert.deepEqual(
    { status: error.status, type: error.type, code: error.code, param: error.param },
    { status: expected.status, type: expected.type, code: expected.code, param: expected.param ?? null },
  );
  assert.match(error.message, expected.message);
  assert.match(error.requestID ?? '', /^req_[0-9a-f]{32}$/);
  assert.equal(error.headers?.get('x-request-id'), error.requestID);
  return error;
}

describe('AuthenticationError', () => {
  it("is raised for another provider's key, and for an unknown key when listing models", async () => {
    const expected = { status: 401, type: 'invalid_request_error', code: 'invalid_api_key' };
    await assertRaises(
      openaiClient(stack, { apiKey: 'AIzaSyA-1234567890123456789012345678' }).chat.completions.create(HELLO),
      OpenAI.AuthenticationError,
      { ...expected, message: /start with "sk-"/ },
    );
    await assertRaises(
      openaiClient(stack, { apiKey: KEYS.main.slice(0, -3) }).models.list(),
      OpenAI.AuthenticationError,
      { ...expected, message: /unknown/ },
    );
    await books.check(free(401), free(401));
  });
});

describe('NotFoundError', () => {
  it('is raised for the look-up of an unknown model', async () => {
    await assertRaises(client.models.retrieve('gpt-nothing'), OpenAI.NotFoundError, {
      status: 404,
      type: 'invalid_request_error',
      code: 'model_not_found',
      param: 'model',
      message: /"gpt-nothing" does not exist or you do not have access/,
    });
    await books.check(free(404));
  });
  it('is raised for a base URL without /v1, with that reason', async () => {
    const expected = { status: 404, type: 'invalid_request_error', code: 'not_found' };
    const never = openaiClient(stack, { baseURL: stack.gateway.url });
    await assertRaises(never.chat.completions.create(HELLO), OpenAI.NotFoundError, {
      ...expected,
      message: /base URL.*\/v1/,
    });
    await assertRaises(never.models.list(), OpenAI.NotFoundError, { ...expected, message: /base URL.*\/v1/ });
    await books.check(free(404), free(404));
  });
  it('is raised for a batch of nobody', async () => {
    await assertRaises(client.batches.retrieve('batch_1'), OpenAI.NotFoundError, {
      status: 404,
      type: 'invalid_request_error',
      code: 'not_found',
      message: /no such batch here/,
    });
    await books.check(free(404));
  });
});

describe('BadRequestError', () => {
  const expected = { status: 400, type: 'invalid_request_error' };
  it('is raised for an output limit that is given twice', async () => {
    await assertRaises(
      client.chat.completions.create({ ...HELLO, max_tokens: 1, max_completion_tokens: 2 }),
      OpenAI.BadRequestError,
      { ...expected, code: 'invalid_value', param: 'max_tokens', message: /differ/ },
    );
    await books.check(free(400));
  });
  it("is raised for the provider's own refusal, with its message", async () => {
    stack.openai.script(
      json(
        {
          error: {
            message: 'Temperature must be at most 2.',
            type: 'invalid_request_error',
            param: 'temperature',
            code: 'decimal_above_max_value',
          },
        },
        { status: 400 },
      ),
    );
    await assertRaises(client.chat.completions.create({ ...HELLO, temperature: 9 }), OpenAI.BadRequestError, {
      ...expected,
      code: 'decimal_above_max_value',
      param: 'temperature',
      message: /^400 Temperature must be at most 2\.$/,
    });
    await books.check(free(400));
  });
});

describe('a full key', () => {
  it('is retried by the SDK: the call succeeds once the slot is free', async () => {
    const cost = 10n * GPT.input + GPT.output;
    const waiting = gated(openaiChat());
    stack.openai.script(waiting.reply, openaiChat());
    const running = openaiClient(stack, { apiKey: KEYS.serial }).chat.completions.create(HELLO);
    await waiting.gate.reached;
    let refusals = 0;
    const retrying = openaiClient(stack, {
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
    assert.equal((await retrying.chat.completions.create(HELLO)).choices[0]?.message.content, 'hello');
    assert.equal(refusals, 1);
    await books.check(free(429), paid(cost), paid(cost));
  });
});

describe('InternalServerError', () => {
  it('is raised for a provider that responds with something other than JSON', async () => {
    stack.openai.script({ steps: ['<html>'] });
    await assertRaises(once.chat.completions.create(HELLO), OpenAI.InternalServerError, {
      status: 502,
      type: 'server_error',
      code: 'upstream_error',
      message: /not JSON/,
    });
    await books.check(free(502));
  });
  it('is retried by the SDK, and only the successful call is billed', async () => {
    stack.openai.script(openaiError(500), openaiChat());
    assert.equal((await client.chat.completions.create(HELLO)).choices.length, 1);
    await books.check(free(502), paid(10n * GPT.input + GPT.output));
  });
});

describe('an error within a stream', () => {
  const input = BigInt(Math.ceil(Buffer.byteLength(JSON.stringify({ ...HELLO, stream: true })) / 4) + 3) * GPT.input;
  /** 40 bytes, estimated as ten tokens. */
  const output = 10n * GPT.output;

  it("is raised with the provider's fields, after the chunks before it", async () => {
    const error = sse({
      data: { error: { message: 'The server had an error.', type: 'server_error', param: null, code: null } },
    });
    stack.openai.script(breakAt(openaiStream(['x'.repeat(40), 'y']), 2, error));
    const seen: string[] = [];
    const stream = await client.chat.completions.create({ ...HELLO, stream: true });
    const raised = await caught(
      (async () => {
        for await (const chunk of stream) seen.push(chunk.choices[0]?.delta.content ?? '');
      })(),
      OpenAI.APIError,
    );
    assert.equal(seen.join(''), 'x'.repeat(40));
    assert.deepEqual(
      [raised.message, raised.type, raised.code, raised.param],
      ['The server had an error.', 'server_error', 'upstream_error', null],
    );
    assert.match(raised.requestID ?? '', /^req_/);
    await books.check({ status: 200, costNanoUsd: input + output, source: 'Partial' });
  });
  it('is raised for a stream that is cut off', async () => {
    stack.openai.script(breakAt(openaiStream(['x'.repeat(40), 'y']), 2, CUT));
    const raised = await caught(client.chat.completions.stream(HELLO).finalChatCompletion(), OpenAI.APIError);
    assert.deepEqual([raised.type, raised.code], ['server_error', 'upstream_error']);
    assert.match(raised.message, /broke off/);
    await books.check({ status: 200, costNanoUsd: input + output, source: 'Partial' });
  });
  it('has a response of its own with a status before the first chunk', async () => {
    stack.openai.script({
      headers: { 'content-type': 'text/event-stream' },
      steps: [sse({ data: { error: { message: 'Overloaded', type: 'server_error', code: 'server_is_overloaded' } } })],
    });
    const raised = await caught(once.chat.completions.create({ ...HELLO, stream: true }), OpenAI.InternalServerError);
    assert.equal(raised.code, 'upstream_error');
    await books.check(free(raised.status));
  });
});

describe('a body that is too large', () => {
  for (const [name, bytes] of [
    ['a little', MAX_BODY_BYTES],
    ['far', 30 * MAX_BODY_BYTES],
  ] as const) {
    it(`raises status 413 by ${name}, not a connection error`, async () => {
      const messages = [{ role: 'user' as const, content: 'x'.repeat(bytes) }];
      await assertRaises(client.chat.completions.create({ model: 'gpt-model', messages }), OpenAI.APIError, {
        status: 413,
        type: 'invalid_request_error',
        code: 'request_too_large',
        message: /larger than 1000000 bytes/,
      });
      await books.check(free(413));
    });
  }
  it('raises status 401 for a client with an unknown key', async () => {
    const messages = [{ role: 'user' as const, content: 'x'.repeat(20 * MAX_BODY_BYTES) }];
    await assertRaises(
      openaiClient(stack, { apiKey: 'sk-nobody-has-this-key-00000000000000000000' }).chat.completions.create({
        model: 'gpt-model',
        messages,
      }),
      OpenAI.AuthenticationError,
      { status: 401, type: 'invalid_request_error', code: 'invalid_api_key', message: /unknown/ },
    );
    await books.check(free(401));
  });
});
