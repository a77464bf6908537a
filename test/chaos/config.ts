/**
 * The configuration that a round runs on, as data: what edits change while calls run, and what its prices and limits
 * are. The manifests are written from it, and the reconciliation reads the same, so that the two cannot differ. Money
 * is nano-USD.
 */
import type { CalendarWindow, PeriodOf, SpendingWindow } from '#ledger/spending.ts';
import { keyManifest } from '../support/manifests.ts';
import { FAST_ZONE } from './fast-zone.ts';
import { costField, costsManifest, dollarFields, extrasOf, imageFields, lengthFields } from './price-extras.ts';

export const KEY_NAMES = ['free', 'lower', 'refuse', 'smart', 'cheap', 'dear', 'daily', 'solo'] as const;
export type KeyName = (typeof KEY_NAMES)[number];
export const ACCOUNT_NAMES = ['shared', 'own'] as const;
export type AccountName = (typeof ACCOUNT_NAMES)[number];
export const GROUP_NAMES = ['main', 'cheap', 'dear', 'smart'] as const;
export type GroupName = (typeof GROUP_NAMES)[number];
export const CHAT_MODELS = ['gpt-model', 'claude-model', 'mixed-model', 'flat-model', 'omni-model'] as const;
export type ModelName =
  (typeof CHAT_MODELS)[number] | 'image-model' | 'sized-image-model' | 'film-model' | 'voice-model' | 'embed-model';

interface FixedKey extends PeriodOf {
  readonly account: AccountName;
  readonly group: GroupName;
  readonly whenShort: 'Lower' | 'Refuse';
}
/** The parts of a key that never change. */
export const KEYS: Readonly<Record<KeyName, FixedKey>> = {
  free: { account: 'shared', group: 'main', whenShort: 'Lower', period: 'Never' },
  lower: { account: 'shared', group: 'main', whenShort: 'Lower', period: 'Daily', timeZone: FAST_ZONE },
  refuse: { account: 'shared', group: 'main', whenShort: 'Refuse', period: 'Never' },
  smart: { account: 'shared', group: 'smart', whenShort: 'Lower', period: 'Weekly', timeZone: FAST_ZONE },
  cheap: { account: 'shared', group: 'cheap', whenShort: 'Lower', period: 'Weekly', timeZone: 'Asia/Kathmandu' },
  dear: { account: 'own', group: 'dear', whenShort: 'Lower', period: 'Monthly' },
  daily: { account: 'own', group: 'main', whenShort: 'Refuse', period: 'Daily' },
  solo: { account: 'own', group: 'smart', whenShort: 'Lower', period: 'Monthly', timeZone: FAST_ZONE },
};

/** The windows that an account may have a limit in. */
export const ACCOUNT_WINDOWS = [
  { kind: 'Day', timeZone: FAST_ZONE },
  { kind: 'Week', timeZone: FAST_ZONE },
  { kind: 'Month', timeZone: FAST_ZONE },
  { kind: 'Day', timeZone: 'America/St_Johns' },
  { kind: 'Week', timeZone: 'Asia/Kathmandu' },
  { kind: 'Month', timeZone: 'UTC' },
] as const satisfies readonly CalendarWindow[];

/** A limit of spec.limits. */
export interface AccountLimit {
  readonly window: SpendingWindow;
  readonly timeZone: string;
  readonly nanoUsd: bigint;
}

export const MEASURES = ['requestsPerMinute', 'inputTokensPerMinute', 'outputTokensPerMinute'] as const;
export type Measure = (typeof MEASURES)[number];
/** Limits by the minute, as manifests have them; empty: none. */
export type RateLimits = Readonly<Partial<Record<Measure, number>>>;

export interface KeyConfig {
  /** null: Unlimited. */
  readonly limitNanoUsd: bigint | null;
  readonly maxConcurrency: number | null;
  /** The same throughout a round. */
  readonly rates: RateLimits;
  readonly enabled: boolean;
  /** A higher number is another key string. */
  readonly rotation: number;
}

export interface Price {
  readonly quotaType: 'Token' | 'Request';
  /** Of a price in dollars: those of its input. */
  readonly modelRatio: string;
  readonly completionRatio: string;
  readonly cacheRatio: string;
  readonly cacheWriteRatio: string;
  readonly cacheWrite1hRatio: string;
  /**
   * Of a price by the look of images: that of every other image. Of one by the second: that of a second. Of one by the
   * character: that of a million.
   */
  readonly requestUsd: string;
}

