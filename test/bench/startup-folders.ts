/** A folder of manifests as people write them: block YAML, a file per tenant, few different quotas, Provided keys. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface StartupFolder {
  readonly config: string;
  readonly data: string;
  /** A key that is among the manifests. */
  readonly key: string;
}

const MOST_TENANTS = 100;
const QUOTAS = 40;
const NAMESPACE = 'model-gateway';

/** Writes manifests with so many keys below `folder`; the data folder is not there yet. */
export function writeStartupFolder(folder: string, keys: number): StartupFolder {
  const config = join(folder, 'manifests');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'platform.yaml'), PLATFORM);
  const tenants = Math.min(keys, MOST_TENANTS);
  const perTenant = Math.ceil(keys / tenants);
  for (let tenant = 0; tenant < tenants; tenant++) {
    const numbers = Array.from({ length: perTenant }, (_none, index) => tenant * perTenant + index);
    const objects = [
      account(tenant),
      ...numbers.flatMap((number) => [apiKey(tenant, number), keySecret(tenant, number)]),
    ];
    writeFileSync(join(config, `tenant-${tenant}.yaml`), objects.join('---\n'));
  }
  return { config, data: join(folder, 'data'), key: keyText(0) };
}

const PLATFORM = `apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata:
  name: openai
spec:
  models:
    - name: gpt
      contextTokens: 128000
      maxOutputTokens: 16384
  channels:
    - name: direct
      protocol: OpenAI
      baseUrl: http://127.0.0.1:9/v1
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata:
  name: prices
spec:
  models:
    - name: gpt
      vendor: OpenAI
      quotaType: Token
      modelRatio: "1.25"
      completionRatio: "4"
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata:
  name: everyone
  namespace: ${NAMESPACE}
spec:
  allowedNamespaces:
    from: All
  routes:
    - routeSelector: {}
`;

function account(tenant: number): string {
  return `apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata:
  name: tenant
  namespace: tenant-${tenant}
spec:
  grants:
    - name: "2026-11"
      usd: "1000.00"
`;
}

function apiKey(tenant: number, number: number): string {
  return `apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata:
  name: key-${number}
  namespace: tenant-${tenant}
  labels:
    team: team-${number % 7}
spec:
  groupRef:
    name: everyone
  accountRef:
    name: tenant
  quota:
    limitUsd: "${10 + (number % QUOTAS)}.00"
    period: Monthly
  maxConcurrency: 8
  key:
    type: Provided
`;
}

function keySecret(tenant: number, number: number): string {
  return `apiVersion: v1
kind: Secret
metadata:
  name: key-${number}-key
  namespace: tenant-${tenant}
type: Opaque
stringData:
  apiKey: ${keyText(number)}
`;
}

function keyText(number: number): string {
  return `sk-${String(number).padStart(8, '0')}${'k'.repeat(40)}`;
}
