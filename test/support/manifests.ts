/** Manifests for tests: the keys of two teams, over providers at given addresses, as a user would write them. */

/** Keys that the tests use; the manifests contain their Secrets. */
export const KEYS = {
  main: 'sk-test-main-000000000000000000000000000000',
  small: 'sk-test-small-00000000000000000000000000000',
  disabled: 'sk-test-disabled-00000000000000000000000000',
  expired: 'sk-test-expired-000000000000000000000000000',
  poor: 'sk-test-poor-000000000000000000000000000000',
  narrow: 'sk-test-narrow-0000000000000000000000000000',
  serial: 'sk-test-serial-0000000000000000000000000000',
  orphan: 'sk-test-orphan-0000000000000000000000000000',
  refuse: 'sk-test-refuse-0000000000000000000000000000',
} as const;

export type KeyName = keyof typeof KEYS;

/** One key's spec beyond the defaults: group `main` and account `team`. */
const SPECS: Readonly<Record<KeyName, string>> = {
  main: '',
  small: 'quota: {limitUsd: "0.01"}',
  disabled: 'enabled: false',
  expired: 'expirationTime: "2020-01-01T00:00:00Z"',
  poor: 'accountRef: {name: poor}',
  narrow: 'models: [text-model]',
  serial: 'maxConcurrency: 1',
  orphan: 'groupRef: {name: nobody}',
  refuse: 'quota: {limitUsd: "0.01", whenShort: Refuse}',
};

/** One key with its Secret. */
export function keyManifest(name: string, key: string, spec: string): string {
  const group = spec.includes('groupRef') ? '' : '  groupRef: {name: main}\n';
  const account = spec.includes('accountRef') ? '' : '  accountRef: {name: team}\n';
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ${name}, namespace: team}
spec:
${group}${account}  key: {type: Provided, secretRef: {name: ${name}-key}}
${
  spec === ''
    ? ''
    : `${spec
        .split('\n')
        .map((line) => `  ${line}`)
        .join('\n')}\n`
}---
apiVersion: v1
kind: Secret
metadata: {name: ${name}-key, namespace: team}
stringData: {apiKey: ${key}}
---
`;
}

export function keysManifest(): string {
  return (
    Object.entries(SPECS)
      .map(([name, spec]) => keyManifest(name, KEYS[name as KeyName], spec))
      .join('') + accountsManifest()
  );
}

export function accountsManifest(): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: team, namespace: team}
spec: {grants: [{name: start, usd: "1000"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: poor, namespace: team}
spec: {grants: [{name: start, usd: "0.001"}]}
`;
}

/** The providers' credentials, which no client and no log may ever contain. */
export const PROVIDER_KEYS = {
  openai: 'sk-provider-openai-secret',
  anthropic: 'sk-ant-provider-anthropic-secret',
} as const;

/** Group, routes and prices for the two providers. `extra` is added to the routes' specs. */
export function platformManifest({ openaiUrl, anthropicUrl }: { openaiUrl: string; anthropicUrl: string }): string {
  return `
apiVersion: v1
kind: Secret
metadata: {name: openai}
stringData: {apiKey: ${PROVIDER_KEYS.openai}}
---
apiVersion: v1
kind: Secret
metadata: {name: anthropic}
stringData: {apiKey: ${PROVIDER_KEYS.anthropic}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: main}
spec:
  displayName: Main
  allowedNamespaces: {from: All}
  routes: [{routeSelector: {}}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: openai}
spec:
  models:
  - {name: gpt-model, contextTokens: 100000, maxOutputTokens: 4000, inputs: [Text, Image]}
  - {name: text-model, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: tools-model, contextTokens: 100000, maxOutputTokens: 4000,
      allow: [ServerTools, ServiceTiers, FileReferences]}
  - {name: unpriced-model, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: renamed-model, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: old-field-model, contextTokens: 100000, maxOutputTokens: 4000, outputLimitField: max_tokens}
  - {name: embed-model, endpoints: [Embeddings], contextTokens: 8192}
  - {name: image-model, endpoints: [Images]}
  channels:
  - name: direct
    protocol: OpenAI
    endpoints: [Chat, Responses]
    baseUrl: ${openaiUrl}/v1
    auth: {type: ApiKey, secretRef: {name: openai, key: apiKey}}
    models: [{name: renamed-model, upstreamName: upstream-name-7}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: anthropic}
spec:
  models:
  - {name: claude-model, contextTokens: 100000, maxOutputTokens: 4000, inputs: [Text, Image]}
  channels:
  - name: direct
    protocol: Anthropic
    baseUrl: ${anthropicUrl}
    auth: {type: ApiKey, secretRef: {name: anthropic, key: apiKey}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: prices}
spec:
  models:
  - {name: gpt-model, vendor: OpenAI, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
  - {name: text-model, vendor: OpenAI, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
  - {name: tools-model, vendor: OpenAI, quotaType: Token, modelRatio: "1.25", completionRatio: "4"}
  - {name: renamed-model, vendor: OpenAI, quotaType: Token, modelRatio: "1"}
  - {name: old-field-model, vendor: OpenAI, quotaType: Token, modelRatio: "1"}
  - {name: embed-model, vendor: OpenAI, quotaType: Token, modelRatio: "0.01"}
  - {name: image-model, vendor: BFL, quotaType: Request, requestUsd: "0.04"}
  - {name: claude-model, vendor: Anthropic, quotaType: Token, modelRatio: "1.5", completionRatio: "5",
      cacheRatio: "0.1", cacheWriteRatio: "1.25"}
  - {name: shelf-model, vendor: Nobody, quotaType: Token, modelRatio: "1"}
`;
}

/** Routes that cancel a stream when its client disconnects, instead of reading it to its usage. */
export function cancelling(platform: string): string {
  return platform.replaceAll(/kind: ModelRoute\nmetadata: .*\nspec:/g, '$&\n  clientDisconnect: Cancel');
}
