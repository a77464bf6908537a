/**
 * The figures of usage that the provider reports: honest ones, false ones, and how each protocol writes them. They
 * include what has prices of its own: modalities, reasoning, searches, and the requests that one call consists of.
 */
import type { AnthropicUsage, OpenaiUsage } from '../support/provider-answers.ts';
import { CONTEXT_TOKENS } from './config.ts';
import type { Protocol } from './config.ts';
import { between, weighted } from './dice.ts';
import type { Dice } from './dice.ts';
import { TIER } from './price-extras.ts';
import type { Detail } from './price-extras.ts';

/** The properties of a request that decide its figures. */
export interface FiguresAsked {
  readonly protocol: Protocol;
  readonly kind: 'chat' | 'embeddings' | 'images' | 'videos' | 'speech';
  readonly bodyBytes: number;
  /** The searches of the web that the request allows. */
  readonly searches: number;
  /** The number of images or answers. */
  readonly answers: number;
  /** The modalities besides text that the request has, or asks for. */
  readonly media: ReadonlySet<Detail>;
}

/** Usage figures as the provider writes them; undefined: left out. They may be false, and need not be numbers. */
export interface Figures {
  /** Input as Anthropic counts it: without cached and written tokens. */
  readonly input: unknown;
  readonly cached: number;
  /** Anthropic only. */
  readonly written: number;
  readonly output: unknown;
  /** Searches of the web. Anthropic only. */
  readonly searches: number;
  /** Of Anthropic's, only reasoning is written. */
  readonly details: Details;
  /** The requests that the call consists of; undefined: it does not say. Anthropic only. */
  readonly requests: readonly ListedRequest[] | undefined;
}

export type Details = Readonly<Partial<Record<Detail, unknown>>>;

/** A request to a model within a call. */
export interface ListedRequest {
  /** `message`: the call's own sampling. The figures of the call do not contain those of another kind. */
  readonly type: 'message' | 'compaction' | 'advisor_message';
  /** A model's name that is not the call's own. */
  readonly model: string | undefined;
  /** The tier that served it; undefined: that of the call. */
  readonly tier: string | undefined;
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
}

/** `most`: true, and as much as the request can cost. */
export type Lie =
  | 'none'
  | 'honest'
  | 'most'
  | 'zero'
  | 'less'
  | 'more'
  | 'negative'
  | 'huge'
  | 'beyond belief'
  | 'NaN'
  | 'text'
  | 'fraction'
  | 'half';

const NOT_JSON = '@@NaN@@';

/** Undefined: the answer has none. `least`, `limit`: tokens of the output. */
export function figuresOf(
  dice: Dice,
  lie: Lie,
  asked: FiguresAsked,
  { least, limit }: { readonly least: number; readonly limit: number },
): Figures | undefined {
  if (lie === 'most') return mostFigures(asked, limit * asked.answers);
  const honest = honestFigures(dice, asked, dice.chance(0.25) ? limit : between(dice, least, limit));
  return lie === 'none' ? undefined : lied(dice, lie, honest, limit);
}

function honestFigures(dice: Dice, asked: FiguresAsked, output: number): Figures {
  const searches = dice.int(asked.searches + 1);
  if (asked.searches > 0 && dice.chance(0.7)) return manyRequests(dice, asked, { output, searches });
  const input = 20 + dice.int(asked.bodyBytes >> 2);
  return {
    input,
    output,
    searches,
    cached: dice.chance(0.3) ? dice.int(100) : 0,
    written: asked.protocol === 'Anthropic' && dice.chance(0.2) ? dice.int(100) : 0,
    details: detailsOf(dice, asked, { input, output }),
    requests: undefined,
  };
}

/** Everything is in the dearest class that the request can have, and every request has a whole context. */
function mostFigures({ protocol, bodyBytes, searches, media }: FiguresAsked, output: number): Figures {
  const isAnthropic = protocol === 'Anthropic';
  const requests = Array.from({ length: searches + 1 }, (_, index): ListedRequest => ({
    type: 'message',
    model: undefined,
    tier: undefined,
    input: 0,
    cached: 0,
    written: CONTEXT_TOKENS,
    output: index === 0 ? output : 0,
  }));
  const all = searches > 0 ? CONTEXT_TOKENS * requests.length : Math.min(CONTEXT_TOKENS, Math.floor(bodyBytes * 0.8));
  const ofMedia = (name: Detail, count: number): number => (media.has(name) ? count : 0);
  const audioOutput = ofMedia('audioOutput', output);
  return {
    input: isAnthropic ? 0 : all,
    cached: 0,
    written: isAnthropic ? all : 0,
    output,
    searches,
    details: {
      audioInput: ofMedia('audioInput', all),
      imageInput: ofMedia('imageInput', media.has('audioInput') ? 0 : all),
      reasoning: searches > 0 ? 0 : output - audioOutput,
      audioOutput,
    },
    requests: searches > 0 ? requests : undefined,
  };
}

