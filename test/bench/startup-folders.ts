/**
 * Folders as a gateway finds them when it starts: ten thousand ApiKeys whose keys are among the manifests (Provided), or in the
 * data folder from an earlier start (Generated). Written as people write them: block YAML, a file per tenant, limits out of a few
 * dozen; `distinct` has Provided keys with a limit of their own each.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatSecret } from '../../operator/files/secret-file.ts';
import { KEY_ENTRY, KEY_LABEL, ROTATION_ANNOTATION } from '../../operator/store/key-secret.ts';

export type StartupCase = (typeof STARTUP_CASES)[number];
export const STARTUP_CASES = ['small', 'provided', 'generated', 'distinct'] as const;

export interface StartupFolder {
  readonly config: string;
  readonly data: string;
}

const TENANTS = 100;
const NAMESPACE = 'model-gateway';

/** Writes both folders below `folder`; `small` has no key but one. */
export function writeStartupFolder(folder: string, startupCase: StartupCase, keys: number): StartupFolder {
  const config = join(folder, 'manifests');
  const data = join(folder, 'data');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'platform.yaml'), PLATFORM);
  const perTenant = startupCase === 'small' ? 1 : Math.ceil(keys / TENANTS);
  for (let tenant = 0; tenant < (startupCase === 'small' ? 1 : TENANTS); tenant++) {
    const type = startupCase === 'generated' ? 'Generated' : 'Provided';
    const numbers = Array.from({ length: perTenant }, (_none, index) => tenant * perTenant + index);
    const secrets = type === 'Provided' ? numbers.map((number) => providedSecret(tenant, number)) : [];
    writeFileSync(join(config, `tenant-${tenant}.yaml`), [account(tenant), ...numbers.map((number) => apiKey(tenant, number, { type, limit: startupCase === 'distinct' ? number : 10 + number % 40 })), ...secrets].join('---\n'));
    if (type === 'Generated') for (const number of numbers) writeGenerated(data, tenant, number);
  }
  return { config, data };
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

function apiKey(tenant: number, number: number, { type, limit }: { readonly type: string; readonly limit: number }): string {
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
    limitUsd: "${limit}.00"
    period: Monthly
  maxConcurrency: 8
  key:
    type: ${type}
`;
}

function providedSecret(tenant: number, number: number): string {
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

function writeGenerated(data: string, tenant: number, number: number): void {
  const namespace = `tenant-${tenant}`;
  const name = `key-${number}`;
  const folder = join(data, 'secrets', namespace);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const secret = {
    namespace, name: `${name}-key`, labels: { [KEY_LABEL]: name }, annotations: { [ROTATION_ANNOTATION]: '1' }, data: new Map([[KEY_ENTRY, keyText(number)]]),
  };
  const comment = `Made by the gateway for the ApiKey ${namespace}/${name}. Delete this file to have another key made.`;
  writeFileSync(join(folder, `${name}-key.yaml`), formatSecret(secret, comment), { mode: 0o600 });
}

function keyText(number: number): string {
  return `sk-${String(number).padStart(8, '0')}${'k'.repeat(40)}`;
}
