/**
 * Every pair of client dialect and provider protocol.
 */
import { anthropicToAnthropic } from './anthropic-anthropic.ts';
import { anthropicToOpenai } from './anthropic-openai.ts';
import type { Dialect } from './call-facts.ts';
import type { Converter } from './converter.ts';
import { openaiToAnthropic } from './openai-anthropic.ts';
import { openaiToOpenai } from './openai-openai.ts';

const CONVERTERS: Readonly<Record<Dialect, Readonly<Record<Dialect, Converter>>>> = {
  OpenAI: { OpenAI: openaiToOpenai, Anthropic: openaiToAnthropic },
  Anthropic: { OpenAI: anthropicToOpenai, Anthropic: anthropicToAnthropic },
};

export function converterFor(client: Dialect, upstream: Dialect): Converter {
  return CONVERTERS[client][upstream];
}
