/**
 * What the SDK suites share: a gateway, clients as a user makes them (default fetch, default retries), and the books.
 * The books say after each test which requests the gateway saw and what each of them cost: nothing more, nothing less,
 * and nothing held.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import type { ClientOptions as AnthropicOptions } from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { ClientOptions as OpenAIOptions } from 'openai';
import { formatDecimal } from '../../../dataplane/snapshot/decimal.ts';
import { get, nothingLeaks } from './world.ts';
import type { World } from './world.ts';
import { KEYS } from '../manifests.ts';

/** A client of OpenAI's SDK with the main key, as its README makes one. */
export function openaiClient(world: World, options: OpenAIOptions = {}): OpenAI {
  return new OpenAI({
    apiKey: KEYS.main, baseURL: `${world.gateway.url}/v1`, organization: null, project: null, ...options,
  });
}

/** A client of Anthropic's SDK with the main key. */
export function anthropicClient(world: World, options: AnthropicOptions = {}): Anthropic {
  return new Anthropic({ apiKey: KEYS.main, authToken: null, baseURL: world.gateway.url, ...options });
}

/** The test prices in nano-USD per token, as test/support/manifests.ts has them in ratios. */
export const GPT = { input: 2_500n, cached: 1_250n, output: 10_000n } as const;
export const CLAUDE = { input: 3_000n, cached: 300n, write5m: 3_750n, write1h: 6_000n, output: 15_000n } as const;
export const EMBEDDING_TOKEN = 20n;
export const IMAGE = 40_000_000n;

/** A text of ten tokens of the tokenizer's vocabulary, by which a client that leaves is billed. */
export const TEN_TOKENS = 'The quick brown fox jumps over the lazy dog.';

/** A route that stops its provider when a client leaves, at the test prices: gpt-cancel or claude-cancel. */
export function cancelManifest(protocol: 'OpenAI' | 'Anthropic', url: string): string {
  const [name, baseUrl, price] = protocol === 'OpenAI'
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

/** One request as the gateway saw it. `source` is asked for where the call cost something; default Provider. */
export interface Expected {
  /** Undefined: whether its status went out before the client left is a matter of chance. */
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

/** A call that was answered at this cost. */
export function paid(costNanoUsd: bigint): Expected {
  return { status: 200, costNanoUsd };
}

/** A call that was answered, or refused, and cost nothing. */
export function free(status = 200): Expected {
  return { status };
}

/** A call that has not ended after this time is a fault. With Cancel the gateway waits 2 s for a provider's figures. */
const SETTLED_WITHIN_MS = 20_000;

export class Books {
  readonly #world: World;
  readonly #keys: Readonly<Record<string, string>>;
  #linesBefore = 0;
  #spentBefore = 0n;
  #closed = true;

  /** @param keys the keys of the tests, by name, besides the usual ones */
  constructor(world: World, keys: Readonly<Record<string, string>> = {}) {
    this.#world = world;
    this.#keys = { ...KEYS, ...keys };
  }

  /** Before each test. */
  async open(): Promise<void> {
    this.#linesBefore = this.#world.gateway.logs.length;
    this.#spentBefore = await this.#spent();
    this.#closed = false;
  }

  /** Once no call is running: the requests since open(), in the order in which they ended. */
  async check(...expected: readonly Expected[]): Promise<readonly LoggedCall[]> {
    this.#closed = true;
    await this.#settled(expected.length);
    const calls = this.#calls();
    assert.deepEqual(calls.map(({ status }, index) => (expected[index]?.status === undefined
      ? undefined
      : status)), expected.map(({ status }) => status), 'other requests than expected');
    for (const [index, call] of calls.entries()) await this.#checkRecord(call, expected[index]!);
    const owed = expected.reduce((sum, { costNanoUsd = 0n }) => sum + costNanoUsd, 0n);
    assert.equal(await this.#spent() - this.#spentBefore, owed, 'the account paid something else');
    return calls;
  }

  /** After each test: a test that did not look into the books says nothing. */
  assertChecked(): void {
    this.#world.openai.clear();
    this.#world.anthropic.clear();
    assert.ok(this.#closed, 'the test did not check what its calls cost');
    assert.ok(nothingLeaks(this.#world), 'a hold or a slot was left behind');
  }

  async #checkRecord(call: LoggedCall, { costNanoUsd = 0n, source = 'Provider' }: Expected): Promise<void> {
    assert.equal(call.cost_usd ?? '0', formatDecimal(costNanoUsd), `cost of ${call.endpoint}`);
    if (costNanoUsd === 0n) return;
    const key = this.#keys[call.key?.replace('team/', '') ?? ''];
    assert.ok(key !== undefined, `the key ${call.key} is unknown to this test`);
    const record = (await get(this.#world, `/v1/usage/${call.request_id}`, { 'x-api-key': key })).json();
    assert.equal(record.cost_usd, formatDecimal(costNanoUsd, 2));
    assert.equal(record.usage_source, source);
    assert.equal(record.unbilled_usd, '0.00');
  }

  /** Calls whose client left end a little later. */
  async #settled(calls: number): Promise<void> {
    for (const startMs = performance.now(); performance.now() - startMs < SETTLED_WITHIN_MS;) {
      if (nothingLeaks(this.#world) && this.#calls().length >= calls) return;
      await delay(2);
    }
  }

  /** Reading a usage record is not what is tested here. */
  #calls(): LoggedCall[] {
    return this.#world.gateway.logs.slice(this.#linesBefore)
      .map((line): LoggedCall => JSON.parse(line))
      .filter(({ request_id: id, endpoint }) => id !== undefined && endpoint !== undefined && endpoint !== 'usage');
  }

  async #spent(): Promise<bigint> {
    const { ledger } = this.#world.gateway;
    const [team, poor] = await Promise.all([ledger.readAccount('team/team'), ledger.readAccount('team/poor')]);
    return team.spentNanoUsd + poor.spentNanoUsd;
  }
}

/** The error that a call fails with, of the class that its user catches. */
export async function caught<E extends Error>(
  call: PromiseLike<unknown>, type: abstract new (...args: never[]) => E,
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
