/** The embeddings endpoint: priced by its input, on channels that speak OpenAI's protocol. */
import { boundEmbeddingsInput } from '../../protocol/openai/embeddings.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';

/** @throws RequestFault */
export async function readEmbeddings(received: Received): Promise<EndpointCall> {
  const facts = await received.body.facts('Embeddings');
  return {
    kind: 'Embeddings',
    model: facts.model,
    stream: false,
    check: () => undefined,
    boundInput: ({ model }) => boundEmbeddingsInput(facts, model.contextTokens),
    estimateInput: () => facts.estimatedTokens,
    output: undefined,
    generations: 1,
    oneHourCache: false,
    asksForReasoning: false,
    unbounded: () => false,
    wantsStreamUsage: false,
    converter: ({ target }) => providerOf(target.protocol).embeddings,
  };
}