export interface Config {
  readonly keys: Readonly<Record<KeyName, KeyConfig>>;
  readonly creditsNanoUsd: Readonly<Record<AccountName, bigint>>;
  /** Of each account: in some of ACCOUNT_WINDOWS, and in total. */
  readonly accountLimits: Readonly<Record<AccountName, readonly AccountLimit[]>>;
  readonly accountRates: Readonly<Record<AccountName, RateLimits>>;
  /** Price ratios. */
  readonly ratios: Readonly<Record<GroupName, string>>;
  readonly prices: Readonly<Record<ModelName, Price>>;
}

export type Edit =
  | { readonly kind: 'limit'; readonly key: KeyName; readonly addNanoUsd: bigint }
  | { readonly kind: 'credit'; readonly account: AccountName; readonly addNanoUsd: bigint }
  /** `limit`: the index of the limit that changes; beyond the last one, none changes. */
  | {
      readonly kind: 'account limit';
      readonly account: AccountName;
      readonly limit: number;
      readonly addNanoUsd: bigint;
    }
  | { readonly kind: 'price'; readonly model: ModelName; readonly ratio: string }
  | { readonly kind: 'ratio'; readonly group: GroupName; readonly ratio: string }
  | { readonly kind: 'rotate'; readonly key: KeyName }
  | { readonly kind: 'enable'; readonly key: KeyName; readonly enabled: boolean }
  | { readonly kind: 'concurrency'; readonly key: KeyName; readonly most: number | null };

export function edited(config: Config, edit: Edit): Config {
  switch (edit.kind) {
    case 'limit': {
      const { limitNanoUsd } = config.keys[edit.key];
      return withKey(config, edit.key, {
        limitNanoUsd: limitNanoUsd === null ? null : notNegative(limitNanoUsd + edit.addNanoUsd),
      });
    }
    case 'credit':
      return {
        ...config,
        creditsNanoUsd: {
          ...config.creditsNanoUsd,
          [edit.account]: notNegative(config.creditsNanoUsd[edit.account] + edit.addNanoUsd),
        },
      };
    case 'account limit':
      return {
        ...config,
        accountLimits: {
          ...config.accountLimits,
          [edit.account]: config.accountLimits[edit.account].map((limit, index) =>
            index === edit.limit ? { ...limit, nanoUsd: notNegative(limit.nanoUsd + edit.addNanoUsd) } : limit,
          ),
        },
      };
    case 'price':
      return {
        ...config,
        prices: {
          ...config.prices,
          [edit.model]: {
            ...config.prices[edit.model],
            modelRatio: edit.ratio,
            requestUsd: edit.ratio,
          },
        },
      };
    case 'ratio':
      return { ...config, ratios: { ...config.ratios, [edit.group]: edit.ratio } };
    case 'rotate':
      return withKey(config, edit.key, { rotation: config.keys[edit.key].rotation + 1 });
    case 'enable':
      return withKey(config, edit.key, { enabled: edit.enabled });
    case 'concurrency':
      return withKey(config, edit.key, { maxConcurrency: edit.most });
  }
}

function withKey(config: Config, key: KeyName, change: Partial<KeyConfig>): Config {
  return { ...config, keys: { ...config.keys, [key]: { ...config.keys[key], ...change } } };
}

