/** Moderations, by models that read text and generate none. */
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { boundModeratedInput, estimateModeratedInput } from '../../protocol/openai/moderations.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { Endpoint } from './endpoint.ts';
import { asksForImage, checkPassthrough } from './passthrough.ts';

export const MODERATIONS: Endpoint<BodyFacts['Moderations']> = {
  kind: 'Embeddings',
  read: ({ body }) => body.facts('Moderations'),
  asks: ({ model, imageParam }) => ({ model, ...asksForImage(imageParam) }),
  check: checkPassthrough,
  boundInput: (facts, { model }) => boundModeratedInput(facts, model),
  estimateInput: (facts, { model }) => estimateModeratedInput(facts, model),
  unbounded: ({ costFields }) => costFields.length > 0,
  converter: (_facts, { target }) => providerOf(target.protocol).endpoints?.moderations,
};
