/** Embeddings: priced by their input; on channels that speak OpenAI's protocol. */
import { boundEmbeddingsInput, readEmbeddingsFacts } from '../../protocol/openai/embeddings.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';

/** @throws RequestFault */
export function readEmbeddings(received: Received): EndpointCall {
  const facts = readEmbeddingsFacts(received.body.parse());
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
    unbounded: false,
    wantsStreamUsage: false,
    converter: ({ target }) => providerOf(target.protocol).embeddings,
  };
}
