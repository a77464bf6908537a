/** Rankings of documents by a query, by models that read text and generate none. */
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { boundRerankInput, DOCUMENTS_PER_UNIT, estimateRerankInput } from '../../protocol/openai/rerank.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { Endpoint } from './endpoint.ts';
import { asksForImage, checkPassthrough } from './passthrough.ts';

export const RERANK: Endpoint<BodyFacts['Rerank']> = {
  kind: 'Embeddings',
  read: ({ body }) => body.facts('Rerank'),
  asks: ({ model, documents, imageParam }) => ({
    model,
    generations: Math.ceil(documents.length / DOCUMENTS_PER_UNIT),
    ...asksForImage(imageParam),
  }),
  check: checkPassthrough,
  boundInput: (facts, { model }) => boundRerankInput(facts, model),
  estimateInput: (facts, { model }) => estimateRerankInput(facts, model),
  unbounded: ({ costFields }) => costFields.length > 0,
  converter: (_facts, { target }) => providerOf(target.protocol).endpoints?.rerank,
};
