/** One gateway over the fakes, with models of both kinds of provider at the vendors' own prices. */
import { startGateway } from '../../support/gateway.ts';
import { keyManifest } from '../../support/manifests.ts';
import { startFakes } from './fakes.ts';
import { startTap } from './tap.ts';
import type { Exchange } from './tap.ts';

/** The models that every client calls, by kind of provider. */
export const MODELS = {
  OpenAI: ['gpt-4o', 'o3-mini', 'gpt-5.1'],
  Anthropic: ['claude-sonnet-4-5', 'claude-opus-4-6', 'claude-opus-4-7'],
} as const;
export type ProviderKind = keyof typeof MODELS;

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
  const route = (kind: ProviderKind, baseUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: ${kind.toLowerCase()}}
spec:
  models:
${MODELS[kind].map((name) => `  - {name: ${name}, contextTokens: 400000, maxOutputTokens: 32000}`).join('\n')}
  channels:
  - {name: fake, protocol: ${kind}, baseUrl: "${baseUrl}"}
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
---${route('OpenAI', `${url}/v1`)}${route('Anthropic', url)}
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: vendors}
spec:
  models:
${[...MODELS.OpenAI.map((name) => price(name, 'OpenAI', '"1.25", completionRatio: "4", cacheRatio: "0.5"')), price('claude-sonnet-4-5', 'Anthropic', '"1.5", completionRatio: "5", cacheRatio: "0.1"'), price('claude-opus-4-6', 'Anthropic', '"2.5", completionRatio: "5", cacheRatio: "0.1"'), price('claude-opus-4-7', 'Anthropic', '"2.5", completionRatio: "5", cacheRatio: "0.1"')].join('\n')}
`;
}

function price(name: string, vendor: string, ratios: string): string {
  return `  - {name: ${name}, vendor: ${vendor}, quotaType: Token, modelRatio: ${ratios}}`;
}
