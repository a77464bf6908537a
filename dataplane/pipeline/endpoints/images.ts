/** Images: priced per image; on channels whose provider has them. */
import { readImagesFacts } from '../../protocol/openai/images.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAsked } from './chat.ts';

/** @throws RequestFault */
export function readImages(received: Received): EndpointCall {
  const facts = readImagesFacts(received.body.parse());
  return {
    kind: 'Images',
    model: facts.model,
    stream: facts.stream,
    check: ({ model }) => checkAsked({ images: facts.imageParam === undefined ? 0 : 1, imageParam: facts.imageParam, unbounded: [] }, model),
    boundInput: () => 0,
    estimateInput: () => 0,
    output: undefined,
    generations: facts.generations,
    oneHourCache: false,
    wantsStreamUsage: false,
    converter: ({ target }) => providerOf(target.protocol).images,
  };
}