/** The parts may overlap, and some are false: larger than the whole, no counts at all, or of what nobody asked for. */
function detailsOf(
  dice: Dice,
  { kind, media }: FiguresAsked,
  { input, output }: { readonly input: number; readonly output: number },
): Details {
  if (kind !== 'chat' || dice.chance(0.3)) return {};
  const part = (of: number): number => (dice.chance(0.3) ? of : dice.int(of + 1));
  const ofMedia = (name: Detail, of: number): number => (media.has(name) ? part(of) : 0);
  const honest = {
    imageInput: ofMedia('imageInput', input),
    audioInput: ofMedia('audioInput', input),
    reasoning: part(output),
    imageOutput: dice.chance(0.3) ? part(output >> 1) : 0,
    audioOutput: ofMedia('audioOutput', output),
  };
  if (dice.chance(0.7)) return honest;
  const wrong = (of: number, is: number): unknown =>
    dice.pick([is, is, of + 1, 3 * of + 500, of * 10_000, 2 ** 31, 1e300, -7, '12', is + 0.25]);
  return {
    imageInput: wrong(input, honest.imageInput),
    audioInput: wrong(input, honest.audioInput),
    reasoning: wrong(output, honest.reasoning),
    imageOutput: wrong(output, honest.imageOutput),
    audioOutput: wrong(output, honest.audioOutput),
  };
}

/** After a search the provider asks the model again. It lists all such requests, some, none, or others besides. */
function manyRequests(
  dice: Dice,
  { searches: most }: FiguresAsked,
  { output, searches }: Pick<Figures, 'searches'> & { output: number },
): Figures {
  const how = weighted(dice, { each: 5, besides: 4, unlisted: 3, some: 2, 'beyond belief': 1 });
  const isBesides = how === 'besides' || how === 'beyond belief';
  let left = output;
  const all = Array.from({ length: between(dice, 2, most + 1) }, (_, index): ListedRequest => {
    const own = dice.int(left + 1);
    left -= own;
    const isOther = isBesides && index > 0;
    return {
      type: isOther ? dice.pick(['compaction', 'advisor_message'] as const) : 'message',
      model: isOther ? dice.pick(['mixed-model', 'unheard-of', undefined]) : undefined,
      tier: (isOther || how === 'each') && dice.chance(0.3) ? TIER : undefined,
      input: 20 + dice.int(dice.pick([600, 1_500, 4_500])) + (isOther && how === 'beyond belief' ? 50_000 : 0),
      cached: dice.int(300),
      written: dice.int(200),
      output: own,
    };
  });
  const own = all.filter(({ type }) => type === 'message');
  const sum = (name: 'input' | 'cached' | 'written' | 'output'): number =>
    own.reduce((total, each) => total + each[name], 0);
  const listed = { each: all, besides: all, 'beyond belief': all, some: all.slice(1), unlisted: undefined }[how];
  return {
    input: sum('input'),
    cached: sum('cached'),
    written: sum('written'),
    output: sum('output'),
    searches,
    details: {},
    requests: isBesides && dice.chance(0.3) ? all.slice(1) : listed,
  };
}

function lied(dice: Dice, lie: Exclude<Lie, 'none' | 'most'>, honest: Figures, limit: number): Figures {
  const plain = { ...honest, requests: undefined };
  switch (lie) {
    case 'honest':
      return honest;
    case 'zero':
      return { ...plain, input: 0, cached: 0, written: 0, output: 0, searches: 0, details: {} };
    case 'less':
      return { ...plain, output: 1 };
    case 'more':
      return { ...honest, output: limit * between(dice, 2, 12), searches: honest.searches + 700 };
    case 'negative':
      return { ...plain, output: -between(dice, 1, 5_000) };
    case 'huge':
      return { ...plain, output: 2 ** 31 - 1 };
    case 'beyond belief':
      return { ...plain, output: dice.pick([2 ** 31, 2 ** 53 + 2, 1e300]) };
    case 'NaN':
      return { ...plain, output: NOT_JSON };
    case 'text':
      return { ...plain, output: '12' };
    case 'fraction':
      return { ...plain, output: between(dice, 1, limit - 1) + 0.25 };
    case 'half':
      return { ...plain, output: undefined };
  }
}

/** Figures in OpenAI's shape, without a total, which would correct a false one. */
export function openaiFigures({ input, cached, output, details }: Figures): OpenaiUsage {
  const prompt = typeof input === 'number' ? input + cached : input;
  const { imageInput, audioInput, reasoning, imageOutput, audioOutput } = details;
  const isDetailed = Object.keys(details).length > 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: undefined,
    prompt_tokens_details: { cached_tokens: cached, image_tokens: imageInput, audio_tokens: audioInput },
    ...(isDetailed && {
      completion_tokens_details: {
        reasoning_tokens: reasoning,
        image_tokens: imageOutput,
        audio_tokens: audioOutput,
      },
    }),
  } as unknown as OpenaiUsage;
}

export function anthropicFigures(
  figures: Figures,
  served: {
    readonly region: string | undefined;
    readonly tier: string | undefined;
  },
): AnthropicUsage {
  const {
    searches,
    details: { reasoning },
    requests,
  } = figures;
  return {
    ...anthropicCounts(figures),
    ...(searches > 0 && { server_tool_use: { web_search_requests: searches } }),
    ...(served.region !== undefined && { inference_geo: served.region }),
    ...(served.tier !== undefined && { service_tier: served.tier }),
    ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
    ...(requests && {
      iterations: requests.map(({ type, model, tier, ...counts }) => ({
        type,
        ...anthropicCounts(counts),
        model,
        service_tier: tier,
      })),
    }),
  } as unknown as AnthropicUsage;
}

function anthropicCounts({
  input,
  cached,
  written,
  output,
}: Pick<Figures, 'input' | 'cached' | 'written' | 'output'>): Readonly<Record<string, unknown>> {
  return {
    input_tokens: input,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens: output,
  };
}

/** Writes NaN without quotes, which is not JSON, as some providers do. */
export function withoutQuotes(text: string): string {
  return text.replaceAll(`"${NOT_JSON}"`, 'NaN');
}
