/** A row of the table of errors, and the checks of what HTTP clients and both official SDKs get by it. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { KEYS, PROVIDER_KEYS } from '../../support/manifests.ts';
import { anthropicClient, caught, openaiClient } from '../../support/api/sdk.ts';
import { chat, message } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

export type Dialect = 'OpenAI' | 'Anthropic';
export const DIALECTS = ['OpenAI', 'Anthropic'] as const;
export type ByDialect<T> = Readonly<Record<Dialect, T>>;

/** A request as both an HTTP client and an SDK can send it. */
export interface Ask {
  /** By default of the key `main`, and of a model of the dialect's own provider. */
  readonly key?: string;
  readonly model?: string;
  readonly more?: Readonly<Record<string, unknown>>;
  /** A body that is not JSON, which no SDK sends. */
  readonly text?: string;
  /** null: the header is not sent. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** A request other than a chat. */
  readonly at?: { readonly method: 'GET' | 'POST'; readonly path: string };
  /** The path of the base URL that the SDK gets; by default the correct one. */
  readonly base?: string;
}

export interface Row {
  readonly when: string;
  readonly status: number | ByDialect<number>;
  readonly openai: readonly [type: string, code: string | null, param?: string];
  readonly anthropic: string;
  readonly says: string | RegExp | ByDialect<string>;
  /** The header by which SDKs decide on a retry; absent: they use the status. */
  readonly retry?: 'never' | 'later';
  readonly headers?: Readonly<Record<string, string>>;
  readonly ask?: Ask | ByDialect<Ask>;
  /** Creates the situation; disposing of the result ends it. */
  readonly given?: (dialect: Dialect) => Promise<() => unknown> | (() => unknown);
}

export const PATHS: ByDialect<string> = { OpenAI: '/v1/chat/completions', Anthropic: '/v1/messages' };
export const MODELS: ByDialect<string> = { OpenAI: 'gpt-model', Anthropic: 'claude-model' };
export const of = <T>(value: T | ByDialect<T>, dialect: Dialect): T =>
  typeof value === 'object' && value !== null && 'OpenAI' in value ? value[dialect] : value;
export function bodyOf({ model, more }: Ask, dialect: Dialect): Record<string, unknown> {
  return (dialect === 'OpenAI' ? chat : message)(model ?? MODELS[dialect], more);
}

const REQUEST_ID = /^req_[0-9a-f]{32}$/;

/** Checks the response over HTTP: the envelope of the dialect, with ids and retry headers, and no secret in it. */
export async function checkHttp(stack: TestStack, row: Row, dialect: Dialect): Promise<void> {
  const ask = of(row.ask ?? {}, dialect);
  const headers = new Headers({ 'content-type': 'application/json', ...keyHeader(ask, dialect) });
  for (const [name, value] of Object.entries(ask.headers ?? {}))
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  const response = await fetch(stack.gateway.url + (ask.base ?? '') + (ask.at?.path ?? PATHS[dialect]), {
    method: ask.at?.method ?? 'POST',
    headers,
    ...(ask.at?.method === 'GET' ? {} : { body: ask.text ?? JSON.stringify(bodyOf(ask, dialect)) }),
  });
  const text = await response.text();
  assert.equal(response.status, of(row.status, dialect), text);
  const id = response.headers.get('request-id');
  assert.match(id ?? '', REQUEST_ID);
  assert.equal(response.headers.get('x-request-id'), id);
  const { error, ...rest } = JSON.parse(text);
  assertSays(error.message, row, dialect);
  if (dialect === 'Anthropic') {
    assert.deepEqual(rest, { type: 'error', request_id: id });
    assert.deepEqual(error, { type: row.anthropic, message: error.message });
  } else {
    const [type, code, param = null] = row.openai;
    assert.deepEqual([rest, error], [{}, { message: error.message, type, param, code }]);
  }
  assert.equal(response.headers.get('x-should-retry'), row.retry === 'never' ? 'false' : null);
  assert.equal(response.headers.has('retry-after'), row.retry === 'later');
  for (const [name, value] of Object.entries(row.headers ?? {})) assert.equal(response.headers.get(name), value);
  for (const secret of [...Object.values(KEYS), ...Object.values(PROVIDER_KEYS), stack.openai.url, stack.anthropic.url])
    assert.ok(!text.includes(secret), 'the answer holds a secret');
}

function keyHeader({ key: sent = KEYS.main }: Ask, dialect: Dialect): Record<string, string> {
  return dialect === 'OpenAI' ? { authorization: `Bearer ${sent}` } : { 'x-api-key': sent };
}

