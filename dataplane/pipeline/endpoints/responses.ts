/**
 * Responses: they pass through on channels whose provider serves them, and are converted to chats on all others.
 */
import { boundInput, estimateInput } from '../../protocol/estimate.ts';
import { converterFor, providerOf } from '../../protocol/providers.ts';
import type { Candidate } from '../../state/state.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAllowed } from './chat.ts';
import { checkCostFields } from './check-cost-fields.ts';

/** @throws RequestFault */
export async function readResponse(received: Received): Promise<EndpointCall> {
  const facts = await received.body.facts('Responses');
  const { costFields } = facts;
  // a conversion leaves tools out that the provider would run
  const converted = { ...facts, unbounded: facts.unbounded.filter(({ feature }) => feature !== 'ServerTools') };
  return {
    kind: 'Chat',
    model: facts.model,
    stream: facts.stream,
    check: (candidate) => {
      if (!passesThrough(candidate)) return checkAllowed(converted, candidate.model);
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
    converter: (candidate) => {
      const { target } = candidate;
      if (passesThrough(candidate)) return providerOf(target.protocol).responses;
      return target.endpoints.has('Chat') ? converterFor('Responses', target.protocol) : undefined;
    },
  };
}

function passesThrough({ target }: Candidate): boolean {
  return target.endpoints.has('Responses');
}
