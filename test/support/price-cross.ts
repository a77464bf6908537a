/** The crossed dimensions of prices (price-cross.yaml) as answers of providers, with what each costs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { PriceCase, PriceMatrix } from './price-case.ts';

type Context = 'below' | 'above';

/** Costs are nano-dollars. */
interface OpenaiRow extends Readonly<Record<'standard' | 'priority' | 'flex', number>> {
  readonly context: Context;
  readonly cache: 'none' | 'read' | 'written';
  readonly modality: 'text' | 'audioInput' | 'imageInput' | 'audioOutput' | 'imageOutput' | 'reasoning';
}

interface AnthropicRow extends Readonly<Record<'standard' | 'priority' | 'batch' | 'fast', number>> {
  readonly context: Context;
  readonly cache: 'none' | 'read' | 'written5m' | 'written1h';
  readonly iterations: 'one' | 'two' | 'other';
}

interface Fixture extends Pick<PriceMatrix, 'catalog'> {
  readonly openai: readonly OpenaiRow[];
  readonly anthropic: readonly AnthropicRow[];
}

const INPUT = { below: 10_000, above: 110_000 } as const;
const OUTPUT = 1000;
const CACHED = 4000;
const PARTS = {
  text: 0,
  audioInput: 2000,
  imageInput: 3000,
  audioOutput: 200,
  imageOutput: 300,
  reasoning: 400,
} as const;

export function readPriceCross(): PriceMatrix {
  const { catalog, openai, anthropic } = parse(
    readFileSync(join(import.meta.dirname, 'price-cross.yaml'), 'utf8'),
  ) as Fixture;
  return {
    catalog,
    cases: [
      ...openai.flatMap((row) => (['standard', 'priority', 'flex'] as const).flatMap((tier) => openaiCases(row, tier))),
      ...anthropic.flatMap((row) =>
        (['standard', 'priority', 'batch', 'fast'] as const).map((tier) => anthropicCase(row, tier)),
      ),
    ],
  };
}

/** In OpenAI's shape and, where it has such a cache, in Gemini's. */
function openaiCases(row: OpenaiRow, tier: 'standard' | 'priority' | 'flex'): PriceCase[] {
  const { context, cache, modality } = row;
  const name = `${context} the step, ${tier}, cache ${cache}, ${modality}`;
  const common = { model: 'crossed-gpt', inputTokens: INPUT[context], cost: row[tier] };
  const openai: PriceCase = { ...common, name: `${name}, as OpenAI`, answer: openaiAnswer(row, tier) };
  if (cache === 'written') return [openai];
  return [openai, { ...common, name: `${name}, as Gemini`, protocol: 'Gemini', answer: geminiAnswer(row, tier) }];
}

function openaiAnswer({ context, cache, modality }: OpenaiRow, tier: string): PriceCase['answer'] {
  const part = (of: OpenaiRow['modality']): number => (of === modality ? PARTS[of] : 0);
  return {
    service_tier: tier === 'standard' ? 'default' : tier,
    usage: {
      prompt_tokens: INPUT[context],
      completion_tokens: OUTPUT,
      prompt_tokens_details: {
        cached_tokens: cache === 'read' ? CACHED : 0,
        cache_write_tokens: cache === 'written' ? CACHED : 0,
        audio_tokens: part('audioInput'),
        image_tokens: part('imageInput'),
      },
      completion_tokens_details: {
        audio_tokens: part('audioOutput'),
        image_tokens: part('imageOutput'),
        reasoning_tokens: part('reasoning'),
      },
    },
  };
}

function geminiAnswer({ context, cache, modality }: OpenaiRow, tier: string): PriceCase['answer'] {
  const ofInput = modality === 'audioInput' || modality === 'imageInput' ? PARTS[modality] : 0;
  const ofOutput = modality === 'audioOutput' || modality === 'imageOutput' ? PARTS[modality] : 0;
  const thoughts = modality === 'reasoning' ? PARTS.reasoning : 0;
  const kind = modality.startsWith('audio') ? 'AUDIO' : 'IMAGE';
  const details = (whole: number, part: number): unknown => [
    { modality: 'TEXT', tokenCount: whole - part },
    ...(part > 0 ? [{ modality: kind, tokenCount: part }] : []),
  ];
  return {
    usage: {
      promptTokenCount: INPUT[context],
      promptTokensDetails: details(INPUT[context], ofInput),
      ...(cache === 'read' && { cachedContentTokenCount: CACHED, cacheTokensDetails: details(CACHED, 0) }),
      candidatesTokenCount: OUTPUT - thoughts,
      candidatesTokensDetails: details(OUTPUT - thoughts, ofOutput),
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      totalTokenCount: INPUT[context] + OUTPUT,
      serviceTier: tier.toUpperCase(),
    },
  };
}

function anthropicCase(row: AnthropicRow, tier: 'standard' | 'priority' | 'batch' | 'fast'): PriceCase {
  const { context, cache, iterations } = row;
  const own = anthropicUsage(context, cache);
  const second = { type: 'message', input_tokens: 1000, output_tokens: 100 };
  const advice = {
    type: 'advisor_message',
    model: 'crossed-advisor',
    input_tokens: context === 'below' ? 2000 : 120_000,
    output_tokens: 50,
  };
  const besides: readonly { readonly input_tokens: number }[] = { one: [], two: [second], other: [advice] }[iterations];
  const whole =
    iterations === 'two'
      ? { ...own, input_tokens: own.input_tokens + second.input_tokens, output_tokens: OUTPUT + second.output_tokens }
      : own;
  return {
    name: `${context} the step, ${tier}, cache ${cache}, ${iterations} of the iterations, as Anthropic`,
    model: 'crossed-claude',
    protocol: 'Anthropic',
    cost: row[tier],
    inputTokens: INPUT[context] + besides.reduce((sum, { input_tokens: tokens }) => sum + tokens, 0),
    ...(tier === 'fast' && { asked: 'fast' }),
    answer: {
      usage: {
        ...whole,
        service_tier: tier === 'fast' ? 'standard' : tier,
        ...(tier === 'fast' && { speed: 'fast' }),
        ...(besides.length > 0 && { iterations: [{ type: 'message', ...own }, ...besides] }),
      },
    },
  };
}

function anthropicUsage(
  context: Context,
  cache: AnthropicRow['cache'],
): { readonly input_tokens: number; readonly output_tokens: number } {
  const [written5m, written1h] = [cache === 'written5m' ? CACHED : 0, cache === 'written1h' ? CACHED : 0];
  return {
    input_tokens: INPUT[context] - (cache === 'none' ? 0 : CACHED),
    output_tokens: OUTPUT,
    ...(cache === 'read' && { cache_read_input_tokens: CACHED }),
    ...(written5m + written1h > 0 && {
      cache_creation_input_tokens: CACHED,
      cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
    }),
  };
}
