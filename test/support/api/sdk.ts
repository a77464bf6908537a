/**
 * The fixture of the SDK suites: a gateway, clients as a user creates them (default fetch and retries), and Books,
 * which checks after each test which requests the gateway got, what each cost, and that nothing is held.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import type { ClientOptions as AnthropicOptions } from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { ClientOptions as OpenAIOptions } from 'openai';
import { formatDecimal } from '#snapshot/decimal.ts';
import { get, nothingLeaks } from './test-stack.ts';
import type { TestStack } from './test-stack.ts';
import { KEYS } from '../manifests.ts';

/** A client of OpenAI's SDK with the main key, created as in the SDK's README. */
export function openaiClient(stack: TestStack, options: OpenAIOptions = {}): OpenAI {
  return new OpenAI({
    apiKey: KEYS.main,
    baseURL: `${stack.gateway.url}/v1`,
    organization: null,
    project: null,
    ...options,
  });
}

/** A client of Anthropic's SDK with the main key. */
export function anthropicClient(stack: TestStack, options: AnthropicOptions = {}): Anthropic {
  return new Anthropic({ apiKey: KEYS.main, authToken: null, baseURL: stack.gateway.url, ...options });
}

/** The test prices in nano-USD per token; test/support/manifests.ts has them as ratios. */
export const GPT = { input: 2_500n, cached: 1_250n, output: 10_000n } as const;
export const CLAUDE = { input: 3_000n, cached: 300n, write5m: 3_750n, write1h: 6_000n, output: 15_000n } as const;
export const EMBEDDING_TOKEN = 20n;
export const IMAGE = 40_000_000n;

/** A text of ten tokens in the tokenizer's vocabulary, for the bills of disconnected clients. */
export const TEN_TOKENS = 'The quick brown fox jumps over the lazy dog.';

/** A route that cancels its provider when a client disconnects, at the test prices: gpt-cancel or claude-cancel. */
export function cancelManifest(protocol: 'OpenAI' | 'Anthropic', url: string): string {
  const [name, baseUrl, price] =
    protocol === 'OpenAI'
      ? ['gpt-cancel', `${url}/v1`, 'modelRatio: "1.25", completionRatio: "4"']
      : ['claude-cancel', url, 'modelRatio: "1.5", completionRatio: "5"'];
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: cancel}
spec:
  models: [{name: ${name}, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: only, protocol: ${protocol}, baseUrl: "${baseUrl}"}]
  clientDisconnect: Cancel
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: cancel}
spec: {models: [{name: ${name}, vendor: Test, quotaType: Token, ${price}}]}
`;
}

/** A request as the gateway got it. `source` is checked for calls with a cost; default Provider. */
export interface Expected {
  /** Undefined if it depends on timing whether the status was sent before the client disconnected. */
  readonly status: number | undefined;
  readonly costNanoUsd?: bigint;
  readonly source?: 'Provider' | 'Estimated' | 'Partial';
}

/** A call's log line. */
export interface LoggedCall {
  readonly request_id: string;
  readonly endpoint: string;
  readonly status: number;
  readonly error_code?: string;
  readonly key?: string;
  readonly cost_usd?: string;
}

/** A call with a response, at this cost. */
export function paid(costNanoUsd: bigint): Expected {
  return { status: 200, costNanoUsd };
}

/** A call with a response or a refusal, at no cost. */
export function free(status = 200): Expected {
  return { status };
}

/** A call that has not ended by then is an error. With Cancel, the gateway waits 2 s for the provider's usage. */
const SETTLED_WITHIN_MS = 20_000;

export class Books {
  readonly #stack: TestStack;
  readonly #keys: Readonly<Record<string, string>>;
  #linesBefore = 0;
  #spentBefore = 0n;
  #closed = true;

  /** @param keys the keys of the tests, by name, besides the usual ones */
  constructor(stack: TestStack, keys: Readonly<Record<string, string>> = {}) {
    this.#stack = stack;
    this.#keys = { ...KEYS, ...keys };
  }

  /** Called before each test. */
  async open(): Promise<void> {
    this.#linesBefore = this.#stack.gateway.logs.length;
    this.#spentBefore = await this.#spent();
    this.#closed = false;
  }

  /** Waits until no call is running, and checks the requests since open() in the order in which they ended. */
  async check(...expected: readonly Expected[]): Promise<readonly LoggedCall[]> {
    this.#closed = true;
    await this.#settled(expected.length);
    const calls = this.#calls();
    assert.deepEqual(
      calls.map(({ status }, index) => (expected[index]?.status === undefined ? undefined : status)),
      expected.map(({ status }) => status),
      'other requests than expected',
    );
    for (const [index, call] of calls.entries()) await this.#checkRecord(call, expected[index]!);
    const owed = expected.reduce((sum, { costNanoUsd = 0n }) => sum + costNanoUsd, 0n);
    assert.equal((await this.#spent()) - this.#spentBefore, owed, 'the account paid something else');
    return calls;
  }

  /** Called after each test: fails if the test has not checked its requests. */
  assertChecked(): void {
    this.#stack.openai.clear();
    this.#stack.anthropic.clear();
    assert.ok(this.#closed, 'the test did not check what its calls cost');
    assert.ok(nothingLeaks(this.#stack), 'a hold or a slot was left behind');
  }

  async #checkRecord(call: LoggedCall, { costNanoUsd = 0n, source = 'Provider' }: Expected): Promise<void> {
    assert.equal(call.cost_usd ?? '0', formatDecimal(costNanoUsd), `cost of ${call.endpoint}`);
    if (costNanoUsd === 0n) return;
    const key = this.#keys[call.key?.replace('team/', '') ?? ''];
    assert.ok(key !== undefined, `the key ${call.key} is unknown to this test`);
    const record = (await get(this.#stack, `/v1/usage/${call.request_id}`, { 'x-api-key': key })).json();
    assert.equal(record.cost_usd, formatDecimal(costNanoUsd, 2));
    assert.equal(record.usage_source, source);
    assert.equal(record.unbilled_usd, '0.00');
  }

  /** Calls whose client has disconnected end a little later. */
  async #settled(calls: number): Promise<void> {
    for (const startMs = performance.now(); performance.now() - startMs < SETTLED_WITHIN_MS;) {
      if (nothingLeaks(this.#stack) && this.#calls().length >= calls) return;
      await delay(2);
    }
  }

  /** Requests for usage records are not counted. */
  #calls(): LoggedCall[] {
    return this.#stack.gateway.logs
      .slice(this.#linesBefore)
      .map((line): LoggedCall => JSON.parse(line))
      .filter(({ request_id: id, endpoint }) => id !== undefined && endpoint !== undefined && endpoint !== 'usage');
  }

  async #spent(): Promise<bigint> {
    const { ledger } = this.#stack.gateway;
    const [team, poor] = await Promise.all([ledger.readAccount('team/team'), ledger.readAccount('team/poor')]);
    return team.spentNanoUsd + poor.spentNanoUsd;
  }
}

/** Returns the error of a call, which must have the class that users catch. */
export async function caught<E extends Error>(
  call: PromiseLike<unknown>,
  type: abstract new (...args: never[]) => E,
): Promise<E> {
  let result: unknown;
  try {
    result = await call;
  } catch (error) {
    assert.ok(error instanceof type, `${String(error)} is not a ${type.name}`);
    return error;
  }
  throw new assert.AssertionError({ message: `no error, but ${JSON.stringify(result)}` });
}

/** Reads a stream to its end. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(stream);
}
