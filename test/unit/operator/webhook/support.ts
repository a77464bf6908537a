/** Support of the webhook's tests: settings, short ApiKeys, and JSON Patch as the API server applies it. */
import assert from 'node:assert/strict';
import type { ApiKey } from '#crds/types.gen.ts';
import type { PatchOperation } from '../../../../operator/webhook/json-patch.ts';
import type { Pod } from '../../../../operator/webhook/pod.ts';
import type { ReviewContext } from '../../../../operator/webhook/review.ts';
import { parseSidecarSettings } from '../../../../operator/webhook/settings.ts';

export const SETTINGS = parseSidecarSettings(
  '{"image": "registry.example/model-gateway:1", "imagePullPolicy": "IfNotPresent"}',
  { fleet: 'https://model-gateway-tls.model-gateway.svc' },
);
export const AUTHORITIES = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

/** A short ApiKey. */
export interface ShortKey {
  readonly name: string;
  readonly secretName?: string;
  readonly type?: 'Generated' | 'Provided';
  readonly gatewayNamespace?: string;
  readonly enabled?: boolean;
  readonly notReady?: string;
}

function apiKeyOf({
  name,
  secretName,
  type = 'Generated',
  gatewayNamespace = 'model-gateway',
  enabled = true,
  notReady,
}: ShortKey): ApiKey {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { name, namespace: 'team-a' },
    spec: {
      gatewayNamespace,
      enabled,
      groupRef: { name: 'main' },
      accountRef: { name: 'team' },
      quota: {
        limitUsd: 'Unlimited',
        period: 'Never',
        timeZone: 'UTC',
        whenShort: 'Lower',
        minOutputTokens: 16,
      },
      key: {
        type,
        rotation: 1,
        overlapSeconds: 0,
        ...(secretName === undefined ? {} : { secretRef: { name: secretName } }),
      },
    },
    ...(notReady === undefined
      ? {}
      : {
          status: {
            conditions: [
              {
                type: 'Ready',
                status: 'False',
                reason: 'Pending',
                message: notReady,
                lastTransitionTime: '2026-01-01T00:00:00Z',
                observedGeneration: 1,
              },
            ],
          },
        }),
  };
}

export function contextWith(keys: readonly ShortKey[]): ReviewContext {
  return {
    settings: SETTINGS,
    gatewayNamespace: 'model-gateway',
    authorities: AUTHORITIES,
    findApiKey: (_namespace, name) => Promise.resolve(keys.filter((key) => key.name === name).map(apiKeyOf)[0]),
  };
}

/** The used part of RFC 6902; a missing path is an error. */
export function applied(pod: Pod, patch: readonly PatchOperation[]): Pod {
  const root: { pod: unknown } = { pod: structuredClone(pod) };
  for (const operation of patch) {
    const names = [
      'pod',
      ...operation.path
        .split('/')
        .slice(1)
        .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')),
    ];
    const last = names.pop() ?? '';
    let parent: Record<string, unknown> = root;
    for (const name of names) parent = parent[name] as Record<string, unknown>;
    assert.ok(typeof parent === 'object' && parent !== null, operation.path);
    assert.equal(last in parent, operation.op !== 'add', `${operation.op} ${operation.path}`);
    if (operation.op === 'remove') delete parent[last];
    else parent[last] = structuredClone(operation.value);
  }
  return root.pod as Pod;
}
