/** The demo provider's endpoints that read texts and write none: moderations and rankings. */
import { BadRequest, contentText, isObject, requiredText, textIn } from './prompt.ts';
import type { Json } from './prompt.ts';
import { countTokens, tokensOf } from './tokens.ts';

/** Each with a word that a text of it has. */
const CATEGORIES: Readonly<Record<string, RegExp>> = {
  harassment: /\binsult/i,
  hate: /\bhate\b/i,
  violence: /\bkill|\bviolen/i,
};
const DOCUMENTS_PER_UNIT = 100;

/** POST /v1/moderations: a text is flagged for the words in it. */
export function moderations(body: Json, id: string): unknown {
  const { input } = body;
  const isParts = Array.isArray(input) && input.some(isObject);
  const inputs = Array.isArray(input) && !isParts ? input.map(textIn) : [contentText(input)];
  if (inputs.join('') === '') throw new BadRequest('input', 'input is required: a text, texts, or parts');
  const results = inputs.map((text) => {
    const found = Object.entries(CATEGORIES).map(([name, words]) => [name, words.test(text)] as const);
    return {
      flagged: found.some(([, isFound]) => isFound),
      categories: Object.fromEntries(found),
      category_scores: Object.fromEntries(found.map(([name, isFound]) => [name, isFound ? 0.98 : 0.01])),
    };
  });
  return { id: `modr-${id}`, model: textIn(body['model']) || 'omni-moderation-latest', results };
}

/** POST /v1/rerank and /v2/rerank: documents by the share of the query's words that they have. */
export function ranking(body: Json, id: string): unknown {
  const query = requiredText(body, 'query');
  const { documents, top_n: most } = body;
  if (!Array.isArray(documents) || documents.length === 0)
    throw new BadRequest('documents', 'documents is required: a list of texts');
  const texts = documents.map((each: unknown) => (isObject(each) ? textIn(each['text']) : String(each)));
  const words = new Set(wordsIn(query));
  const ranked = texts
    .map((text, index) => ({ index, relevance_score: scoreOf(text, words), text }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, typeof most === 'number' ? most : undefined);
  const tokens = texts.reduce((sum, text) => sum + countTokens([query, text]), 0);
  return {
    id,
    model: requiredText(body, 'model'),
    results: ranked.map(({ text, ...result }) =>
      body['return_documents'] === true ? { ...result, document: { text } } : result,
    ),
    meta: {
      billed_units: { search_units: Math.ceil(texts.length / DOCUMENTS_PER_UNIT) },
      tokens: { input_tokens: tokens },
    },
    usage: { total_tokens: tokens },
  };
}

function scoreOf(text: string, words: ReadonlySet<string>): number {
  if (words.size === 0) return 0;
  const own = new Set(wordsIn(text));
  return [...words].filter((word) => own.has(word)).length / words.size;
}

function wordsIn(text: string): string[] {
  return tokensOf(text.toLowerCase()).map((token) => token.trim());
}