function assertSays(text: string, { says }: Row, dialect: Dialect): void {
  const expected = says instanceof RegExp ? says : of(says, dialect);
  if (expected instanceof RegExp) assert.match(text, expected);
  else assert.equal(text, expected);
}

/** Checks the SDK's error: its class, its fields, and a single request if a retry is useless. */
export async function checkSdk(stack: TestStack, row: Row, dialect: Dialect, stream: boolean): Promise<void> {
  const ask = of(row.ask ?? {}, dialect);
  let requests = 0;
  const retriedByStatus = row.retry !== 'never' && RETRIED.test(String(of(row.status, dialect)));
  const options = {
    apiKey: ask.key ?? KEYS.main,
    ...(ask.headers && { defaultHeaders: { ...ask.headers } }),
    ...(retriedByStatus && { maxRetries: 0 }),
    fetch: (...args: Parameters<typeof fetch>): Promise<Response> => {
      requests += 1;
      return fetch(...args);
    },
  };
  await (dialect === 'OpenAI' ? checkOpenAi : checkAnthropic)(stack, row, { ask, options, stream });
  assert.equal(requests, 1);
}

const RETRIED = /^(?:408|409|429|5..)$/;

interface SdkCall {
  readonly ask: Ask;
  readonly options: Parameters<typeof openaiClient>[1] & Parameters<typeof anthropicClient>[1];
  readonly stream: boolean;
}

async function checkOpenAi(stack: TestStack, row: Row, { ask, options, stream }: SdkCall): Promise<void> {
  const client = openaiClient(stack, {
    ...options,
    ...(ask.base !== undefined && { baseURL: `${stack.gateway.url}/v1${ask.base}` }),
  });
  const body = { ...bodyOf(ask, 'OpenAI'), stream } as OpenAI.ChatCompletionCreateParams;
  const path = ask.at?.path.slice('/v1'.length) ?? '';
  const call =
    ask.at === undefined
      ? client.chat.completions.create(body)
      : ask.at.method === 'GET'
        ? client.get(path)
        : client.post(path, { body });
  const status = of(row.status, 'OpenAI');
  const otherwise = status >= 500 ? OpenAI.InternalServerError : OpenAI.APIError;
  const error = await caught(call, OPENAI_CLASSES[status] ?? otherwise);
  const [type, code, param = null] = row.openai;
  assert.deepEqual([error.status, error.type, error.code, error.param], [status, type, code, param]);
  assertSays((error.error as { message: string }).message, row, 'OpenAI');
  assert.match(error.requestID ?? '', REQUEST_ID);
}

type OpenAiError = new (...args: never[]) => InstanceType<typeof OpenAI.APIError>;
const OPENAI_CLASSES: Readonly<Record<number, OpenAiError>> = {
  400: OpenAI.BadRequestError,
  401: OpenAI.AuthenticationError,
  404: OpenAI.NotFoundError,
  422: OpenAI.UnprocessableEntityError,
  429: OpenAI.RateLimitError,
};

async function checkAnthropic(stack: TestStack, row: Row, { ask, options, stream }: SdkCall): Promise<void> {
  const client = anthropicClient(stack, {
    ...options,
    ...(ask.base !== undefined && { baseURL: stack.gateway.url + ask.base }),
  });
  const body = { ...bodyOf(ask, 'Anthropic'), stream } as Anthropic.MessageCreateParams;
  const call =
    ask.at === undefined
      ? client.messages.create(body)
      : ask.at.method === 'GET'
        ? client.get(ask.at.path)
        : client.post(ask.at.path, { body });
  const status = of(row.status, 'Anthropic');
  const error = await caught(call, ANTHROPIC_CLASSES[status] ?? Anthropic.APIError);
  assert.deepEqual([error.status, error.type], [status, row.anthropic]);
  assertSays(error.apiMessage ?? '', row, 'Anthropic');
  assert.match(error.requestID ?? '', REQUEST_ID);
}

type AnthropicError = new (...args: never[]) => InstanceType<typeof Anthropic.APIError>;
const ANTHROPIC_CLASSES: Readonly<Record<number, AnthropicError>> = {
  400: Anthropic.BadRequestError,
  401: Anthropic.AuthenticationError,
  402: Anthropic.PaymentRequiredError,
  404: Anthropic.NotFoundError,
  413: Anthropic.ContentTooLargeError,
  422: Anthropic.UnprocessableEntityError,
  429: Anthropic.RateLimitError,
  502: Anthropic.InternalServerError,
  503: Anthropic.ServiceUnavailableError,
  529: Anthropic.OverloadedError,
};
