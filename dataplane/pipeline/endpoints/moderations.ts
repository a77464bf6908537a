/** Moderations, for the models that read texts and make none. */
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { boundModeratedInput, estimateModeratedInput } from '../../protocol/openai/moderations.ts';
import { providerOf } from '../../protocol/providers.ts';
import { checkAllowed } from './allowed-features.ts';
import { checkCostFields } from './check-cost-fields.ts';
import type { Endpoint } from './endpoint.ts';

export const MODERATIONS: Endpoint<BodyFacts['Moderations']> = {
  kind: 'Embeddings',
  read: ({ body }) => body.facts('Moderations'),
  asks: ({ model, imageParam }) => ({
    model,
    ...(imageParam !== undefined && { imageParam, modalities: ['imageInput'] }),
  }),
  check: ({ imageParam, costFields }, candidate) => {
    checkAllowed({ images: imageParam === undefined ? 0 : 1, imageParam, unbounded: [] }, candidate);
    checkCostFields(costFields, candidate);
  },
  boundInput: (facts, { model }) => boundModeratedInput(facts, model),
  estimateInput: (facts, { model }) => estimateModeratedInput(facts, model),
  unbounded: ({ costFields }) => costFields.length > 0,
  converter: (_facts, { target }) => providerOf(target.protocol).endpoints?.moderations,
};
