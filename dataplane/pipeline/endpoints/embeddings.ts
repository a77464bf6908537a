/** Embeddings, by models that read text and generate none. */
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { boundInputs, estimateInputs } from '../../protocol/openai/token-inputs.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { Endpoint } from './endpoint.ts';
import { asksForImage, checkPassthrough } from './passthrough.ts';

export const EMBEDDINGS: Endpoint<BodyFacts['Embeddings']> = {
  kind: 'Embeddings',
  read: ({ body }) => body.facts('Embeddings'),
  asks: ({ model, imageParam }) => ({ model, ...asksForImage(imageParam) }),
  check: checkPassthrough,
  boundInput: (facts, { model }) => boundInputs(facts, model),
  estimateInput: (facts, { model }) => estimateInputs(facts, model),
  unbounded: ({ costFields }) => costFields.length > 0,
  converter: (_facts, { target }) => providerOf(target.protocol).endpoints?.embeddings,
};
