/** Support of the operator's tests: manifests as Resources, and a temporary folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { loadApiKinds } from '#crds/load.ts';
import type { Account, ApiKey } from '#crds/types.gen.ts';
import { countGenerations } from '#manifests/generations.ts';
import { createLoader } from '#manifests/load-folder.ts';
import type { LoadedFolder } from '#manifests/load-folder.ts';
import { allOf } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';

export const GATEWAY_NAMESPACE = 'model-gateway';
export const NOW_MS = Date.parse('2026-11-21T12:00:00Z');

export const kinds = await loadApiKinds();

/** A group for all, a route with one model, and its price. `more` is added to the route's channel. */
export function platformManifest(more = ''): string {
  return `apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: main}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: openai}
spec:
  models: [{name: gpt, contextTokens: 10, maxOutputTokens: 5}]
  channels: [{name: direct, protocol: OpenAI, baseUrl: "https://api.test/v1"${more && `, ${more}`}}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: acme}
spec: {models: [{name: gpt, vendor: Acme, quotaType: Token, modelRatio: "1"}]}
`;
}

/** One file's manifests, mistakes included; every object's generation is 1. */
export function loadText(text: string, path = 'test.yaml'): LoadedFolder {
  const load = createLoader(
    { kinds, defaultNamespace: GATEWAY_NAMESPACE },
    {
      assign: (_, object) => ({ ...object, metadata: { ...object.metadata, generation: 1 } }),
      retain: () => undefined,
    },
  );
  return load([{ path, text }]);
}

/** One file's manifests, which must be without mistakes. */
export function resourcesOf(text: string): Resources {
  const { resources, isValid } = loadText(text);
  if (!isValid) throw new Error(`a manifest has a mistake: ${text}`);
  return resources;
}

/** The ApiKeys of such a file, in its order. */
export function apiKeysOf(text: string): ApiKey[] {
  return allOf(resourcesOf(text).apiKeys);
}

/** The Accounts of such a file, in its order. */
export function accountsOf(text: string): Account[] {
  return allOf(resourcesOf(text).accounts);
}

/** A loader like that of startOperator. */
export function newLoader(startMs = 0): ReturnType<typeof createLoader> {
  return createLoader({ kinds, defaultNamespace: GATEWAY_NAMESPACE }, countGenerations(startMs));
}

/** A folder that is removed after the test. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mgw-operator-'));
  t.onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
