/**
 * Continuous calls in both dialects and by both entrances. Every failure is recorded. Calls are retried only if the
 * gateway defers them because its ledger did not respond within 200 ms, which happens when a dozen pods share two
 * cores; they are sent again as the SDKs do.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ask } from '../../support/api/client.ts';
import type { Seen } from '../../support/api/client.ts';
import { ENTRANCES } from './cluster-release.ts';
import type { Entrance } from './cluster-release.ts';

export interface Call extends Seen {
  readonly via: Entrance;
  readonly dialect: 'OpenAI' | 'Anthropic';
  readonly sentMs: number;
  readonly overMs: number;
  /** The cost by the usage in the response; undefined if there is none. */
  readonly costNanoUsd: bigint | undefined;
  /** It was deferred, and sent again. */
  readonly again: boolean;
}

export interface Traffic {
  /** The number of ended calls so far. */
  readonly calls: readonly Call[];
  /** Starts no new calls; resolves when the running ones have ended. */
  stop(): Promise<readonly Call[]>;
}

interface TrafficOptions {
  readonly urls: Readonly<Record<Entrance, string>>;
  /** The keys; each lane uses one. */
  readonly keys: readonly string[];
  /** Concurrent calls. */
  readonly lanes: number;
  /** The number of words in an answer; the demo provider produces one in 12 ms. */
  readonly words: number;
}

const AFTER_FAILURE_MS = 200;
/** As often as the SDKs do. */
const MOST_TRIES = 3;
/**
 * Of docs/examples/kubernetes/first-call, in nano-USD per token: ratio 0.075, completion ratio 4, 2 USD per million
 * tokens.
 */
const PRICE = { input: 150n, output: 600n } as const;

export function startTraffic({ urls, keys, lanes, words }: TrafficOptions): Traffic {
  const calls: Call[] = [];
  const stopping = new AbortController();
  const running = Array.from({ length: lanes }, async (_, lane) => {
    const via = ENTRANCES[lane % ENTRANCES.length] ?? 'edge';
    const dialect = lane % 4 < 2 ? 'OpenAI' : 'Anthropic';
    // neither by the way nor by the dialect
    const key = keys[(lane >> 2) % keys.length] ?? '';
    for (let tries = 1; !stopping.signal.aborted; tries++) {
      const sentMs = Date.now();
      const seen = await ask(urls[via], { key, ...question(dialect, `long ${words}`) });
      const again = tries < MOST_TRIES && isPutOff(seen);
      calls.push({ ...seen, via, dialect, sentMs, overMs: Date.now(), costNanoUsd: costOf(seen.text), again });
      if (!again) tries = 0;
      if (seen.status !== 200) await delay(again ? Number(seen.headers.get('retry-after')) * 1000 : AFTER_FAILURE_MS);
    }
  });
  return {
    calls,
    async stop() {
      stopping.abort();
      await Promise.all(running);
      return calls;
    },
  };
}

function question(dialect: Call['dialect'], content: string): { readonly path: string; readonly body: object } {
  const body = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content }] };
  return dialect === 'OpenAI'
    ? { path: '/v1/chat/completions', body: { ...body, stream_options: { include_usage: true } } }
    : { path: '/v1/messages', body: { ...body, max_tokens: 1000 } };
}

/** By the last usage in the stream, of either dialect. */
function costOf(text: string): bigint | undefined {
  const last = (pattern: RegExp): bigint | undefined =>
    [...text.matchAll(pattern)].map(([, digits = '']) => BigInt(digits)).at(-1);
  const [input, output] = [
    last(/"(?:prompt_tokens|input_tokens)":(\d+)/g),
    last(/"(?:completion_tokens|output_tokens)":(\d+)/g),
  ];
  return input === undefined || output === undefined ? undefined : input * PRICE.input + output * PRICE.output;
}

function isPutOff({ status, text }: Seen): boolean {
  return status === 503 && text.includes('The ledger cannot be reached');
}

/** Because its key is used up. */
export function isSpent({ status, headers }: Call): boolean {
  return status === 429 && headers.get('x-should-retry') === 'false';
}

/** Returns the calls that failed for a user, with reasons. */
export function failures(calls: readonly Call[]): string[] {
  return calls
    .filter(
      (call) =>
        !call.again &&
        !isSpent(call) &&
        (call.status !== 200 || !call.ended || /event: error|"error":\{/.test(call.text)),
    )
    .map(
      ({ via, dialect, status, sentMs, overMs, text, id, broken }) =>
        `${new Date(sentMs).toISOString()} ` +
        `${dialect} by ${via}: ${status} ${broken} after ${overMs - sentMs} ms ${id} ${text.slice(-300)}`,
    );
}
