/**
 * Each row of the table of errors: status, type, code and message, in both dialects, over HTTP and through both
 * official SDKs, streaming or not. A refusal costs nothing and leaves no hold and no slot behind.
 */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import { KEYS, keyManifest, PROVIDER_KEYS } from '../../support/manifests.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { pattern } from '../../support/pattern.ts';
import { anthropicClient, caught, openaiClient } from '../../support/api/sdk.ts';
import { chat, message, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import {
  anthropicError,
  anthropicMessage,
  gated,
  json,
  openaiChat,
  openaiError,
} from '../../support/provider-answers.ts';

const NOW_MS = Date.UTC(2026, 10, 23, 12);
const MAX_BODY_BYTES = 100_000;
const CONSOLE = 'https://console.example';
const UNKNOWN_KEY = 'sk-nobody-has-this-key-00000000000000000000';
const key = (name: string): string => `sk-test-${name}-`.padEnd(43, '0');
const MANIFESTS = `
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: capped}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}, maxConcurrency: 1}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: elsewhere}
spec: {displayName: Elsewhere, routes: [{routeSelector: {}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: broke, namespace: team}
spec: {grants: [{name: start, usd: "0.04"}]}
---
${keyManifest('capped', key('capped'), 'groupRef: {name: capped}')}
${keyManifest('elsewhere', key('elsewhere'), 'groupRef: {name: elsewhere}')}
${keyManifest('monthly', key('monthly'), 'quota: {limitUsd: "0.04", period: Monthly}')}
${keyManifest('broke', key('broke'), 'accountRef: {name: broke}')}`;

type Dialect = 'OpenAI' | 'Anthropic';
const DIALECTS = ['OpenAI', 'Anthropic'] as const;
type ByDialect<T> = Readonly<Record<Dialect, T>>;

/** A request as both an HTTP client and an SDK can send it. */
interface Ask {
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

interface Row {
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

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    maxBodyBytes: MAX_BODY_BYTES,
    nowMs: () => NOW_MS,
    consoleUrl: () => CONSOLE,
    files: () => ({ 'troubles.yaml': MANIFESTS }),
  });
  // the rest of their quota and account, to the last nano-dollar
  stack.openai.script({ steps: ['{"created":1,"data":[{"url":"x"}]}'] });
  for (const name of ['monthly', 'broke']) {
    const drawn = await post(
      stack,
      '/v1/images/generations',
      { model: 'image-model', prompt: 'x' },
      {
        'x-api-key': key(name),
      },
    );
    assert.equal(drawn.status, 200, drawn.text);
  }
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const PATHS: ByDialect<string> = { OpenAI: '/v1/chat/completions', Anthropic: '/v1/messages' };
const MODELS: ByDialect<string> = { OpenAI: 'gpt-model', Anthropic: 'claude-model' };
const providerOf = (dialect: Dialect): MockProvider => (dialect === 'OpenAI' ? stack.openai : stack.anthropic);
const of = <T>(value: T | ByDialect<T>, dialect: Dialect): T =>
  typeof value === 'object' && value !== null && 'OpenAI' in value ? value[dialect] : value;
const inEach = <T>(make: (dialect: Dialect) => T): ByDialect<T> => ({
  OpenAI: make('OpenAI'),
  Anthropic: make('Anthropic'),
});

function bodyOf({ model, more }: Ask, dialect: Dialect): Record<string, unknown> {
  return (dialect === 'OpenAI' ? chat : message)(model ?? MODELS[dialect], more);
}

/** The provider responds to all calls of the test with this status and text. */
const providerSays =
  (status: number, text?: string) =>
  (dialect: Dialect): (() => void) => {
    const reply = dialect === 'OpenAI' ? openaiError(status, text) : anthropicError(status, 'api_error', text);
    providerOf(dialect).script(reply);
    return () => undefined;
  };

/** Runs a call of this key. */
const busy =
  (of: string) =>
  async (dialect: Dialect): Promise<() => Promise<void>> => {
    const waiting = gated(dialect === 'OpenAI' ? openaiChat() : anthropicMessage());
    providerOf(dialect).script(waiting.reply);
    const running = post(stack, PATHS[dialect], bodyOf({}, dialect), { 'x-api-key': of });
    await waiting.gate.reached;
    return async () => {
      waiting.gate.open();
      assert.equal((await running).status, 200);
    };
  };

function ledgerGone(): () => void {
  const { ledger } = stack.gateway;
  const hold = ledger.hold.bind(ledger);
  Object.assign(ledger, { hold: () => Promise.reject(new LedgerUnavailable('gone')) });
  return () => Object.assign(ledger, { hold });
}

const BAD_KEY = {
  status: 401,
  openai: ['invalid_request_error', 'invalid_api_key'],
  anthropic: 'authentication_error',
  retry: 'never',
} as const;
const BAD_REQUEST = { status: 400, anthropic: 'invalid_request_error' } as const;
const FULL = {
  status: 429,
  openai: ['rate_limit_error', 'rate_limit_exceeded'],
  anthropic: 'rate_limit_error',
  retry: 'later',
} as const;
const NO_QUOTA = {
  status: 429,
  openai: ['insufficient_quota', 'insufficient_quota'],
  anthropic: 'rate_limit_error',
  retry: 'never',
} as const;
const NO_CREDIT = {
  status: 402,
  openai: ['insufficient_quota', 'credit_balance_exhausted'],
  anthropic: 'billing_error',
  retry: 'never',
} as const;
const UPSTREAM = { status: 502, openai: ['server_error', 'upstream_error'], anthropic: 'api_error' } as const;

/** Headers that replace the SDK's own. */
const WITHOUT_KEY = { authorization: null, 'x-api-key': null };
const QUOTA_REMEDY = (name: string): string =>
  `The owner of the key can raise it or set it to Unlimited: ${CONSOLE}/keys/team/${name} or spec.quota of ApiKey ` +
  `team/${name}.`;
const CREDIT_REMEDY = (name: string): string =>
  `Whoever manages the account can grant more: ${CONSOLE}/wallet/team/${name} or spec.grants of Account team/${name}.`;
/** With tools and a schema, an output limit is not lowered. */
const TOOLS: ByDialect<unknown> = {
  OpenAI: [{ type: 'function', function: { name: 'f' } }],
  Anthropic: [{ name: 'f', input_schema: { type: 'object' } }],
};
const SERVER_TOOL: ByDialect<unknown> = {
  OpenAI: [{ type: 'web_search_preview' }],
  Anthropic: [{ type: 'web_search_20250305', name: 'web_search' }],
};
const IMAGE: ByDialect<unknown> = {
  OpenAI: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
  Anthropic: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }],
};

