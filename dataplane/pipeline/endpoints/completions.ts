/** Legacy completions, which only pass through: models of other protocols have no such endpoint. */
import { GatewayError } from '../../errors.ts';
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { boundInputs, estimateInputs } from '../../protocol/openai/token-inputs.ts';
import { providerOf } from '../../protocol/providers.ts';
import { hasNoBound, usesOf } from './allowed-features.ts';
import type { Endpoint } from './endpoint.ts';
import { asksForImage, checkPassthrough } from './passthrough.ts';

export const COMPLETIONS: Endpoint<BodyFacts['Completions']> = {
  kind: 'Chat',
  read: ({ body }) => body.facts('Completions'),
  asks: ({ model, stream, wantsStreamUsage, serviceTier, asksForReasoning, imageParam, ...facts }) => ({
    model,
    stream,
    wantsStreamUsage,
    serviceTier,
    asksForReasoning,
    generations: facts.generated,
    output: {
      maxTokens: facts.maxOutputTokens,
      answers: facts.generated,
      predictionTokens: 0,
      thinkingBudget: undefined,
      fixed: facts.maxOutputTokens === undefined,
    },
    ...asksForImage(imageParam),
  }),
  check: checkPassthrough,
  boundInput: (facts, { model }) => boundInputs(facts, model),
  estimateInput: (facts, { model }) => estimateInputs(facts, model),
  uses: ({ unbounded }) => usesOf(unbounded),
  unbounded: ({ unbounded, costFields }) => hasNoBound(unbounded) || costFields.length > 0,
  converter: ({ choices }, { target: { protocol, endpoints } }) =>
    endpoints.has('Chat') ? providerOf(protocol).endpoints?.completions?.(choices) : undefined,
  unservable: ({ model }) =>
    new GatewayError(
      'not_found',
      `The provider of ${model} has no legacy completions. Send the prompt as a user message to POST ` +
        '/v1/chat/completions.',
      { param: 'model' },
    ),
};
