/** Routes to providers that take batches, beside the default manifests. */

/** Nano-USD per token of batch-model and claude-batch, in and out, in a batch. */
export const BATCH_PRICE = 1_000n;
/** The same in a single call, and in batches of models without a price of batches. */
export const STANDARD_PRICE = 2_000n;

export function batchesManifest({ openaiUrl, anthropicUrl }: { openaiUrl: string; anthropicUrl: string }): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: batches}
spec:
  models:
  - {name: batch-model, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: dear-batch-model, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: tiered-batch-model, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: batch-embed, endpoints: [Embeddings], contextTokens: 8192}
  channels:
  - name: direct
    protocol: OpenAI
    endpoints: [Chat, Responses, Batches]
    baseUrl: ${openaiUrl}/v1
    auth: {type: ApiKey, secretRef: {name: openai, key: apiKey}}
    maxConcurrency: 100
    models: [{name: batch-model, upstreamName: upstream-name-7}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: several}
spec:
  models:
  - {name: several-model, contextTokens: 100000, maxOutputTokens: 4000}
  channels:
  - {name: chats, priority: 0, protocol: OpenAI, endpoints: [Chat], baseUrl: "${openaiUrl}/v1"}
  - {name: broken, priority: 1, protocol: OpenAI, endpoints: [Chat, Batches], baseUrl: "${openaiUrl}/broken"}
  - {name: working, priority: 2, protocol: OpenAI, endpoints: [Chat, Batches], baseUrl: "${openaiUrl}/v1"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: message-batches}
spec:
  models:
  - {name: claude-batch, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: claude-dear-batch, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: claude-same-batch, contextTokens: 100000, maxOutputTokens: 4000}
  channels:
  - name: direct
    protocol: Anthropic
    endpoints: [Chat, Batches]
    baseUrl: ${anthropicUrl}
    auth: {type: ApiKey, secretRef: {name: anthropic, key: apiKey}}
    models:
    - {name: claude-batch, upstreamName: claude-upstream-9}
    - {name: claude-dear-batch, upstreamName: claude-dear-upstream-9}
    - {name: claude-same-batch, upstreamName: claude-upstream-9-latest}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: batch-prices}
spec:
  models:
  - {name: batch-model, vendor: OpenAI, quotaType: Token, modelRatio: "1", serviceTiers: {batch: {multiplier: "0.5"}}}
  - {name: dear-batch-model, vendor: OpenAI, quotaType: Token, modelRatio: "1"}
  - {name: several-model, vendor: OpenAI, quotaType: Token, modelRatio: "1"}
  - name: tiered-batch-model
    vendor: OpenAI
    quotaType: Token
    usdPerMillion: {input: "1", output: "3"}
    contextTiers: [{above: 1000, inputMultiplier: "2", outputMultiplier: "1"}]
    serviceTiers: {batch: {multiplier: "0.333"}}
  - {name: batch-embed, vendor: OpenAI, quotaType: Token, modelRatio: "0.5", serviceTiers: {batch: {multiplier: "0.5"}}}
  - {name: claude-batch, vendor: Anthropic, quotaType: Token, modelRatio: "1", serviceTiers: {batch: {multiplier: "0.5"}}}
  - {name: claude-dear-batch, vendor: Anthropic, quotaType: Token, modelRatio: "3", serviceTiers: {batch: {multiplier: "0.5"}}}
  - {name: claude-same-batch, vendor: Anthropic, quotaType: Token, modelRatio: "1"}
`;
}
