/** The configuration of batches: models, prices and a key of their own, which no edit changes. */
import { keyManifest } from '../../support/manifests.ts';
import { head } from '../config.ts';
import { rounded } from '../oracle.ts';

export const BATCH_MODELS = { OpenAI: 'bulk-chat', Anthropic: 'bulk-claude' } as const;
export type BatchProtocol = keyof typeof BATCH_MODELS;
export const BATCH_KEY_UID = 'team/bulk';
/** Has a prefix that no message of the gateway has, so that logs can be searched for it. */
export const BATCH_KEY = 'sk-chaosbatch-bulk'.padEnd(44, 'q');
/** The output limit of every request. */
export const BATCH_OUTPUT_TOKENS = 200;

/** In nano-USD per token. */
const NANO_USD = { input: 1_700n, output: 6_300n } as const;
/** So that sums are rounded. */
const RATIO = '1.333333333';
const RATIO_E9 = 1_333_333_333n;
/** Of a batch, in hundredths. */
const BATCH_PERCENT = 37n;
const DENOMINATOR = 10n ** 9n * 100n;

/** The price of a batch's tokens, rounded half up to the nano-dollar. */
export function batchPrice({ input, output }: { readonly input: number; readonly output: number }): bigint {
  const sum = (NANO_USD.input * BigInt(input) + NANO_USD.output * BigInt(output)) * BATCH_PERCENT * RATIO_E9;
  return rounded(sum, DENOMINATOR);
}

/** `urls`: of the providers, without a path. */
export function batchManifests(urls: Readonly<Record<BatchProtocol, string>>): string {
  const route = (protocol: BatchProtocol, name: string, baseUrl: string): string =>
    `${head('ModelRoute', name)}spec:\n  models: [{name: ${BATCH_MODELS[protocol]}, contextTokens: 20000, maxOutputTokens: 1000}]\n` +
    `  channels: [{name: first, protocol: ${protocol}, endpoints: [Chat, Batches], baseUrl: "${baseUrl}"}]\n---\n`;
  const price = (protocol: BatchProtocol): string =>
    `  - {name: ${BATCH_MODELS[protocol]}, vendor: Chaos, quotaType: Token, usdPerMillion: {input: "1.7", output: "6.3"}, ` +
    `serviceTiers: {batch: {multiplier: "0.${BATCH_PERCENT}"}}}\n`;
  return (
    route('OpenAI', 'bulk-openai', `${urls.OpenAI}/v1`) +
    route('Anthropic', 'bulk-anthropic', urls.Anthropic) +
    `${head('Group', 'bulk')}spec: {allowedNamespaces: {from: All}, priceRatio: "${RATIO}", ` +
    `routes: [{routeRef: {name: bulk-openai}}, {routeRef: {name: bulk-anthropic}}]}\n---\n` +
    `${head('PriceCatalog', 'bulk')}spec:\n  models:\n${price('OpenAI')}${price('Anthropic')}---\n` +
    `${head('Account', 'bulk', ', namespace: team')}spec: {grants: [{name: all, usd: "1000"}]}\n---\n` +
    keyManifest('bulk', BATCH_KEY, 'groupRef: {name: bulk}\naccountRef: {name: bulk}\nquota: {limitUsd: Unlimited}')
  );
}
