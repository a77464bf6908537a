/** Images: priced per image, on channels whose provider has them. */
import { readImagesFacts } from '../../protocol/openai/images.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAllowed } from './chat.ts';
import { checkCostFields, costFieldsOf } from './check-cost-fields.ts';

/** Fields that cost more and that the facts below read and bound. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(['n']);

/** @throws RequestFault */
export function readImages(received: Received): EndpointCall {
  const facts = readImagesFacts(received.body.parse());
  const { imageParam } = facts;
  const costFields = costFieldsOf(received.body.parse(), 'OpenAI', KNOWN_FIELDS);
  return {
    kind: 'Images',
    model: facts.model,
    stream: facts.stream,
    check: (candidate) => {
      checkAllowed({ images: imageParam === undefined ? 0 : 1, imageParam, unbounded: [] }, candidate.model);
      checkCostFields(costFields, candidate);
    },
    boundInput: () => 0,
    estimateInput: () => 0,
    output: undefined,
    generations: facts.generations,
    oneHourCache: false,
    asksForReasoning: false,
    unbounded: false,
    wantsStreamUsage: false,
    converter: ({ target }) => providerOf(target.protocol).images,
  };
}
