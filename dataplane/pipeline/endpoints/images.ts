/** Images: priced per image, on channels whose provider has them. */
import { readImagesFacts } from '../../protocol/openai/images.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAllowed } from './chat.ts';

/** @throws RequestFault */
export function readImages(received: Received): EndpointCall {
  const facts = readImagesFacts(received.body.parse());
  const { imageParam } = facts;
  return {
    kind: 'Images',
    model: facts.model,
    stream: facts.stream,
    check: ({ model }) => checkAllowed({ images: imageParam === undefined ? 0 : 1, imageParam, unbounded: [] }, model),
    boundInput: () => 0,
    estimateInput: () => 0,
    output: undefined,
    generations: facts.generations,
    oneHourCache: false,
    wantsStreamUsage: false,
    converter: ({ target }) => providerOf(target.protocol).images,
  };
}