const ROWS: readonly Row[] = [
  {
    ...BAD_KEY,
    when: 'no key',
    ask: { headers: WITHOUT_KEY },
    says: 'No API key. Send it as "Authorization: Bearer sk-…" or as "x-api-key: sk-…".',
  },
  {
    ...BAD_KEY,
    when: 'a key without sk-',
    ask: { key: 'pk-1234567890123456789012345678901234' },
    says: /^The key in the (?:Authorization|x-api-key) header is not one of this gateway's: they start with "sk-"\.$/,
  },
  {
    ...BAD_KEY,
    when: 'a space in the key',
    ask: { key: `${KEYS.main.slice(0, 20)} ${KEYS.main.slice(20)}` },
    says: /^The key in the (?:Authorization|x-api-key) header has spaces in or around it\.$/,
  },
  {
    ...BAD_KEY,
    when: 'a space before the key',
    ask: { headers: { ...WITHOUT_KEY, authorization: `Bearer  ${KEYS.main}` } },
    says: 'The key in the Authorization header has spaces in or around it.',
  },
  {
    ...BAD_KEY,
    when: 'an incomplete key',
    ask: { key: KEYS.main.slice(0, -1) },
    says: 'This API key is unknown. Check that it is complete, and that it was not revoked or replaced.',
  },
  {
    ...BAD_KEY,
    when: 'an unknown key',
    ask: { key: UNKNOWN_KEY },
    says: 'This API key is unknown. Check that it is complete, and that it was not revoked or replaced.',
  },
  { ...BAD_KEY, when: 'a disabled key', ask: { key: KEYS.disabled }, says: 'This API key is disabled.' },
  { ...BAD_KEY, when: 'an expired key', ask: { key: KEYS.expired }, says: 'This API key has expired.' },
  {
    ...BAD_KEY,
    when: 'a key whose group does not exist',
    ask: { key: KEYS.orphan },
    says:
      'This API key is not accepted: its group "nobody" does not exist. Whoever manages this key can name another ' +
      'one.',
  },
  {
    ...BAD_KEY,
    when: 'a key whose group does not admit it',
    ask: { key: key('elsewhere') },
    says: 'This API key is not accepted: its group "Elsewhere" does not admit the namespace "team".',
  },
  {
    ...BAD_KEY,
    when: 'credentials of another kind, also beside a good key',
    ask: { headers: { authorization: 'Basic dXNlcjpwYXNz', 'x-api-key': KEYS.main } },
    says: 'The Authorization header is not a bearer key of this gateway. Send "Authorization: Bearer sk-…".',
  },
  {
    ...BAD_KEY,
    when: 'two different keys',
    ask: { headers: { authorization: `Bearer ${KEYS.main}`, 'x-api-key': KEYS.small } },
    says: 'The Authorization and x-api-key headers carry different keys. Send one of them.',
  },
  {
    when: 'a model that is not in the catalog',
    ask: { model: 'no-such-model' },
    status: 404,
    openai: ['invalid_request_error', 'model_not_found', 'model'],
    anthropic: 'not_found_error',
    says:
      'The model "no-such-model" does not exist or you do not have access to it. GET /v1/models lists the models ' +
      'of this key.',
  },
  {
    when: 'a model that is not for this key',
    ask: { key: KEYS.narrow },
    status: 404,
    openai: ['invalid_request_error', 'model_not_found', 'model'],
    anthropic: 'not_found_error',
    says: inEach(
      (dialect) =>
        `The model "${MODELS[dialect]}" does not exist or you do not have access to it. ` +
        'GET /v1/models lists the models of this key.',
    ),
  },
  {
    ...BAD_REQUEST,
    when: 'a model on an endpoint that is not its own',
    ask: { model: 'image-model' },
    openai: ['invalid_request_error', 'wrong_endpoint', 'model'],
    says: 'image-model makes images: POST /v1/images/generations',
  },
  {
    when: 'an unknown path',
    ask: inEach((dialect) => ({ at: { method: 'POST', path: `${PATHS[dialect]}/nothing` } })),
    status: 404,
    openai: ['invalid_request_error', 'not_found'],
    anthropic: 'not_found_error',
    says: inEach((dialect) => `There is nothing at POST ${PATHS[dialect]}/nothing.`),
  },
  {
    ...BAD_REQUEST,
    when: 'a base URL that has /v1 twice',
    ask: { base: '/v1' },
    openai: ['invalid_request_error', 'invalid_value'],
    says:
      'The path has /v1 twice: the base URL given to the SDK must not have /v1 where the SDK adds it (OpenAI: with ' +
      '/v1, Anthropic: without).',
  },
  {
    when: 'a known path with the wrong method',
    ask: inEach((dialect) => ({ at: { method: 'GET', path: PATHS[dialect] } })),
    status: 405,
    openai: ['invalid_request_error', 'method_not_allowed'],
    anthropic: 'invalid_request_error',
    says: 'GET is not possible here; use POST.',
    headers: { allow: 'POST' },
  },
  {
    ...NO_QUOTA,
    when: 'a quota that is used up',
    ask: { key: key('monthly') },
    says:
      'This key has used up its quota of $0.04 for November; it starts anew on 1 December (UTC). ' +
      QUOTA_REMEDY('monthly'),
  },
  {
    ...NO_QUOTA,
    when: 'a quota that is too small for the call',
    ask: { key: KEYS.refuse, more: { max_tokens: 4000 } },
    says: pattern(
      /^This call may cost up to \$0\.0\d+, and \$0\.01 is left of this key's quota of \$0\.01\. /,
      /An output limit \(max_tokens\) of \d+ would fit\. The owner of the key can raise it or set it to Unlimited: /,
    ),
  },
  {
    ...NO_CREDIT,
    when: 'an account that has used up its credit',
    ask: { key: key('broke') },
    says: `The account team/broke of this key has used up its credit of $0.04. ${CREDIT_REMEDY('broke')}`,
  },
  {
    ...NO_CREDIT,
    when: 'a balance that is too small for the call',
    ask: inEach((dialect) => ({ key: KEYS.poor, more: { max_tokens: 4000, tools: TOOLS[dialect] } })),
    says: pattern(
      /^This call may cost up to \$0\.0\d+, and \$0\.001 is left of the balance of this key's account team\/poor\. /,
      /Not even its input would fit: a shorter one costs less\. Whoever manages the account can grant more: /,
    ),
  },
  {
    ...FULL,
    when: 'a key at its own limit of calls',
    ask: { key: KEYS.serial },
    given: busy(KEYS.serial),
    says: 'This API key has its full number of calls in flight (1). Try again when one has ended.',
  },
  {
    ...FULL,
    when: 'a group at its limit of calls',
    ask: { key: key('capped') },
    given: busy(key('capped')),
    says: inEach(
      (dialect) =>
        `Every channel of "${MODELS[dialect]}" that this key's group may use has its full number ` +
        'of calls in flight. Try again shortly.',
    ),
  },
  {
    ...BAD_REQUEST,
    when: 'an image for a model that takes text only',
    ask: inEach((dialect) => ({
      model: 'text-model',
      more: { messages: [{ role: 'user', content: IMAGE[dialect] }] },
    })),
    openai: ['invalid_request_error', 'unsupported_image', 'messages[0].content[0]'],
    says: 'The model "text-model" takes text only. Leave the image out, or choose a model that takes images.',
  },
  {
    ...BAD_REQUEST,
    when: 'something whose price has no bound',
    ask: inEach((dialect) => ({ more: { tools: SERVER_TOOL[dialect] } })),
    openai: ['invalid_request_error', 'not_allowed', 'tools[0].type'],
    says: inEach(
      (dialect) =>
        'The field "tools[0].type" asks for tools that run at the provider, whose price has no ' +
        `bound for "${MODELS[dialect]}". Leave it out, or ask the platform team to allow ServerTools for this model.`,
    ),
  },
  {
    ...BAD_REQUEST,
    when: 'a missing field',
    ask: { more: { messages: undefined } },
    openai: ['invalid_request_error', 'invalid_value', 'messages'],
    says: 'The field "messages" must be a list of at least one message.',
  },
  {
    ...BAD_REQUEST,
    when: 'a wrong field',
    ask: { more: { max_tokens: -1 } },
    openai: ['invalid_request_error', 'invalid_value', 'max_tokens'],
    says: inEach(
      (dialect) => `The field "max_tokens" must be a whole number of at least ${dialect === 'OpenAI' ? 1 : 0}.`,
    ),
  },
  {
    ...BAD_REQUEST,
    when: 'malformed JSON',
    ask: { text: '{"model": ' },
    openai: ['invalid_request_error', 'invalid_json'],
    says: 'The body is not valid JSON: it ends too early, at byte 11 (line 1, column 11).',
  },
  {
    when: 'a body that is too large',
    ask: { more: { metadata: { user_id: 'x'.repeat(MAX_BODY_BYTES) } } },
    status: 413,
    openai: ['invalid_request_error', 'request_too_large'],
    anthropic: 'request_too_large',
    says: 'The request body is larger than 100000 bytes.',
  },
  {
    when: 'a model without a price',
    ask: { model: 'unpriced-model' },
    status: 503,
    openai: ['server_error', 'model_not_priced', 'model'],
    anthropic: 'api_error',
    says:
      'The model "unpriced-model" has no price yet, so it cannot be called. Ask the platform team to add it to a ' +
      'PriceCatalog.',
  },
  {
    when: 'a ledger that cannot be reached',
    given: ledgerGone,
    retry: 'later',
    status: 503,
    openai: ['server_error', 'ledger_unavailable'],
    anthropic: 'api_error',
    says: 'The ledger cannot be reached, so that nothing can be billed now. Try again shortly.',
  },
  {
    ...UPSTREAM,
    when: 'every channel failed',
    given: providerSays(500),
    says: inEach((dialect) => `The providers of "${MODELS[dialect]}" failed (last status 500). Try again.`),
  },
  {
    when: 'every channel is overloaded',
    given: providerSays(529),
    status: { OpenAI: 503, Anthropic: 529 },
    openai: ['server_error', 'upstream_error'],
    anthropic: 'overloaded_error',
    says: inEach((dialect) => `The providers of "${MODELS[dialect]}" are overloaded. Try again in a little while.`),
  },
  ...(
    [
      [400, 'invalid_request_error'],
      [413, 'request_too_large'],
      [422, 'invalid_request_error'],
    ] as const
  ).map(([status, anthropic]): Row => ({
    when: `a provider that refuses the request with ${status}`,
    given: providerSays(status, 'the thing is wrong'),
    status,
    openai: ['invalid_request_error', null],
    anthropic,
    says: 'the thing is wrong',
  })),
  {
    ...FULL,
    when: "the provider's own rate limit",
    given: (dialect) => {
      providerOf(dialect).script(
        json(
          { error: { message: 'slow down' } },
          {
            status: 429,
            headers: { 'retry-after': '7' },
          },
        ),
      );
      return () => undefined;
    },
    says: inEach((dialect) => `The providers of "${MODELS[dialect]}" limit the rate of calls. Try again later.`),
    headers: { 'retry-after': '7' },
  },
  ...[401, 402, 403, 404].map((status): Row => ({
    ...UPSTREAM,
    when: `a provider that refuses the gateway with ${status}`,
    given: providerSays(status, `Incorrect API key provided: ${PROVIDER_KEYS.openai}`),
    says: inEach(
      (dialect) =>
        `The provider of "${MODELS[dialect]}" refuses the gateway's credential or its model ` +
        "name. The platform team sees why in the ModelRoute's status.",
    ),
  })),
];

