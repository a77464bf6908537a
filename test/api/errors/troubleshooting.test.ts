/**
 * Each row of the table of errors: status, type, code and message, in both dialects, over HTTP and through both
 * official SDKs, streaming or not. A refusal costs nothing and leaves no hold and no slot behind.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { KEYS, keyManifest, PROVIDER_KEYS } from '../../support/manifests.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { pattern } from '../../support/pattern.ts';
import { post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import {
  anthropicError,
  anthropicMessage,
  gated,
  json,
  openaiChat,
  openaiError,
} from '../../support/provider-answers.ts';
import { bodyOf, checkHttp, checkSdk, DIALECTS, MODELS, of, PATHS } from './error-rows.ts';
import type { ByDialect, Dialect, Row } from './error-rows.ts';

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

const providerOf = (dialect: Dialect): MockProvider => (dialect === 'OpenAI' ? stack.openai : stack.anthropic);
const inEach = <T>(make: (dialect: Dialect) => T): ByDialect<T> => ({
  OpenAI: make('OpenAI'),
  Anthropic: make('Anthropic'),
});

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
  const admit = ledger.admit.bind(ledger);
  Object.assign(ledger, { admit: () => Promise.reject(new LedgerUnavailable('gone')) });
  return () => Object.assign(ledger, { admit });
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
      'This API key is not accepted: its group "nobody" does not exist. The owner of the key can choose another ' +
      'group.',
  },
  {
    ...BAD_KEY,
    when: 'a key whose group does not admit it',
    ask: { key: key('elsewhere') },
    says: 'This API key is not accepted: its group "Elsewhere" does not allow the namespace "team".',
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
    when: 'a base URL that has /v1 twice',
    ask: { base: '/v1' },
    status: 404,
    openai: ['invalid_request_error', 'not_found'],
    anthropic: 'not_found_error',
    says: inEach(
      (dialect) =>
        `There is nothing at POST /v1${PATHS[dialect]}. The path has /v1 twice: the base URL given to the SDK must ` +
        'not have /v1 where the SDK adds it (OpenAI: with /v1, Anthropic: without).',
    ),
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
  ...[301, 307, 308].map((status): Row => ({
    ...UPSTREAM,
    when: `a provider that redirects with ${status}`,
    given: providerSays(status, 'moved'),
    says: inEach(
      (dialect) =>
        `The provider of "${MODELS[dialect]}" answers with a redirect (${status}), and redirects are not followed. ` +
        "The platform team sees why in the ModelRoute's status.",
    ),
  })),
];

describe.for(ROWS)('$when', (row) => {
  it.for(DIALECTS)('returns the documented error in the dialect of %s', async (dialect) => {
    const before = await spending(stack);
    const end = await row.given?.(dialect);
    try {
      await checkHttp(stack, row, dialect);
      if (of(row.ask ?? {}, dialect).text === undefined)
        for (const stream of [false, true]) await checkSdk(stack, row, dialect, stream);
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
