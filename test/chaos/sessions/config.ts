/** The configuration of realtime sessions: a model, a price and keys of their own, which no edit changes. */
import { keyManifest } from '../../support/manifests.ts';
import { head, usd } from '../config.ts';
import { rounded } from '../oracle.ts';

export const SESSION_KEYS = ['talk', 'tight'] as const;
export type SessionKey = (typeof SESSION_KEYS)[number];
export const SESSION_MODEL = 'talk-model';
/** Transcribes what the clients say. */
export const TRANSCRIBER = 'write-model';
const ACCOUNT = 'talk';
/** What the key `tight` may spend in all rounds. */
export const TIGHT_LIMIT_NANO_USD = 400_000_000n;
export const MAX_OUTPUT_TOKENS = 1_000;
export const SESSION_CONTEXT_TOKENS = 20_000;

/** In USD per million tokens. */
const RATES = { input: '4', cached: '0.4', output: '16' } as const;
/** The same in nano-USD per token. */
const NANO_USD = { input: 4_000n, cached: 400n, output: 16_000n } as const;
/** Of the model that transcribes, by the minute. */
const MINUTE_NANO_USD = 6_000_000n;
/** So that sums are rounded. */
const RATIO = '1.777777777';
const RATIO_E9 = 1_777_777_777n;
const E9 = 10n ** 9n;

export interface TokenSum {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** The price of tokens, rounded half up to the nano-dollar. */
export function sessionPrice({ input, cached, output }: TokenSum): bigint {
  const sum = NANO_USD.input * BigInt(input) + NANO_USD.cached * BigInt(cached) + NANO_USD.output * BigInt(output);
  return rounded(sum * RATIO_E9, E9);
}

/** The price of all transcriptions of a session, rounded half up to the nano-dollar. */
export function transcriptionPrice(seconds: number): bigint {
  return rounded(MINUTE_NANO_USD * BigInt(seconds) * RATIO_E9, 60n * E9);
}

export function sessionUid(key: SessionKey): string {
  return `team/${key}`;
}

/** Has a prefix that no message of the gateway has, so that logs can be searched for it. */
export function sessionKeyString(key: SessionKey): string {
  return `sk-chaossession-${key}`.padEnd(44, 'q');
}

/** `url`: of the provider, without a path. */
export function sessionManifests(url: string): string {
  const { input, cached, output } = RATES;
  const limits = { talk: 'Unlimited', tight: `"${usd(TIGHT_LIMIT_NANO_USD)}"` };
  const keys = SESSION_KEYS.map((name) =>
    keyManifest(
      name,
      sessionKeyString(name),
      `groupRef: {name: talk}\naccountRef: {name: ${ACCOUNT}}\nquota: {limitUsd: ${limits[name]}}`,
    ),
  );
  return (
    `${head('ModelRoute', 'talk')}spec:\n` +
    `  models: [{name: ${SESSION_MODEL}, endpoints: [Realtime], contextTokens: ${SESSION_CONTEXT_TOKENS}, maxOutputTokens: ${MAX_OUTPUT_TOKENS}}, {name: ${TRANSCRIBER}, endpoints: [Transcriptions]}]\n` +
    `  channels: [{name: first, protocol: OpenAI, baseUrl: "${url}/v1"}]\n---\n` +
    `${head('Group', 'talk')}spec: {allowedNamespaces: {from: All}, priceRatio: "${RATIO}", routes: [{routeRef: {name: talk}}]}\n---\n` +
    `${head('PriceCatalog', 'talk')}spec:\n  models:\n` +
    `  - {name: ${SESSION_MODEL}, vendor: Chaos, quotaType: Token, usdPerMillion: {input: "${input}", output: "${output}", ` +
    `cacheRead: "${cached}", audioInput: "32", audioOutput: "64", imageInput: "5"}}\n` +
    `  - {name: ${TRANSCRIBER}, vendor: Chaos, quotaType: Request, perMinuteUsd: "${usd(MINUTE_NANO_USD)}"}\n---\n` +
    `${head('Account', ACCOUNT, ', namespace: team')}spec: {grants: [{name: all, usd: "1000"}]}\n---\n${keys.join('')}`
  );
}
