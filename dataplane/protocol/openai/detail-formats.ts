/**
 * `reasoning_details`: pieces of reasoning with what proves whose they are, as OpenRouter and gateways like it have
 * them. The format of a piece names its maker.
 */
import { stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** What is written for each maker. */
export const DETAIL_FORMATS = {
  Anthropic: 'anthropic-claude-v1',
  Gemini: 'google-gemini-v1',
  OpenAI: 'openai-responses-v1',
} as const;

/** The maker of a piece; undefined: another one, or none is named. */
export function detailMaker(detail: JsonRecord): keyof typeof DETAIL_FORMATS | undefined {
  const format = stringOf(detail['format']);
  if (format.startsWith('anthropic')) return 'Anthropic';
  if (format.startsWith('google')) return 'Gemini';
  return format.startsWith('openai') ? 'OpenAI' : undefined;
}

/** The readable text of a piece; empty: it has none. */
export function detailText(detail: JsonRecord): string {
  return stringOf(detail['text']) + stringOf(detail['summary']);
}
