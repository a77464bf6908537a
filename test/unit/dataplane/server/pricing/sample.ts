/**
 * Price lists for the tests: compiled from snapshots, as a proxy does it.
 */
import { EMPTY_SNAPSHOT } from '#snapshot/kinds.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import {
  ClientDisconnect,
  Endpoint,
  Input,
  OnTimeout,
  Protocol,
  QuotaType,
  Reasoning,
} from '#snapshot/snapshot.gen.ts';
import type { Group, Model, ModelRoute, Price, Snapshot } from '#snapshot/snapshot.gen.ts';
import { compile } from '../../../../../dataplane/state/compile.ts';
import type { State } from '../../../../../dataplane/state/state.ts';

const NAMESPACE = 'model-gateway';

/** A price by tokens: name, vendor, model, completion and cache ratio, 5-minute and 1-hour write ratio. */
type TokenRow = readonly [string, string, string, string, string?, string?, string?];
/** A price per request: name, vendor, dollars. */
type RequestRow = readonly [string, string, string];

interface SampleGroup {
  readonly name: string;
  readonly displayName?: string;
  readonly priceRatio?: string;
  /** Undefined: all. */
  readonly models?: readonly string[];
  /** Makes it Automatic. */
  readonly members?: readonly string[];
}

export interface Sample {
  readonly tokens?: readonly TokenRow[];
  readonly requests?: readonly RequestRow[];
  readonly groups?: readonly SampleGroup[];
  /** Models that a route serves; undefined: all priced ones. */
  readonly routed?: readonly string[];
  readonly ratioBaseUsd?: string;
}

/** Billionths of a decimal that the test knows to be one. */
export function e9(text: string): bigint {
  const value = parseDecimal(text);
  if (value === undefined) throw new Error(`not a decimal: ${text}`);
  return value;
}

/** The state of a small configuration: one route, one channel, one catalog. */
export function sampleState(sample: Sample): State {
  return compile(sampleSnapshot(sample));
}

export function sampleSnapshot({
  tokens = [],
  requests = [],
  groups = [],
  routed,
  ratioBaseUsd = '2',
}: Sample): Snapshot {
  const prices = [...tokens.map(tokenPrice), ...requests.map(requestPrice)];
  const perRequest = new Set(requests.map(([name]) => name));
  return {
    ...EMPTY_SNAPSHOT,
    groups: groups.map(sampleGroup),
    routes: [
      sampleRoute(
        (routed ?? prices.map(({ name }) => name)).map((name) =>
          perRequest.has(name) ? imageModel(name) : sampleModel(name),
        ),
      ),
    ],
    catalogs: [
      {
        namespace: NAMESPACE,
        name: 'all',
        generation: 1n,
        ratioBaseUsdE9: e9(ratioBaseUsd),
        models: prices,
        sheets: [],
      },
    ],
  };
}

function tokenPrice([
  name,
  vendor,
  modelRatio,
  completionRatio,
  cacheRatio,
  cacheWriteRatio,
  cacheWrite1hRatio,
]: TokenRow): Price {
  return {
    name,
    vendor,
    quotaType: QuotaType.TOKEN,
    requestNanoUsd: 0n,
    modelRatioE9: e9(modelRatio),
    completionRatioE9: e9(completionRatio),
    cacheRatioE9: e9(cacheRatio ?? '1'),
    cacheWriteRatioE9: e9(cacheWriteRatio ?? '1.25'),
    cacheRatioDefaulted: cacheRatio === undefined,
    cacheWriteRatioDefaulted: cacheWriteRatio === undefined,
    usdPerMillion: undefined,
    contextTiers: [],
    serviceTiers: [],
    perUse: undefined,
    regions: [],
    channelPrices: [],
    channelRates: [],
    perImage: [],
    perSecond: [],
    ...(cacheWrite1hRatio === undefined ? {} : { cacheWrite1hRatioE9: e9(cacheWrite1hRatio) }),
  };
}

function requestPrice([name, vendor, usd]: RequestRow): Price {
  return {
    name,
    vendor,
    quotaType: QuotaType.REQUEST,
    requestNanoUsd: e9(usd),
    modelRatioE9: 0n,
    completionRatioE9: 0n,
    cacheRatioE9: 0n,
    cacheWriteRatioE9: 0n,
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
  };
}

function sampleGroup({ name, displayName = name, priceRatio = '1', models, members }: SampleGroup): Group {
  const direct = { routes: [{ route: 'all', models: models && { names: models }, channels: undefined }] };
  return {
    namespace: NAMESPACE,
    name,
    generation: 1n,
    displayName,
    priceRatioE9: e9(priceRatio),
    restricted: false,
    access: members ? { $case: 'automatic', value: { members } } : { $case: 'direct', value: direct },
  };
}

