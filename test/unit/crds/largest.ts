/** Objects at the bounds of the schemas where rules cost most, to test the cost limits of a real server. */
import type { JsonObject } from '#crds/json.ts';

const API_VERSION = 'modelgateway.dev/v1alpha1';

export interface Largest {
  readonly kind: string;
  readonly object: JsonObject;
}

/** One object for each kind with long lists, each at its bounds. */
export function largestObjects(): Largest[] {
  return [largestAccount(), largestGroup(), largestRoute(), largestCatalog()];
}

function largest(kind: string, spec: JsonObject): Largest {
  return { kind, object: { apiVersion: API_VERSION, kind, metadata: { name: 'largest' }, spec } };
}

function largestAccount(): Largest {
  return largest('Account', {
    grants: list(1000, (index) => ({ name: padded('g', index, 63), usd: '-8999999999.999999999' })),
  });
}

function largestGroup(): Largest {
  return largest('Group', { type: 'Automatic', members: list(32, (index) => ({ name: padded('g', index, 253) })) });
}

function largestRoute(): Largest {
  const models = list(256, (index) => ({ name: padded('m', index, 128), contextTokens: 1000, maxOutputTokens: 1000 }));
  const channels = list(32, (index) => ({
    name: padded('c', index, 63),
    protocol: 'OpenAI',
    baseUrl: `https://${'a'.repeat(200)}/${'b'.repeat(300)}`,
    proxyUrl: `https://${'p'.repeat(240)}`,
    models: list(64, (rename) => ({ name: padded('m', 255 - rename, 128), upstreamName: padded('u', rename, 256) })),
  }));
  return largest('ModelRoute', { models, channels });
}

function largestCatalog(): Largest {
  const ratio = '9999999999.999999999';
  const ratios = {
    modelRatio: ratio,
    completionRatio: ratio,
    cacheRatio: ratio,
    cacheWriteRatio: ratio,
    cacheWrite1hRatio: ratio,
  };
  return largest('PriceCatalog', {
    models: list(1000, (index) => ({
      name: padded('m', index, 128),
      vendor: 'v'.repeat(128),
      quotaType: 'Token',
      ...ratios,
    })),
  });
}

function list<T>(length: number, item: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => item(index));
}

function padded(prefix: string, index: number, length: number): string {
  return prefix + String(index).padStart(length - prefix.length, '0');
}
