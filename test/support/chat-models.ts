/** A route to models of a provider that serves chat completions only, beside the default manifests. */

export function chatModelsManifest({ openaiUrl }: { openaiUrl: string }): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: chats}
spec:
  models:
  - {name: chat-model, contextTokens: 100000, maxOutputTokens: 4000, inputs: [Text, Image]}
  - {name: deepseek-model, contextTokens: 100000, maxOutputTokens: 4000, outputLimitField: max_tokens}
  channels:
  - name: direct
    protocol: OpenAI
    baseUrl: ${openaiUrl}/v1
    auth: {type: ApiKey, secretRef: {name: openai, key: apiKey}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: chat-prices}
spec:
  models:
  - {name: chat-model, vendor: Other, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
  - {name: deepseek-model, vendor: Other, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
`;
}
