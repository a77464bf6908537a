/** Images: priced per image; on channels that speak OpenAI's protocol. */
import { imagesConverter, readImagesFacts } from '../../protocol/openai/images.ts';
import type { EndpointCall, Received } from '../context.ts';

/** @throws RequestFault */
export function readImages(received: Received): EndpointCall {
  const facts = readImagesFacts(received.body.parse());
  return {
    kind: 'Images',
    model: facts.model,
    stream: facts.stream,
    check: () => undefined,
    boundInput: () => 0,
    estimateInput: () => 0,
    output: undefined,
    generations: facts.generations,
    oneHourCache: false,
    wantsStreamUsage: false,
    converter: ({ target }) => (target.protocol === 'OpenAI' ? imagesConverter : undefined),
  };
}
