/** A gateway over the demo provider, with a model for each endpoint and a key of its own for each program. */
import { startDemoProvider } from '../../../demo/provider.ts';
import { startGateway } from '../../support/gateway.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { keyManifest } from '../../support/manifests.ts';

const JOB_MS = 300;
const KEEP_DAYS = 1;

export interface SdksGateway {
  readonly gateway: TestGateway;
  /** The key of the program with this name. */
  keyOf(program: string): string;
  /** What its calls have cost, in nano-USD, and what is still held for them. */
  spending(program: string): Promise<{ readonly spent: bigint; readonly held: bigint }>;
  stop(): Promise<void>;
}

export async function startSdksGateway(programs: readonly string[]): Promise<SdksGateway> {
  const demo = await startDemoProvider({ host: '127.0.0.1', port: 0, tokenMs: 0, videoMs: JOB_MS });
  const keys = programs.map((name) => keyManifest(name, keyOf(name), '')).join('\n');
  const gateway = await startGateway({
    files: { 'sdks.yaml': keys + manifests(demo.url) },
    keeping: { days: KEEP_DAYS },
  });
  return {
    gateway,
    keyOf,
    async spending(program) {
      const { spentNanoUsd, heldNanoUsd } = await gateway.ledger.readKey(`team/${program}`, 'Never');
      return { spent: spentNanoUsd, held: heldNanoUsd };
    },
    async stop() {
      await gateway.stop();
      await demo.stop();
    },
  };
}

function keyOf(program: string): string {
  return `sk-${program}-0000000000000000000000000000000000`;
}

function manifests(url: string): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: team, namespace: team}
spec: {grants: [{name: start, usd: "1000"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: main}
spec: {displayName: Main, allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: openai}
spec:
  models:
  - {name: gpt-4o-mini, inputs: [Text, Image], contextTokens: 128000, maxOutputTokens: 16000}
  - {name: text-embedding-3-small, endpoints: [Embeddings], contextTokens: 8191}
  - {name: omni-moderation-latest, endpoints: [Embeddings], contextTokens: 8191}
  - {name: gpt-image-1, endpoints: [Images], inputs: [Text, Image]}
  - {name: sora-2, endpoints: [Videos]}
  - {name: tts-1, endpoints: [Speech]}
  - {name: whisper-1, endpoints: [Transcriptions]}
  - {name: gpt-realtime, endpoints: [Realtime], contextTokens: 32000, maxOutputTokens: 4096}
  channels:
  - {name: demo, protocol: OpenAI, endpoints: [Chat, Responses, Batches], baseUrl: "${url}/v1"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: claude}
spec:
  models: [{name: claude-sonnet-4-6, inputs: [Text, Image], contextTokens: 200000, maxOutputTokens: 64000}]
  channels: [{name: demo, protocol: Anthropic, endpoints: [Chat, Batches], baseUrl: "${url}"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: prices}
spec:
  models:
  - {name: gpt-4o-mini, vendor: OpenAI, quotaType: Token, modelRatio: "0.075", completionRatio: "4"}
  - {name: claude-sonnet-4-6, vendor: Anthropic, quotaType: Token, modelRatio: "1.5", completionRatio: "5"}
  - {name: text-embedding-3-small, vendor: OpenAI, quotaType: Token, modelRatio: "0.01"}
  - {name: omni-moderation-latest, vendor: OpenAI, quotaType: Token, modelRatio: "0.01"}
  - {name: gpt-image-1, vendor: OpenAI, quotaType: Request, requestUsd: "0.04"}
  - {name: sora-2, vendor: OpenAI, quotaType: Request, requestUsd: "0.1"}
  - {name: tts-1, vendor: OpenAI, quotaType: Request, perMillionCharactersUsd: "15"}
  - {name: whisper-1, vendor: OpenAI, quotaType: Request, perMinuteUsd: "0.006"}
  - {name: gpt-realtime, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "4", output: "16", cacheRead: "0.4", audioInput: "32", audioOutput: "64", imageInput: "5"}}
`;
}
