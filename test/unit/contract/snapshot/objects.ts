/** Support: valid snapshot objects, with a test's changes. */
import { EMPTY_SNAPSHOT } from '#snapshot/kinds.gen.ts';
import {
  ClientDisconnect,
  Endpoint,
  Input,
  OnTimeout,
  Period,
  Protocol,
  QuotaType,
  Reasoning,
  WhenShort,
} from '#snapshot/snapshot.gen.ts';
import type {
  Account,
  Channel,
  Group,
  GroupRoute,
  Key,
  Model,
  ModelRoute,
  Price,
  PriceCatalog,
  Snapshot,
} from '#snapshot/snapshot.gen.ts';

export const GATEWAY = 'model-gateway';

export function hashOf(n: number): string {
  return n.toString(16).padStart(64, '0');
}

export function snapshotOf(changes: Partial<Snapshot> = {}): Snapshot {
  return { ...EMPTY_SNAPSHOT, ...changes };
}

export function keyOf(name: string, changes: Partial<Key> = {}): Key {
  return {
    uid: `uid-${name}`,
    namespace: 'team-a',
    name,
    generation: 1n,
    hashes: [{ sha256: hashOf(1) }],
    prefix: 'sk-abcd',
    enabled: true,
    refusal: '',
    group: 'auto-a',
    account: 'team-a/team-a',
    period: Period.NEVER,
    whenShort: WhenShort.LOWER,
    minOutputTokens: 16,
    models: undefined,
    ...changes,
  };
}

export function accountOf(name: string, creditNanoUsd = 1_000_000_000n): Account {
  return { namespace: name, name, generation: 1n, creditNanoUsd, limits: [] };
}

export function routeEntry(route: string, changes: Partial<GroupRoute> = {}): GroupRoute {
  return { route, models: undefined, channels: undefined, ...changes };
}

export function directGroup(name: string, routes: readonly GroupRoute[], changes: Partial<Group> = {}): Group {
  return {
    namespace: GATEWAY,
    name,
    generation: 1n,
    displayName: name,
    priceRatioE9: 1_000_000_000n,
    restricted: false,
    access: { $case: 'direct', value: { routes } },
    ...changes,
  };
}

export function automaticGroup(name: string, members: readonly string[], changes: Partial<Group> = {}): Group {
  return { ...directGroup(name, []), access: { $case: 'automatic', value: { members } }, ...changes };
}

export function modelOf(name: string, changes: Partial<Model> = {}): Model {
  return {
    name,
    endpoints: [Endpoint.CHAT],
    inputs: [Input.TEXT],
    contextTokens: 200_000,
    maxOutputTokens: 64_000,
    imageTokens: 4096,
    outputLimitField: 'max_completion_tokens',
    allow: [],
    reasoning: Reasoning.AUTO,
    capabilities: undefined,
    ...changes,
  };
}

export function channelOf(name: string, changes: Partial<Channel> = {}): Channel {
  return {
    name,
    protocol: Protocol.OPENAI,
    baseUrl: `https://${name}.example/v1`,
    apiKey: { value: `secret-of-${name}` },
    models: [],
    priority: 0,
    weight: 100,
    timeouts: { connectMs: 5000, firstByteMs: 120_000, wholeMs: 600_000, idleMs: 120_000 },
    allowedHeaders: [],
    ...changes,
  };
}

export function routeOf(
  name: string,
  models: readonly Model[],
  channels: readonly Channel[],
  changes: Partial<ModelRoute> = {},
): ModelRoute {
  return {
    namespace: GATEWAY,
    name,
    generation: 1n,
    models,
    channels,
    retryAttempts: 2,
    clientDisconnect: ClientDisconnect.CANCEL,
    onTimeout: OnTimeout.BILL_NOTHING,
    allowedFields: [],
    ...changes,
  };
}

export function priceOf(name: string, changes: Partial<Price> = {}): Price {
  return {
    name,
    vendor: 'Vendor',
    quotaType: QuotaType.TOKEN,
    modelRatioE9: 1_500_000_000n,
    completionRatioE9: 5_000_000_000n,
    cacheRatioE9: 100_000_000n,
    cacheWriteRatioE9: 1_250_000_000n,
    requestNanoUsd: 0n,
    cacheRatioDefaulted: false,
    cacheWriteRatioDefaulted: false,
    usdPerMillion: undefined,
    contextTiers: [],
    serviceTiers: [],
    perUse: undefined,
    regions: [],
    channelPrices: [],
    channelRates: [],
    perImage: [],
    perSecond: [],
    ...changes,
  };
}

export function catalogOf(name: string, models: readonly Price[], changes: Partial<PriceCatalog> = {}): PriceCatalog {
  return { namespace: GATEWAY, name, generation: 1n, ratioBaseUsdE9: 2_000_000_000n, models, sheets: [], ...changes };
}

/** One of everything, valid. */
export function completeSnapshot(): Snapshot {
  return snapshotOf({
    keys: [
      keyOf('ci-bot', {
        limitNanoUsd: 25_000_000_000n,
        models: { names: ['m'] },
        maxConcurrency: 8,
        rateLimits: { requestsPerMinute: 60, inputTokensPerMinute: 100_000, outputTokensPerMinute: 20_000 },
        expirationMs: 1_900_000_000_000n,
      }),
    ],
    accounts: [{ ...accountOf('team-a'), rateLimits: { requestsPerMinute: 600 } }],
    groups: [
      directGroup('auto-a', [routeEntry('anthropic', { maxConcurrency: 40, rateLimits: { inputTokensPerMinute: 1 } })]),
      automaticGroup('smart', ['auto-a']),
    ],
    routes: [
      routeOf(
        'anthropic',
        [modelOf('m')],
        [
          channelOf('direct', {
            protocol: Protocol.ANTHROPIC,
            maxConcurrency: 200,
            rateLimits: { outputTokensPerMinute: 4_000_000_000 },
            models: [{ name: 'm', upstreamName: 'm-2026' }],
          }),
        ],
      ),
    ],
    catalogs: [catalogOf('anthropic', [priceOf('m')])],
  });
}
