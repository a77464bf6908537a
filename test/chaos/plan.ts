/**
 * Plans a round from its seed and number alone: the configuration, every call and how its client behaves. In the same
 * way faults.ts decides what befalls the gateways, and fate.ts what the provider does.
 */
import { ACCOUNT_NAMES, ACCOUNT_WINDOWS, CHAT_MODELS, GROUP_NAMES, KEY_NAMES, KEYS } from './config.ts';
import type {
  AccountLimit,
  AccountName,
  Config,
  Edit,
  KeyConfig,
  KeyName,
  ModelName,
  Price,
  RateLimits,
} from './config.ts';
import { between, diceOf, weighted } from './dice.ts';
import type { Dice } from './dice.ts';
import { QUALITIES, REGION, SIZES } from './price-extras.ts';

/** When a client disconnects by itself; `stays`: never. */
export type Leaving =
  | { readonly stage: 'stays' | 'half body' | 'sent' | 'head' | 'before end' }
  | { readonly stage: 'waits'; readonly ms: number }
  | { readonly stage: 'mid-stream'; readonly pieces: number };

type ImagePath = '/v1/images/generations' | '/v1/images/edits';

export interface CallPlan {
  /** Unique in its round; stands in the prompt. */
  readonly n: number;
  /** After the round's start. */
  readonly startMs: number;
  readonly key: KeyName;
  readonly path:
    | '/v1/responses'
    | '/v1/chat/completions'
    | '/v1/messages'
    | '/v1/embeddings'
    | ImagePath
    | '/v1/videos'
    | '/v1/audio/speech';
  readonly model: ModelName;
  readonly stream: boolean;
  /** The body, complete; a client may send less of it. */
  readonly body: string;
  /** The client's output limit; undefined: none. */
  readonly maxTokens: number | undefined;
  /** What a price per request is multiplied by: images, the seconds of a video, or the characters of speech. */
  readonly generations: number;
  readonly fault: 'none' | 'broken JSON' | 'dripped' | 'slow reader';
  readonly leaving: Leaving;
}

export interface RoundPlan {
  readonly seed: number;
  readonly round: number;
  /** Limits and credits do not include what is spent before the round, in total or in the current window. */
  readonly config: Config;
  readonly calls: readonly CallPlan[];
}

/** The time in which calls begin and faults strike: so long that the machine is not the limit. */
export const LOAD_MS = 10_000;
const CALLS = [120, 320] as const;
const MILLI_USD = 1_000_000n;

export function planRound(seed: number, round: number): RoundPlan {
  const dice = diceOf('round', seed, round);
  const config = planConfig(dice);
  const count = between(dice, ...CALLS);
  return {
    seed,
    round,
    config,
    calls: Array.from({ length: count }, (_, n) => planCall(diceOf('call', seed, round, n), n)),
  };
}

function planConfig(dice: Dice): Config {
  const money = (least: number, most: number): bigint =>
    BigInt(between(dice, least, most)) * MILLI_USD + BigInt(dice.int(1_000_000));
  const key = (
    limitNanoUsd: bigint | null,
    maxConcurrency: number | null = null,
    rates: RateLimits = {},
  ): KeyConfig => ({
    limitNanoUsd,
    maxConcurrency,
    rates,
    enabled: true,
    rotation: 0,
  });
  return {
    keys: {
      free: key(null),
      lower: key(money(20, 200)),
      refuse: key(money(10, 200), null, { inputTokensPerMinute: between(dice, 6_000, 40_000) }),
      smart: key(money(50, 700)),
      cheap: key(money(60, 600), between(dice, 2, 5)),
      dear: key(money(60, 600), null, { outputTokensPerMinute: between(dice, 6_000, 40_000) }),
      daily: key(money(60, 500), null, { requestsPerMinute: between(dice, 10, 70) }),
      solo: key(null, between(dice, 3, 9), {
        requestsPerMinute: between(dice, 15, 90),
        inputTokensPerMinute: between(dice, 10_000, 60_000),
        outputTokensPerMinute: between(dice, 10_000, 60_000),
      }),
    },
    accountRates: {
      shared: { outputTokensPerMinute: between(dice, 60_000, 300_000) },
      own: { requestsPerMinute: between(dice, 60, 250) },
    },
    accountLimits: { shared: planLimits(dice, money(300, 2400)), own: planLimits(dice, money(150, 1200)) },
    creditsNanoUsd: { shared: money(400, 2400), own: money(150, 1200) },
    ratios: { main: '1', cheap: ratio(dice, 0.3, 0.9), dear: ratio(dice, 1.1, 3), smart: ratio(dice, 0.8, 1.3) },
    prices: {
      'gpt-model': tokenPrice(dice, 1.25, 4),
      'claude-model': tokenPrice(dice, 0.2, 5),
      'mixed-model': tokenPrice(dice, 0.9, 3),
      'embed-model': tokenPrice(dice, 0.02, 1),
      'omni-model': tokenPrice(dice, 0.8, 1),
      'flat-model': requestPrice(dice, 0.002),
      'image-model': requestPrice(dice, 0.004),
      'sized-image-model': requestPrice(dice, 0.006),
      'film-model': requestPrice(dice, 0.001),
      'voice-model': requestPrice(dice, 12),
    },
  };
}