function notNegative(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

/** A key's text. It starts like no message of the gateway, so that a log can be searched for it. */
export function keyString(name: KeyName, rotation: number): string {
  return `sk-chaos${rotation}x${name}`.padEnd(44, 'q');
}

export const PROVIDER_SECRET = 'sk-provider-chaos-secret-00000000000000000';

export type Protocol = 'OpenAI' | 'Anthropic';
export type ChannelName =
  'openai/first' | 'openai/second' | 'anthropic/first' | 'anthropic/second' | 'mixed/openai' | 'mixed/anthropic';
interface ChannelConfig {
  readonly protocol: Protocol;
  /** Its own threshold of concurrent calls. */
  readonly most: number;
  readonly rates: RateLimits;
}
/** Channels by name, which is the first part of their path at the provider. */
export const CHANNELS: Readonly<Record<ChannelName, ChannelConfig>> = {
  'openai/first': { protocol: 'OpenAI', most: 40, rates: { requestsPerMinute: 200 } },
  'openai/second': { protocol: 'OpenAI', most: 12, rates: {} },
  'anthropic/first': { protocol: 'Anthropic', most: 30, rates: { inputTokensPerMinute: 60_000 } },
  'anthropic/second': { protocol: 'Anthropic', most: 12, rates: {} },
  'mixed/openai': { protocol: 'OpenAI', most: 8, rates: { outputTokensPerMinute: 25_000 } },
  'mixed/anthropic': { protocol: 'Anthropic', most: 8, rates: {} },
};

export const FIRST_BYTE_MS = 3_000;
export const IDLE_MS = 3_000;
export const WHOLE_MS = 4_000;
const MOST_OUTPUT_TOKENS = 1_000;
export const CONTEXT_TOKENS = 6_000;
export const IMAGE_TOKENS = 300;
/** The concurrency threshold of the group cheap on each of its channels. */
export const CHEAP_GROUP_MOST = 4;
/** Its limits by the minute on each of them. */
export const CHEAP_GROUP_RATES: RateLimits = { requestsPerMinute: 50, outputTokensPerMinute: 30_000 };

const TIMEOUTS =
  `timeouts: {connectSeconds: 2, firstByteSeconds: ${FIRST_BYTE_MS / 1000}, wholeSeconds: ` +
  `${WHOLE_MS / 1000}, idleSeconds: ${IDLE_MS / 1000}}`;

export interface Places {
  /** The mock provider's address without a path. */
  readonly url: string;
  /** An address on which nothing listens. */
  readonly nobody: string;
}

/** The parts that never change: routes and the provider's credential. */
export function platformManifest({ url, nobody }: Places): string {
  const channel = (name: ChannelName, more: string): string => {
    const { protocol, most, rates } = CHANNELS[name];
    const base = `${url}/${name.replace('/', '-')}${protocol === 'OpenAI' ? '/v1' : ''}`;
    return (
      `  - {name: ${name.split('/')[1]}, protocol: ${protocol}, baseUrl: "${base}", maxConcurrency: ${most}, ` +
      `auth: {type: ApiKey, secretRef: {name: provider, key: apiKey}}, ${TIMEOUTS}${costField(name)}` +
      `${rateField(rates)}${more}}\n`
    );
  };
  const chat =
    `contextTokens: ${CONTEXT_TOKENS}, maxOutputTokens: ${MOST_OUTPUT_TOKENS}, imageTokens: ` +
    `${IMAGE_TOKENS}, inputs: [Text, Image]`;
  const route = (name: string, models: string, channels: string, more: string): string =>
    `${head('ModelRoute', name)}spec:\n  models: [${models}]\n  channels:\n${channels}  retry: {attempts: 2}\n${more}---\n`;
  return (
    `apiVersion: v1\nkind: Secret\nmetadata: {name: provider}\nstringData: {apiKey: ${PROVIDER_SECRET}}\n---\n` +
    costsManifest() +
    route(
      'openai',
      `{name: gpt-model, ${chat}}, {name: flat-model, ${chat}}, {name: omni-model, ${chat}}, ` +
        '{name: image-model, endpoints: [Images]}, {name: sized-image-model, endpoints: [Images], inputs: [Text, Image]}, ' +
        '{name: film-model, endpoints: [Videos]}, {name: voice-model, endpoints: [Speech]}, ' +
        `{name: embed-model, endpoints: [Embeddings], contextTokens: ${CONTEXT_TOKENS}}`,
      channel('openai/first', ', weight: 90') +
        `  - {name: nobody, protocol: OpenAI, baseUrl: "${nobody}/v1", ` +
        `weight: 10, ${TIMEOUTS}}\n` +
        channel('openai/second', ', priority: 1'),
      '',
    ) +
    route(
      'anthropic',
      `{name: claude-model, ${chat}}`,
      channel('anthropic/first', '') + channel('anthropic/second', ', priority: 1'),
      '  clientDisconnect: Drain\n',
    ) +
    route('mixed', `{name: mixed-model, ${chat}}`, channel('mixed/openai', '') + channel('mixed/anthropic', ''), '')
  );
}

function rateField(rates: RateLimits): string {
  const limits = Object.entries(rates).map(([measure, limit]) => `${measure}: ${limit}`);
  return limits.length === 0 ? '' : `, rateLimits: {${limits.join(', ')}}`;
}

/** The files of a configuration that edits change, by name. */
export function manifestsOf(config: Config): Record<string, string> {
  return {
    'groups.yaml': groups(config),
    'prices.yaml': prices(config),
    'keys.yaml': keys(config),
    'accounts.yaml': accounts(config),
  };
}

/** The beginning of an object's manifest. `namespace`: ", namespace: NAME". */
export function head(kind: string, name: string, namespace = ''): string {
  return `apiVersion: modelgateway.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}${namespace}}\n`;
}

function groups({ ratios }: Config): string {
  const direct = (name: GroupName, routes: string): string =>
    `${head('Group', name)}spec: {allowedNamespaces: {from: All}, priceRatio: "${ratios[name]}", routes: ${routes}}\n---\n`;
  return (
    direct('main', '[{routeSelector: {}}]') +
    direct(
      'cheap',
      `[{routeRef: {name: openai}, maxConcurrency: ${CHEAP_GROUP_MOST}${rateField(CHEAP_GROUP_RATES)}}]`,
    ) +
    direct('dear', '[{routeSelector: {}}]') +
    `${head('Group', 'smart')}spec: {type: Automatic, members: [{name: cheap}, {name: dear}], allowedNamespaces: ` +
    `{from: All}, priceRatio: "${ratios.smart}"}\n`
  );
}

function prices({ prices: all }: Config): string {
  const entries = Object.entries(all).map(
    ([name, price]) =>
      `  - {name: ${name}, vendor: Chaos, quotaType: ${price.quotaType}, ${mainFields(name, price)}${extrasOf(name)}}\n`,
  );
  return `${head('PriceCatalog', 'prices')}spec:\n  models:\n${entries.join('')}`;
}

function mainFields(name: string, price: Price): string {
  const { quotaType, requestUsd, modelRatio, completionRatio, cacheRatio, cacheWriteRatio, cacheWrite1hRatio } = price;
  if (quotaType === 'Request')
    return imageFields(name, requestUsd) ?? lengthFields(name, requestUsd) ?? `requestUsd: "${requestUsd}"`;
  return (
    dollarFields(name, modelRatio) ??
    `modelRatio: "${modelRatio}", completionRatio: "${completionRatio}", ` +
      `cacheRatio: "${cacheRatio}", cacheWriteRatio: "${cacheWriteRatio}", cacheWrite1hRatio: "${cacheWrite1hRatio}"`
  );
}

function keys({ keys: configs }: Config): string {
  return KEY_NAMES.map((name) => {
    const { limitNanoUsd, maxConcurrency, rates, enabled, rotation } = configs[name];
    const { group, account, whenShort, period, timeZone } = KEYS[name];
    return keyManifest(
      name,
      keyString(name, rotation),
      [
        `groupRef: {name: ${group}}`,
        `accountRef: {name: ${account}}`,
        `enabled: ${enabled}`,
        `quota: {limitUsd: ${
          limitNanoUsd === null ? 'Unlimited' : `"${usd(limitNanoUsd)}"`
        }, period: ${period}${zoneField(timeZone)}, whenShort: ${whenShort}}`,
        ...(maxConcurrency === null ? [] : [`maxConcurrency: ${maxConcurrency}`]),
        ...(rateField(rates) === '' ? [] : [rateField(rates).slice(2)]),
      ].join('\n'),
    );
  }).join('');
}

function accounts({ creditsNanoUsd, accountLimits, accountRates }: Config): string {
  return ACCOUNT_NAMES.map(
    (name) =>
      `${head('Account', name, ', namespace: team')}spec: {grants: [{name: all, usd: "${usd(creditsNanoUsd[name])}"}], ` +
      `limits: [${accountLimits[name].map(limitManifest).join(', ')}]${rateField(accountRates[name])}}\n`,
  ).join('---\n');
}

function limitManifest({ nanoUsd, window, timeZone }: AccountLimit): string {
  return `{usd: "${usd(nanoUsd)}", period: ${window}${zoneField(timeZone)}}`;
}

function zoneField(timeZone: string | undefined): string {
  return timeZone === undefined ? '' : `, timeZone: ${timeZone}`;
}

/** Nano-USD as a decimal of USD. */
export function usd(nanoUsd: bigint): string {
  const digits = nanoUsd.toString().padStart(10, '0');
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
