/** Collects the texts of a request for a count of its tokens, by its dialect. */
import { collectMessageTexts } from './anthropic/count-texts.ts';
import type { CountedTexts } from './counted-texts.ts';
import type { JsonRecord } from './fields.ts';
import { collectGenerateTexts } from './gemini/count-texts.ts';
import { collectResponseTexts } from './openai/count-texts.ts';
import type { CountedDialect } from './provider.ts';

/** Expects a request whose facts have been read. */
export function collectTexts(dialect: CountedDialect, parsed: JsonRecord): CountedTexts {
  switch (dialect) {
    case 'Anthropic':
      return collectMessageTexts(parsed);
    case 'Responses':
      return collectResponseTexts(parsed);
    case 'Gemini':
      return collectGenerateTexts(parsed);
  }
}
