/** OpenAI's responses: chat models on channels whose provider has them. */
import { GatewayError } from '../../errors.ts';
import { boundInput, estimateInput } from '../../protocol/estimate.ts';
import { asksForReasoning } from '../../protocol/hidden-reasoning.ts';
import { readResponseFacts } from '../../protocol/openai/response-facts.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAllowed } from './chat.ts';
import { checkCostFields, costFieldsOf } from './check-cost-fields.ts';

/** Fields that cost more and that the facts below read and bound. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(['max_output_tokens', 'reasoning.max_tokens']);

/** @throws RequestFault */
export function readResponse(received: Received): EndpointCall {
  const facts = readResponseFacts(received.body.bytes, received.body.parse());
  const costFields = costFieldsOf(received.body.parse(), 'OpenAI', KNOWN_FIELDS);
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
    asksForReasoning: asksForReasoning(received.body.parse()),
    unbounded: facts.unbounded.length > 0 || costFields.length > 0,
    wantsStreamUsage: facts.wantsStreamUsage,
    converter: ({ target }) => providerOf(target.protocol).responses,
    unservable: () => new GatewayError('model_not_found',
      `The provider of "${facts.model}" does not speak OpenAI's protocol, so that this model has no responses. `
        + 'Call it at POST /v1/chat/completions, or at POST /v1/messages.',
      { param: 'model' }),
  };
}