function sampleModel(name: string): Model {
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
  };
}

function imageModel(name: string): Model {
  return { ...sampleModel(name), endpoints: [Endpoint.IMAGES], contextTokens: 0, maxOutputTokens: 0 };
}

function sampleRoute(models: readonly Model[]): ModelRoute {
  return {
    namespace: NAMESPACE,
    name: 'all',
    generation: 1n,
    models,
    retryAttempts: 2,
    clientDisconnect: ClientDisconnect.CANCEL,
    onTimeout: OnTimeout.BILL_NOTHING,
    allowedFields: [],
    channels: [
      {
        name: 'direct',
        protocol: Protocol.OPENAI,
        baseUrl: 'https://provider.example/v1',
        apiKey: undefined,
        models: [],
        priority: 0,
        weight: 100,
        timeouts: { connectMs: 5000, firstByteMs: 120_000, wholeMs: 600_000, idleMs: 120_000 },
        allowedHeaders: [],
      },
    ],
  };
}

const ANTHROPIC: readonly TokenRow[] = [
  ['claude-haiku-4-5', 'Anthropic', '0.5', '5', '0.1', '1.25', '2'],
  ['claude-opus-4-1', 'Anthropic', '7.5', '5', '0.1', '1.25', '2'],
  ['claude-opus-4-5', 'Anthropic', '2.5', '5', '0.1', '1.25', '2'],
  ['claude-sonnet-4-5', 'Anthropic', '1.5', '5', '0.1', '1.25', '2'],
];
const OTHERS: readonly TokenRow[] = [
  ['gpt-4.1', 'OpenAI', '1', '4', '0.25'],
  ['gpt-4.1-mini', 'OpenAI', '0.2', '4', '0.25'],
  ['gpt-4o', 'OpenAI', '1.25', '4', '0.5'],
  ['gpt-4o-mini', 'OpenAI', '0.075', '4', '0.5'],
  ['gpt-5', 'OpenAI', '0.625', '8', '0.1'],
  ['gpt-5-mini', 'OpenAI', '0.125', '8', '0.1'],
  ['o4-mini', 'OpenAI', '0.55', '4', '0.25'],
  ['text-embedding-3-large', 'OpenAI', '0.065', '1', '1'],
  ['text-embedding-3-small', 'OpenAI', '0.01', '1', '1'],
  ['gemini-2.5-flash', 'Google', '0.15', '8.333333333', '0.25'],
  ['gemini-2.5-pro', 'Google', '0.625', '8', '0.25'],
  ['deepseek-chat', 'DeepSeek', '0.14', '1.5', '0.1'],
  ['deepseek-reasoner', 'DeepSeek', '0.14', '1.5', '0.1'],
  ['mistral-large-latest', 'Mistral AI', '1', '3', '1'],
  ['mistral-small-latest', 'Mistral AI', '0.05', '3', '1'],
  ['llama-3.3-70b-instruct', 'Meta', '0.36', '1', '1'],
  ['qwen3-235b-a22b-instruct-2507', 'Alibaba Cloud', '0.11', '4', '1'],
  ['kimi-k2-0905-preview', 'Moonshot AI', '0.3', '4.166666667', '0.25'],
];

/** What a real installation might show: 26 models of nine vendors, in four groups. */
export const REALISTIC: Sample = {
  tokens: [...ANTHROPIC, ...OTHERS],
  requests: [
    ['flux-1.1-pro', 'Black Forest Labs', '0.04'],
    ['flux-1.1-pro-ultra', 'Black Forest Labs', '0.06'],
    ['gpt-image-1', 'OpenAI', '0.042'],
    ['sora-2', 'OpenAI', '0.8'],
  ],
  routed: [...ANTHROPIC, ...OTHERS].map(([name]) => name).concat('flux-1.1-pro', 'flux-1.1-pro-ultra', 'gpt-image-1'),
  groups: [
    { name: 'auto-a', displayName: 'Auto-A' },
    {
      name: 'budget',
      displayName: 'Budget',
      priceRatio: '0.8',
      models: [
        'gpt-4o-mini',
        'gpt-4.1-mini',
        'gpt-5-mini',
        'claude-haiku-4-5',
        'gemini-2.5-flash',
        'deepseek-chat',
        'mistral-small-latest',
        'text-embedding-3-small',
      ],
    },
    { name: 'smart', displayName: 'Smart', members: ['vip', 'auto-a'] },
    {
      name: 'vip',
      displayName: 'VIP',
      priceRatio: '1.5',
      models: [...ANTHROPIC.map(([name]) => name), 'gpt-5', 'gpt-4o', 'gemini-2.5-pro', 'flux-1.1-pro'],
    },
  ],
};
