/** OpenAI's responses: chat models on channels whose provider has them. */
import { boundInput, estimateInput } from '../../protocol/estimate.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { wrongEndpoint } from '../wrong-endpoint.ts';
import { checkAllowed } from './chat.ts';
import { checkCostFields } from './check-cost-fields.ts';

/** @throws RequestFault */
export async function readResponse(received: Received): Promise<EndpointCall> {
  const facts = await received.body.facts('Responses');
  const { costFields } = facts;
  return {
    kind: 'Chat',
    model: facts.model,
    stream: facts.stream,
    check: (candidate) => {
      checkAllowed(facts, candidate.model);
      checkCostFields(costFields, candidate);
    },
    boundInput: ({ model }) => boundInput(facts, model),
    estimateInput: ({ model }) => estimateInput(facts, model),
    output: {
      maxTokens: facts.maxOutputTokens,
      answers: facts.answers,
      predictionTokens: facts.predictionTokens,
      thinkingBudget: facts.thinkingBudget,
      fixed: facts.fixedOutput,
    },
    generations: facts.answers,
    oneHourCache: facts.oneHourCache,
    asksForReasoning: facts.asksForReasoning,
    unbounded: facts.unbounded.length > 0 || costFields.length > 0,
    wantsStreamUsage: facts.wantsStreamUsage,
    affinity: facts.affinity,
    converter: ({ target }) => providerOf(target.protocol).responses,
    unservable: () => wrongEndpoint(facts.model, new Set(['Chat']),
      `The provider of ${facts.model} does not speak OpenAI's protocol, so this model has no responses.`),
  };
}
