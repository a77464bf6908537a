/** One gateway over the fakes, with models of all kinds of providers, the vendors' at their own prices. */
import { secret } from '../../support/api/clouds.ts';
import { startGateway } from '../../support/gateway.ts';
import { keyManifest } from '../../support/manifests.ts';
import { startFakes } from './fakes.ts';
import { startTap } from './tap.ts';
import type { Exchange } from './tap.ts';

/** The models that every client calls, by kind of provider. */
export const MODELS = {
  OpenAI: ['gpt-4o', 'o3-mini', 'gpt-5.1'],
  Anthropic: ['claude-sonnet-4-5', 'claude-opus-4-6', 'claude-opus-4-7'],
  Responses: ['gpt-5.6'],
  // Gemini CLI calls a later model in place of one that it knows by name
  Gemini: ['gemini-of-google'],
  Converse: ['sonnet-of-bedrock'],
} as const;
export type ProviderKind = keyof typeof MODELS;

/** The members of a kind's channel, for a provider at this address. */
const CHANNELS: Readonly<Record<ProviderKind, (url: string) => string>> = {
  OpenAI: (url) => `protocol: OpenAI, baseUrl: "${url}/v1"`,
  Anthropic: (url) => `protocol: Anthropic, baseUrl: "${url}"`,
  Responses: (url) => `protocol: OpenAI, baseUrl: "${url}/v1", endpoints: [Chat, Responses]`,
  Gemini: (url) =>
    `protocol: Gemini, baseUrl: "${url}", models: [{name: gemini-of-google, upstreamName: gemini-3-pro-preview}]`,
  Converse: (url) =>
    `protocol: BedrockConverse, baseUrl: "${url}", auth: {type: ApiKey, secretRef: {name: bedrock-key}}, ` +
    'models: [{name: sonnet-of-bedrock, upstreamName: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"}]',
};

/** They cost the same. */
const OTHER_MODELS = [...MODELS.OpenAI, ...MODELS.Responses, ...MODELS.Gemini, ...MODELS.Converse];

const KEY = 'sk-clients-00000000000000000000000000000000';

export interface ClientsGateway {
  /** The address of the tap before the gateway. */
  readonly url: string;
  readonly key: string;
  /** The calls since the last call of this function. */
  takeExchanges(): readonly Exchange[];
  /** What the providers refused since the last call. */
  takeRefusals(): readonly string[];
  /** What the key has spent, in nano-USD. */
  spent(): Promise<bigint>;
  stop(): Promise<void>;
}

export async function startClientsGateway(): Promise<ClientsGateway> {
  const fakes = await startFakes();
  const gateway = await startGateway({ files: { 'clients.yaml': manifests(fakes.url) } });
  const tap = await startTap(gateway.url, () => fakes.requests);
  return {
    url: tap.url,
    key: KEY,
    takeExchanges: () => tap.take(),
    takeRefusals: () => fakes.takeRefusals(),
    spent: async () => (await gateway.ledger.readKey('team/clients', 'Never')).spentNanoUsd,
    async stop() {
      await tap.stop();
      await fakes.stop();
      await gateway.stop();
    },
  };
}

function manifests(url: string): string {
  const route = ([kind, names]: readonly [string, readonly string[]]): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: ${kind.toLowerCase()}}
spec:
  models:
${names.map((name) => `  - {name: ${name}, contextTokens: 400000, maxOutputTokens: 32000}`).join('\n')}
  channels:
  - {name: fake, ${CHANNELS[kind as ProviderKind](url)}}
---`;
  return `${keyManifest('clients', KEY, '')}
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: team, namespace: team}
spec: {grants: [{name: start, usd: "100000"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: main}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---${Object.entries(MODELS).map(route).join('')}${secret('bedrock-key', { apiKey: 'bedrock-api-key-value' })}
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: vendors}
spec:
  models:
${[...OTHER_MODELS.map((name) => price(name, 'Other', '"1.25", completionRatio: "4", cacheRatio: "0.5"')), price('claude-sonnet-4-5', 'Anthropic', '"1.5", completionRatio: "5", cacheRatio: "0.1"'), price('claude-opus-4-6', 'Anthropic', '"2.5", completionRatio: "5", cacheRatio: "0.1"'), price('claude-opus-4-7', 'Anthropic', '"2.5", completionRatio: "5", cacheRatio: "0.1"')].join('\n')}
`;
}

function price(name: string, vendor: string, ratios: string): string {
  return `  - {name: ${name}, vendor: ${vendor}, quotaType: Token, modelRatio: ${ratios}}`;
}
