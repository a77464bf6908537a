/**
 * The videos endpoint, from JSON or a form with files. It creates jobs, priced per video at their creation, on channels
 * whose provider has videos.
 */
import { readFacts } from '../../protocol/body-kinds.ts';
import { isForm, parseForm } from '../../protocol/multipart.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAllowed } from './chat.ts';
import { checkCostFields } from './check-cost-fields.ts';
import { checkVideoPrice } from './check-generation-price.ts';

/** @throws RequestFault */
export async function readVideos(received: Received): Promise<EndpointCall> {
  const header = received.headers['content-type'];
  const form = typeof header === 'string' && isForm(header) ? header : undefined;
  const facts =
    form === undefined
      ? await received.body.facts('Videos')
      : readFacts(
          'Videos',
          received.body.bytes,
          received.body.parse((bytes) => parseForm(bytes, form)),
        );
  const { imageParam, unbounded, costFields, seconds, size, lengthParam } = facts;
  return {
    kind: 'Videos',
    model: facts.model,
    stream: false,
    check: (candidate) => {
      checkAllowed({ images: imageParam === undefined ? 0 : 1, imageParam, unbounded }, candidate);
      checkCostFields(costFields, candidate);
      checkVideoPrice({ seconds, size, lengthParam }, candidate);
    },
    boundInput: () => 0,
    estimateInput: () => 0,
    output: undefined,
    generations: facts.generations,
    made: { seconds, size },
    oneHourCache: false,
    asksForReasoning: false,
    unbounded: () => false,
    wantsStreamUsage: false,
    converter: ({ target }) => providerOf(target.protocol).videos?.create(form),
  };
}
