/**
 * The fixture of tests with whole processes: limited keys on one account, and a provider whose usage identifies the
 * call.
 */
import { keyManifest, platformManifest } from '../manifests.ts';
import { startMockProvider } from '../mock-provider.ts';
import type { MockProvider, RecordedRequest, Reply } from '../mock-provider.ts';
import { anthropicMessage, anthropicStream, openaiChat, openaiStream } from '../provider-answers.ts';
import { createHome } from './process.ts';
import type { GatewayHome } from './process.ts';

/** Returns a key's string by its name. */
export function keyOf(name: string): string {
  return `sk-promise-${name}-`.padEnd(43, '0');
}

interface KeySpec {
  readonly name: string;
  /** Additional lines of the spec. */
  readonly spec?: string;
}

export interface Scene {
  readonly home: GatewayHome;
  readonly provider: MockProvider;
  remove(): Promise<void>;
}

/**
 * Keys of group main and account team/shared, over one provider that speaks both protocols. `more`: further manifests.
 */
export async function createScene({
  keys,
  creditUsd,
  more,
}: {
  keys: readonly KeySpec[];
  creditUsd: string;
  more?: (url: string) => string;
}): Promise<Scene> {
  const provider = await startMockProvider();
  const home = await createHome({
    'platform.yaml': platformManifest({ openaiUrl: provider.url, anthropicUrl: provider.url }),
    'keys.yaml': sharedKeys(keys, creditUsd),
    'more.yaml': more?.(provider.url) ?? '',
  });
  return {
    home,
    provider,
    async remove() {
      await home.remove();
      await provider.stop();
    },
  };
}

/** Keys that share one account. */
export function sharedKeys(keys: readonly KeySpec[], creditUsd: string): string {
  return (
    keys
      .map(({ name, spec }) =>
        keyManifest(name, keyOf(name), `accountRef: {name: shared}${spec === undefined ? '' : `\n${spec}`}`),
      )
      .join('') +
    `
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: shared, namespace: team}
spec: {grants: [{name: start, usd: "${creditUsd}"}]}
`
  );
}

export const KINDS = ['openai stream', 'openai whole', 'anthropic stream', 'anthropic whole'] as const;
export type Kind = (typeof KINDS)[number];

/** A call that is identified by the token counts that the provider reports. */
export interface NumberedCall {
  readonly n: number;
  readonly kind: Kind;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNanoUsd: bigint;
}

const MAX_TOKENS = 300;
/** Enough text to keep the reported input below the call's bound. */
const TEXT = 'x'.repeat(1200);

/** `n` from 0 to 999. */
export function numberedCall(n: number): NumberedCall {
  const kind = KINDS[n % KINDS.length] ?? 'openai stream';
  const openai = kind.startsWith('openai');
  const [inputTokens, outputTokens] = [100 + n, 20 + (n % 250)];
  return {
    n,
    kind,
    inputTokens,
    outputTokens,
    path: openai ? '/v1/chat/completions' : '/v1/messages',
    body: {
      model: openai ? 'gpt-model' : 'claude-model',
      max_tokens: MAX_TOKENS,
      stream: kind.endsWith('stream'),
      messages: [{ role: 'user', content: `call ${n} ${TEXT}` }],
    },
    costNanoUsd: BigInt(inputTokens) * (openai ? 2_500n : 3_000n) + BigInt(outputTokens) * (openai ? 10_000n : 15_000n),
  };
}

/** Returns the number of the call that a request belongs to. */
export function numberIn(request: RecordedRequest): number {
  return Number(/call (\d+) /.exec(request.body.toString())?.[1]);
}

/** The provider's response to a numbered call. */
export function answerNumbered(request: RecordedRequest): Reply {
  const { kind, inputTokens, outputTokens } = numberedCall(numberIn(request));
  const openai = { usage: { prompt_tokens: inputTokens, completion_tokens: outputTokens } };
  const anthropic = { usage: { input_tokens: inputTokens, output_tokens: outputTokens } };
  switch (kind) {
    case 'openai stream':
      return openaiStream(['a', 'b', 'c'], openai);
    case 'openai whole':
      return openaiChat(openai);
    case 'anthropic stream':
      return anthropicStream(['a', 'b', 'c'], anthropic);
    case 'anthropic whole':
      return anthropicMessage(anthropic);
  }
}

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A seed that once found a failure that was reported too late. */
const STEADY_SEED = 276_542;

/**
 * The seed of this run: SEED if it is set, to reproduce a failure. In CI it is constant, so that a failure is caused by
 * the change; otherwise it is random, to find more.
 */
export function seedOfRun(): number {
  return Number(process.env['SEED'] ?? (process.env['CI'] ? STEADY_SEED : Date.now() % 1_000_000));
}
