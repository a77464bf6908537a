/** Providers' errors, in any format, and the gateway's own, in the dialect of the path. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { readProviderError, redactMessage } from '../../../../dataplane/protocol/provider-errors.ts';
import { writeErrorBody, writeErrorEvent } from '../../../../dataplane/protocol/write-error.ts';
import { openStream, replay } from './replay.ts';

const read = (body: string | object, status = 400): object =>
  readProviderError(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

test('every format that providers are known to use', () => {
  assert.deepEqual(
    read({
      error: {
        message: 'Too long.',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    }),
    { message: 'Too long.', type: 'invalid_request_error', code: 'context_length_exceeded', param: 'messages' },
  );
  assert.deepEqual(read({ error: { message: 'No.', type: 'server_error', code: null } }), {
    message: 'No.',
    type: 'server_error',
    code: null,
  });
  assert.deepEqual(
    read({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
      request_id: 'req_1',
    }),
    { message: 'Overloaded', type: 'overloaded_error', code: undefined },
  );
  assert.deepEqual(
    read({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'No.',
        details: { error_code: 'thread_not_found' },
      },
    }),
    { message: 'No.', type: 'invalid_request_error', code: 'thread_not_found' },
  );
  assert.deepEqual(read({ error: 'model not loaded' }), {
    message: 'model not loaded',
    type: undefined,
    code: undefined,
  });
  assert.deepEqual(read({ detail: 'Not Found' }), { message: 'Not Found', type: undefined, code: undefined });
  assert.deepEqual(read({ detail: [{ loc: ['body', 'n'], msg: 'value is not valid', type: 'int' }] }), {
    message: 'value is not valid',
    type: undefined,
    code: undefined,
  });
  assert.deepEqual(read({ object: 'error', message: 'context too long', type: 'BadRequestError', code: 400 }), {
    message: 'context too long',
    type: 'BadRequestError',
    code: '400',
  });
  assert.deepEqual(read([{ error: { code: 429, message: 'Quota exceeded', status: 'RESOURCE_EXHAUSTED' } }]), {
    message: 'Quota exceeded',
    type: 'RESOURCE_EXHAUSTED',
    code: '429',
  });
  assert.deepEqual(read({ error: { type: 'rate_limit_error' } }), {
    message: 'The provider says: rate_limit_error.',
    type: 'rate_limit_error',
    code: undefined,
  });
  assert.deepEqual(read('upstream connect error'), {
    message: 'upstream connect error',
    type: undefined,
    code: undefined,
  });
});

test('an unreadable error is described by its status', () => {
  for (const body of [
    '',
    '<!DOCTYPE html><html><body><h1>502</h1></body></html>',
    '{"error":',
    '{}',
    '[]',
    'null',
    '12',
    '{"error":{}}',
    '{"error":null}',
    '{"message":5}',
    '   ',
  ])
    assert.deepEqual(
      read(body, 502),
      {
        message: 'The provider answered with status 502 and no message.',
        type: undefined,
        code: undefined,
      },
      body,
    );
});

test('nothing that looks like a key, an account or an address is passed on', () => {
  for (const secret of [
    'sk-proj-AbC123_x-yz',
    'sk-ant-api03-abc',
    'Bearer abc.def',
    'gsk_abc123',
    'xai-abc123',
    'AIzaSyA-123456789',
    'AKIAIOSFODNN7EXAMPLE',
    'org-Ab12Cd34Ef56',
    'proj_A1b2C3d4E5',
    'https://api.openai.com/v1/chat?key=1',
    'wss://x.internal/y',
    'http://10.0.0.1:8080/',
    'api.anthropic.com',
    'my-llm.internal:9000',
    '10.1.2.3:443',
    'eyJhbGciOi.eyJzdWIi.c2ln',
    'a'.repeat(48),
    'sk-...wxyz',
    'sk-abcd****wxyz',
  ]) {
    const { message } = readProviderError(
      401,
      Buffer.from(JSON.stringify({ error: { message: `Incorrect: ${secret}. Look it up.` } })),
    );
    assert.ok(!message.includes(secret.slice(0, 40)) && /\[(redacted|url|address)\]/.test(message), message);
    assert.match(message, /^Incorrect: .*(Look it up\.)?$/);
  }
  assert.equal(
    redactMessage('The max_tokens of user_message in messages.0.content must be <= 8192 for claude-sonnet-4-5.'),
    'The max_tokens of user_message in messages.0.content must be <= 8192 for claude-sonnet-4-5.',
  );
});

test('messages are bounded and on one line', () => {
  const message = redactMessage('line one\r\nline\u2028two\u0000 '.repeat(1000));
  assert.equal(message.length, 1000);
  assert.doesNotMatch(message, /[\p{Cc}\p{Zl}]/u);
  assert.equal(
    readProviderError(500, Buffer.alloc(2_000_000, 'x')).message,
    'The provider answered with status 500 and no message.',
  );
});

test('no body makes it throw', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => Buffer.from(text)),
        fc.jsonValue().map((error) => Buffer.from(JSON.stringify({ error }))),
      ),
      (bytes) => {
        const { message } = readProviderError(500, bytes);
        assert.ok(message.length > 0 && message.length <= 1000);
      },
    ),
  );
});

test("the gateway's errors, as a body and as an event", () => {
  const error = {
    message: 'It "broke".',
    type: 'server_error',
    code: 'upstream_error',
    param: null,
    requestId: 'req-1',
    httpStatus: 502,
  };
  assert.equal(
    Buffer.from(writeErrorBody('OpenAI', error)).toString(),
    '{"error":{"message":"It \\"broke\\".","type":"server_error","param":null,"code":"upstream_error"}}',
  );
  assert.equal(
    Buffer.from(writeErrorEvent('OpenAI', error)).toString(),
    'data: {"error":{"message":"It \\"broke\\".","type":"server_error","param":null,"code":"upstream_error"}}\n\n',
  );
  assert.equal(
    Buffer.from(writeErrorBody('Anthropic', error)).toString(),
    '{"type":"error","error":{"type":"server_error","message":"It \\"broke\\"."},"request_id":"req-1"}',
  );
  assert.equal(
    Buffer.from(writeErrorBody('Anthropic', { ...error, errorCode: 'thread_not_found' })).toString(),
    '{"type":"error","error":{"type":"server_error","message":"It ' +
      '\\"broke\\".","details":{"error_code":"thread_not_found"}},"request_id":"req-1"}',
  );
  assert.equal(
    Buffer.from(writeErrorEvent('Anthropic', { message: 'x', type: 'api_error', httpStatus: 500 })).toString(),
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"},"request_id":null}\n\n',
  );
});

test("a provider's error within a stream, in the other dialect", () => {
  const anthropicError = (type: string): string =>
    `event: error\ndata: {"type":"error","error":{"type":"${type}","message":"m"}}\n\n`;
  const openaiError = (type: string, code: string): string =>
    `data: {"error":{"message":"m","type":"${type}","code":"${code}"}}\n\n`;
  const told = (client: 'OpenAI' | 'Anthropic', upstream: 'OpenAI' | 'Anthropic', text: string): string => {
    const { outcome, last } = replay(openStream(client, upstream), [Buffer.from(text)]);
    assert.equal(outcome, 'Failed');
    return last;
  };
  assert.match(
    told('OpenAI', 'Anthropic', anthropicError('rate_limit_error')),
    /"message":"m","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"/,
  );
  assert.match(
    told('OpenAI', 'Anthropic', anthropicError('invalid_request_error')),
    /"type":"invalid_request_error","param":null,"code":null/,
  );
  assert.match(
    told('Anthropic', 'OpenAI', openaiError('server_error', 'server_is_overloaded')),
    /"type":"overloaded_error","message":"m"/,
  );
  assert.match(
    told('Anthropic', 'OpenAI', openaiError('requests', 'rate_limit_exceeded')),
    /"type":"rate_limit_error"/,
  );
  assert.match(told('Anthropic', 'OpenAI', openaiError('server_error', '')), /"type":"api_error"/);
  // the gateway's credit at the provider does not concern the client
  for (const client of ['OpenAI', 'Anthropic'] as const)
    assert.doesNotMatch(told(client, 'OpenAI', openaiError('insufficient_quota', 'insufficient_quota')), /quota|"m"/);
  assert.match(told('OpenAI', 'OpenAI', 'event: error\ndata: it all went wrong\n\n'), /it all went wrong/);
});
