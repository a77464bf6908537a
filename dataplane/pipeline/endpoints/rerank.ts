/** Rankings of documents by a query, for the models that read texts and make none. */
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { boundRerankInput, DOCUMENTS_PER_UNIT, estimateRerankInput } from '../../protocol/openai/rerank.ts';
import { providerOf } from '../../protocol/providers.ts';
import { checkAllowed } from './allowed-features.ts';
import { checkCostFields } from './check-cost-fields.ts';
import type { Endpoint } from './endpoint.ts';

export const RERANK: Endpoint<BodyFacts['Rerank']> = {
  kind: 'Embeddings',
  read: ({ body }) => body.facts('Rerank'),
  asks: ({ model, documents, imageParam }) => ({
    model,
    generations: Math.ceil(documents.length / DOCUMENTS_PER_UNIT),
    ...(imageParam !== undefined && { imageParam, modalities: ['imageInput'] }),
  }),
  check: ({ imageParam, costFields }, candidate) => {
    checkAllowed({ images: imageParam === undefined ? 0 : 1, imageParam, unbounded: [] }, candidate);
    checkCostFields(costFields, candidate);
  },
  boundInput: (facts, { model }) => boundRerankInput(facts, model),
  estimateInput: (facts, { model }) => estimateRerankInput(facts, model),
  unbounded: ({ costFields }) => costFields.length > 0,
  converter: (_facts, { target }) => providerOf(target.protocol).endpoints?.rerank,
};