/** `nanoUsd`: the limit of a short day; longer windows have higher limits. */
function planLimits(dice: Dice, nanoUsd: bigint): readonly AccountLimit[] {
  const windows = [...ACCOUNT_WINDOWS.map(({ kind: window, timeZone }) => ({ window, timeZone })), TOTAL];
  return windows
    .filter(() => dice.chance(0.6))
    .map((each, index) => ({ ...each, nanoUsd: nanoUsd + BigInt(index * dice.int(300)) * MILLI_USD }));
}
const TOTAL = { window: 'Total', timeZone: 'UTC' } as const;

function tokenPrice(dice: Dice, model: number, completion: number): Price {
  return {
    quotaType: 'Token',
    modelRatio: ratio(dice, model * 0.8, model * 1.2),
    completionRatio: ratio(dice, completion * 0.8, completion * 1.2),
    cacheRatio: ratio(dice, 0.1, 0.6),
    cacheWriteRatio: ratio(dice, 1.1, 1.4),
    cacheWrite1hRatio: ratio(dice, 1.8, 2.2),
    requestUsd: '0',
  };
}

function requestPrice(dice: Dice, usd: number): Price {
  return {
    quotaType: 'Request',
    modelRatio: '0',
    completionRatio: '1',
    cacheRatio: '1',
    cacheWriteRatio: '1',
    cacheWrite1hRatio: '1',
    requestUsd: ratio(dice, usd * 0.5, usd * 1.5),
  };
}

/** A ratio with as many digits as are allowed, so that rounding happens. */
function ratio(dice: Dice, least: number, most: number): string {
  return (least + dice.next() * (most - least)).toFixed(9);
}

export function planEdit(dice: Dice): Edit {
  const money = (most: number): bigint => BigInt(between(dice, -most / 2, most)) * MILLI_USD;
  const limited = dice.pick(['lower', 'refuse', 'smart', 'cheap', 'dear', 'daily'] as const);
  switch (
    weighted(dice, {
      limit: 4,
      credit: 4,
      'account limit': 3,
      price: 3,
      ratio: 2,
      rotate: 1,
      enable: 1,
      concurrency: 1,
    })
  ) {
    case 'limit':
      return { kind: 'limit', key: limited, addNanoUsd: money(150) };
    case 'credit':
      return {
        kind: 'credit',
        account: dice.pick<AccountName>(['shared', 'own']),
        addNanoUsd: money(800),
      };
    case 'account limit':
      return { kind: 'account limit', account: dice.pick(ACCOUNT_NAMES), limit: dice.int(4), addNanoUsd: money(400) };
    case 'price':
      return planPrice(dice);
    case 'ratio':
      return { kind: 'ratio', group: dice.pick(GROUP_NAMES), ratio: ratio(dice, 0.5, 2) };
    case 'rotate':
      return { kind: 'rotate', key: dice.pick(KEY_NAMES) };
    case 'enable':
      return { kind: 'enable', key: dice.pick(KEY_NAMES), enabled: dice.chance(0.5) };
    case 'concurrency':
      return {
        kind: 'concurrency',
        key: dice.pick(KEY_NAMES),
        most: dice.chance(0.3) ? null : between(dice, 1, 10),
      };
  }
}

