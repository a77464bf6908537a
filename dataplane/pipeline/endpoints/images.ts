/** The images endpoint: priced per image, on channels whose provider has images. */
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAllowed } from './chat.ts';
import { checkCostFields } from './check-cost-fields.ts';
import { checkImagePrice } from './check-generation-price.ts';

/** @throws RequestFault */
export async function readImages(received: Received): Promise<EndpointCall> {
  const facts = await received.body.facts('Images');
  const { imageParam, costFields, made } = facts;
  return {
    kind: 'Images',
    model: facts.model,
    stream: facts.stream,
    check: (candidate) => {
      checkAllowed({ images: imageParam === undefined ? 0 : 1, imageParam, unbounded: [] }, candidate);
      checkCostFields(costFields, candidate);
      checkImagePrice(made, candidate);
    },
    boundInput: () => 0,
    estimateInput: () => 0,
    output: undefined,
    generations: facts.generations,
    made,
    oneHourCache: false,
    asksForReasoning: false,
    unbounded: () => false,
    wantsStreamUsage: false,
    converter: ({ target }) => providerOf(target.protocol).images,
  };
}
