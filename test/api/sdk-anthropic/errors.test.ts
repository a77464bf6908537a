/**
 * Errors of the official Anthropic client in addition to test/api/errors/troubleshooting.test.ts: retries, errors
 * within streams, and those of other endpoints.
 */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT } from '../../support/mock-provider.ts';
import {
  anthropicError,
  anthropicMessage,
  anthropicStream,
  breakAt,
  gated,
  json,
  sse,
} from '../../support/provider-answers.ts';
import { anthropicClient, Books, caught, CLAUDE, free, paid } from '../../support/api/sdk.ts';

const MAX_BODY_BYTES = 1_000_000;

let stack: TestStack;
/** With the SDK's own number of retries. */
let client: Anthropic;
let books: Books;

beforeAll(async () => {
  stack = await startTestStack({ maxBodyBytes: MAX_BODY_BYTES });
  client = anthropicClient(stack);
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const HELLO = { model: 'claude-model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };
const SMALL = 10n * CLAUDE.input + CLAUDE.output;

type ErrorClass = new (...args: never[]) => InstanceType<typeof Anthropic.APIError>;

/** The parts of an error that users read: its class, its fields, and an id that the gateway knows. */
async function assertRaises(
  call: PromiseLike<unknown>,
  type: ErrorClass,
  expected: { status: number; type: string; message: RegExp; errorCode?: string },
): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error = await caught(call, type);
  assert.deepEqual(
    {
      status: error.status,
      type: error.type,
      errorCode: error.errorCode,
    },
    { status: expected.status, type: expected.type, errorCode: expected.errorCode ?? null },
  );
  assert.match(error.apiMessage ?? '', expected.message);
  assert.match(error.requestID ?? '', /^req_[0-9a-f]{32}$/);
  assert.equal((error.error as { request_id?: string }).request_id, error.requestID);
  return error;
}

describe('AuthenticationError', () => {
  it("is raised for a token that is not a key, and for a provider's key when counting", async () => {
    const expected = { status: 401, type: 'authentication_error' };
    await assertRaises(
      anthropicClient(stack, { apiKey: null, authToken: 'eyJhbGciOi.eyJzdWIi.c2ln' }).messages.create(HELLO),
      Anthropic.AuthenticationError,
      { ...expected, message: /start with "sk-"/ },
    );
    await assertRaises(
      anthropicClient(stack, { apiKey: 'sk-ant-api03-0000000000000000000000000000000' }).messages.countTokens({
        model: 'claude-model',
        messages: HELLO.messages,
      }),
      Anthropic.AuthenticationError,
      { ...expected, message: /unknown/ },
    );
    await books.check(free(401), free(401));
  });
});

describe('NotFoundError', () => {
  it('is raised for the look-up of an unknown model', async () => {
    const error = await caught(client.models.retrieve('claude-nothing'), Anthropic.NotFoundError);
    assert.match(error.message, /claude-nothing/);
    assert.match(error.requestID ?? '', /^req_/);
    await books.check(free(404));
  });
});

describe('BadRequestError', () => {
  const expected = { status: 400, type: 'invalid_request_error' };
  it('is raised for a conversation stored by the provider, with the code that the SDK maps to a class', async () => {
    const thread = client.beta.messages.thread({ model: 'claude-model', max_tokens: 100 });
    await assertRaises(thread.send({ role: 'user', content: 'hello' }), Anthropic.BadRequestError, {
      ...expected,
      message: /"thread"/,
      errorCode: 'thread_unsupported_request',
    });
    await books.check(free(400));
  });
  it("is raised for the provider's own refusal, with its message and code", async () => {
    stack.anthropic.script(anthropicError(400, 'invalid_request_error', 'max_tokens: too many'));
    await assertRaises(client.messages.create(HELLO), Anthropic.BadRequestError, {
      ...expected,
      message: /^max_tokens: too many$/,
    });
    stack.anthropic.script(
      json(
        {
          type: 'error',
          error: { type: 'invalid_request_error', message: 'No.', details: { error_code: 'tool_name_conflict' } },
        },
        { status: 400 },
      ),
    );
    await assertRaises(client.messages.create(HELLO), Anthropic.BadRequestError, {
      ...expected,
      message: /^No\.$/,
      errorCode: 'tool_name_conflict',
    });
    await books.check(free(400), free(400));
  });
});

describe('a full key', () => {
  it('is retried by the SDK: the call succeeds once the slot is free', async () => {
    const waiting = gated(anthropicMessage());
    stack.anthropic.script(waiting.reply, anthropicMessage());
    const running = anthropicClient(stack, { apiKey: KEYS.serial }).messages.create(HELLO);
    await waiting.gate.reached;
    let refusals = 0;
    const retrying = anthropicClient(stack, {
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
    assert.equal((await retrying.messages.create(HELLO)).stop_reason, 'end_turn');
    assert.equal(refusals, 1);
    await books.check(free(429), paid(SMALL), paid(SMALL));
  });
});

describe('a provider that fails', () => {
  it('is retried by the SDK, and only the successful call is billed', async () => {
    stack.anthropic.script(anthropicError(529, 'overloaded_error'), anthropicStream());
    assert.equal(await client.messages.stream(HELLO).finalText(), 'hello');
    await books.check(free(529), paid(SMALL + CLAUDE.output));
  });
});

describe('an error within a stream', () => {
  // the input was reported at the start; 40 bytes of output are estimated as ten tokens
  const seen = { status: 200, costNanoUsd: 10n * CLAUDE.input + 10n * CLAUDE.output, source: 'Partial' } as const;

  it("is raised with the provider's type, after the events before it", async () => {
    const error = sse({
      event: 'error',
      data: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    });
    stack.anthropic.script(breakAt(anthropicStream(['x'.repeat(40), 'y']), 3, error));
    const texts: string[] = [];
    const raised = await caught(
      client.messages
        .stream(HELLO)
        .on('text', (text) => texts.push(text))
        .finalMessage(),
      Anthropic.APIError,
    );
    assert.deepEqual(texts, ['x'.repeat(40)]);
    assert.deepEqual([raised.type, raised.apiMessage], ['overloaded_error', 'Overloaded']);
    assert.match(raised.requestID ?? '', /^req_/);
    assert.equal((raised.error as { request_id?: string } | undefined)?.request_id, raised.requestID);
    await books.check(seen);
  });
  it('is raised for a stream that is cut off', async () => {
    stack.anthropic.script(breakAt(anthropicStream(['x'.repeat(40), 'y']), 3, CUT));
    const raised = await caught(client.messages.stream(HELLO).finalMessage(), Anthropic.APIError);
    assert.deepEqual([raised.type, raised.status], ['api_error', undefined]);
    assert.match(raised.apiMessage ?? '', /broke off/);
    await books.check(seen);
  });
});

describe('a body that is too large', () => {
  for (const [name, bytes] of [
    ['a little', MAX_BODY_BYTES],
    ['far', 30 * MAX_BODY_BYTES],
  ] as const) {
    it(`raises ContentTooLargeError by ${name}, not a connection error`, async () => {
      await assertRaises(
        client.messages.create({
          ...HELLO,
          messages: [{ role: 'user', content: 'x'.repeat(bytes) }],
        }),
        Anthropic.ContentTooLargeError,
        { status: 413, type: 'request_too_large', message: /larger than 1000000 bytes/ },
      );
      await books.check(free(413));
    });
  }
});