function planPrice(dice: Dice): Edit {
  const kind = dice.pick(['per token', 'in dollars', 'per request'] as const);
  switch (kind) {
    case 'per token':
      return {
        kind: 'price',
        ratio: ratio(dice, 0.2, 1.5),
        model: dice.pick<ModelName>(['gpt-model', 'claude-model', 'mixed-model', 'embed-model']),
      };
    case 'in dollars':
      return { kind: 'price', ratio: ratio(dice, 0.5, 1.5), model: 'omni-model' };
    case 'per request':
      return {
        kind: 'price',
        ratio: ratio(dice, 0.001, 0.006),
        model: dice.pick<ModelName>(['flat-model', 'image-model', 'sized-image-model', 'film-model']),
      };
  }
}

function planCall(dice: Dice, n: number): CallPlan {
  const key = dice.pick(KEY_NAMES);
  const common = {
    n,
    key,
    startMs: dice.int(LOAD_MS),
    fault: weighted(dice, { none: 90, 'broken JSON': 2, dripped: 4, 'slow reader': 4 }),
    leaving: planLeaving(dice),
  };
  switch (weighted(dice, { chat: 68, responses: 8, images: 9, videos: 5, embeddings: 5, speech: 5 })) {
    case 'images':
      return planImages(dice, common);
    case 'videos':
      return planVideo(dice, common);
    case 'responses':
      return planResponse(dice, common);
    case 'speech':
      return planSpeech(dice, common);
    case 'embeddings':
      return {
        ...common,
        path: '/v1/embeddings',
        model: 'embed-model',
        stream: false,
        maxTokens: undefined,
        generations: 1,
        body: JSON.stringify({ model: 'embed-model', input: promptOf(dice, n) }),
      };
    case 'chat':
      return planChat(dice, common);
  }
}

type Common = Pick<CallPlan, 'n' | 'key' | 'startMs' | 'fault' | 'leaving'>;

function planImages(dice: Dice, common: Common): CallPlan {
  const generations = between(dice, 1, 4);
  const model = dice.pick(['image-model', 'sized-image-model', 'sized-image-model'] as const);
  const look =
    model === 'image-model'
      ? {}
      : {
          size: dice.pick([...SIZES, 'auto', undefined]),
          quality: dice.pick([...QUALITIES, 'auto', undefined]),
        };
  const isEdit = model === 'sized-image-model' && dice.chance(0.4);
  const pictures = isEdit ? { images: [{ image_url: `data:image/png;base64,${PIXELS}` }] } : {};
  const body = JSON.stringify({ model, prompt: promptOf(dice, common.n), n: generations, ...look, ...pictures });
  const path = isEdit ? '/v1/images/edits' : '/v1/images/generations';
  return { ...common, path, model, stream: false, maxTokens: undefined, generations, body };
}

/** Images that are made of a text, or of pictures too. */
export function isOfImages({ path }: Pick<CallPlan, 'path'>): boolean {
  return path === '/v1/images/generations' || path === '/v1/images/edits';
}

function planVideo(dice: Dice, common: Common): CallPlan {
  const seconds = between(dice, 1, 12);
  const model = 'film-model';
  const asked = dice.chance(0.5) ? seconds : String(seconds);
  const body = JSON.stringify({ model, prompt: promptOf(dice, common.n), seconds: asked });
  return { ...common, path: '/v1/videos', model, stream: false, maxTokens: undefined, generations: seconds, body };
}

function planSpeech(dice: Dice, common: Common): CallPlan {
  const model = 'voice-model';
  const input = promptOf(dice, common.n);
  const body = JSON.stringify({ model, input, voice: 'alloy' });
  const generations = input.length;
  return { ...common, path: '/v1/audio/speech', model, stream: false, maxTokens: undefined, generations, body };
}

const PIXELS = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const AUDIO_PART = { type: 'input_audio', input_audio: { data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEA', format: 'wav' } };
/** Asks for an answer that is spoken too. */
const SPOKEN = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } };
const TOOL_SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };

const MOST_MODELS = [...CHAT_MODELS, 'claude-model'] as const;
/** Group cheap has the OpenAI route only. */
const CHEAP_MODELS = ['gpt-model', 'flat-model', 'omni-model'] as const;