const REQUEST_ID = /^req_[0-9a-f]{32}$/;

/** Checks the response over HTTP: the envelope of the dialect, with ids and retry headers, and no secret in it. */
async function checkHttp(row: Row, dialect: Dialect): Promise<void> {
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
async function checkSdk(row: Row, dialect: Dialect, stream: boolean): Promise<void> {
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
  await (dialect === 'OpenAI' ? checkOpenAi : checkAnthropic)(row, { ask, options, stream });
  assert.equal(requests, 1);
}

const RETRIED = /^(?:408|409|429|5..)$/;

interface SdkCall {
  readonly ask: Ask;
  readonly options: Parameters<typeof openaiClient>[1] & Parameters<typeof anthropicClient>[1];
  readonly stream: boolean;
}

async function checkOpenAi(row: Row, { ask, options, stream }: SdkCall): Promise<void> {
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

async function checkAnthropic(row: Row, { ask, options, stream }: SdkCall): Promise<void> {
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

describe.for(ROWS)('$when', (row) => {
  it.for(DIALECTS)('returns the documented error in the dialect of %s', async (dialect) => {
    const before = await spending(stack);
    const end = await row.given?.(dialect);
    try {
      await checkHttp(row, dialect);
      if (of(row.ask ?? {}, dialect).text === undefined)
        for (const stream of [false, true]) await checkSdk(row, dialect, stream);
    } finally {
      await end?.();
    }
    if (!row.when.includes('limit of calls')) assert.deepEqual(await spending(stack), before);
  });
});

it("logs neither keys nor providers' credentials", () => {
  const text = stack.gateway.logs.join('');
  for (const secret of [...Object.values(KEYS), ...Object.values(PROVIDER_KEYS)]) assert.ok(!text.includes(secret));
  assert.ok(stack.gateway.logs.length > ROWS.length);
});