function planChat(dice: Dice, common: Common): CallPlan {
  const model = dice.pick(KEYS[common.key].group === 'cheap' ? CHEAP_MODELS : MOST_MODELS);
  const anthropic = dice.chance({ 'claude-model': 0.75, 'omni-model': 0.25 }[model as string] ?? 0.45);
  const stream = dice.chance(0.6);
  const maxTokens = dice.chance(0.85) ? between(dice, 20, 1_200) : undefined;
  const answers = !anthropic && dice.chance(0.05) ? between(dice, 2, 3) : 1;
  const convertsOnly = model === 'mixed-model' || (model === 'claude-model' && !anthropic);
  const text = promptOf(dice, common.n);
  const isOmni = model === 'omni-model';
  const media = [
    ...(dice.chance(isOmni ? 0.3 : 0.1) ? [imagePart(anthropic)] : []),
    ...(isOmni && !anthropic && dice.chance(0.5) ? [AUDIO_PART] : []),
  ];
  const content = media.length > 0 ? [{ type: 'text', text }, ...media] : text;
  const fields = {
    model,
    stream,
    messages: [{ role: 'user', content }],
    ...(maxTokens === undefined
      ? {}
      : { [anthropic || dice.chance(0.5) ? 'max_tokens' : 'max_completion_tokens']: maxTokens }),
    ...(dice.chance(0.06) ? { tools: [toolOf(anthropic)] } : {}),
    ...(anthropic && model === 'claude-model' ? planProviderWork(dice) : {}),
    ...(isOmni && !anthropic && dice.chance(0.5) ? SPOKEN : {}),
    ...(answers > 1 && !convertsOnly ? { n: answers } : {}),
    ...(!anthropic && stream && dice.chance(0.3) ? { stream_options: { include_usage: true } } : {}),
  };
  return {
    ...common,
    path: anthropic ? '/v1/messages' : '/v1/chat/completions',
    model,
    stream,
    maxTokens,
    generations: convertsOnly ? 1 : answers,
    body: JSON.stringify(fields),
  };
}

/** Converted on every channel, so that the gateway keeps the response unless it is told not to. */
function planResponse(dice: Dice, common: Common): CallPlan {
  const model = dice.pick(KEYS[common.key].group === 'cheap' ? CHEAP_MODELS : MOST_MODELS);
  const stream = dice.chance(0.6);
  const maxTokens = dice.chance(0.85) ? between(dice, 20, 1_200) : undefined;
  const text = promptOf(dice, common.n);
  const fields = {
    model,
    stream,
    input: dice.chance(0.5) ? text : [{ role: 'user', content: text }],
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(dice.chance(0.25) && { store: false }),
  };
  return { ...common, path: '/v1/responses', model, stream, maxTokens, generations: 1, body: JSON.stringify(fields) };
}

/** What only Anthropic's channels do: searches of the web, and a region. */
function planProviderWork(dice: Dice): object {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: between(dice, 1, 2) };
  return { ...(dice.chance(0.5) && { tools: [search] }), ...(dice.chance(0.3) && { inference_geo: REGION }) };
}

function imagePart(anthropic: boolean): unknown {
  return anthropic
    ? { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXELS } }
    : { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXELS}` } };
}

function toolOf(anthropic: boolean): unknown {
  return anthropic
    ? { name: 'weather', description: 'tells the weather', input_schema: TOOL_SCHEMA }
    : { type: 'function', function: { name: 'weather', description: 'tells the weather', parameters: TOOL_SCHEMA } };
}

/** Stands in every prompt; no log may show it. */
export const PROMPT_MARK = 'chaosprompt';

/** A prompt that is four bytes longer for each call, so that estimates identify calls. */
function promptOf(dice: Dice, n: number): string {
  return `${PROMPT_MARK} call ${String(n).padStart(5, '0')} `.padEnd(200 + 4 * n + 2_000 * dice.int(2), 'x');
}

/** Which call a body of promptOf belongs to; undefined: none. */
export function callIn(body: string): number | undefined {
  const digits = /chaosprompt call (\d{5}) /.exec(body)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function planLeaving(dice: Dice): Leaving {
  switch (
    weighted(dice, { stays: 68, 'half body': 3, sent: 3, waits: 10, head: 3, 'mid-stream': 9, 'before end': 4 })
  ) {
    case 'stays':
      return { stage: 'stays' };
    case 'half body':
      return { stage: 'half body' };
    case 'sent':
      return { stage: 'sent' };
    case 'head':
      return { stage: 'head' };
    case 'before end':
      return { stage: 'before end' };
    case 'waits':
      return { stage: 'waits', ms: dice.int(1_200) };
    case 'mid-stream':
      return { stage: 'mid-stream', pieces: between(dice, 1, 6) };
  }
}
