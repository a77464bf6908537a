/**
 * Google's methods besides those of conversations. They pass through to channels of Google's protocol; embeddings of
 * texts are converted for those of OpenAI's.
 */
import { GatewayError } from '../../errors.ts';
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { boundEmbedInput, estimateEmbedInput } from '../../protocol/gemini/embed-facts.ts';
import { providerOf } from '../../protocol/providers.ts';
import { checkAllowed, hasNoBound } from './allowed-features.ts';
import { checkImagePrice } from './check-generation-price.ts';
import { modalitiesOf } from './conversation.ts';
import type { Endpoint } from './endpoint.ts';
import { checkPassthrough } from './passthrough.ts';

type Named<Facts> = Facts & { readonly model: string };

/** embedContent and batchEmbedContents, priced by their input. */
export function embedContents(
  kind: 'GeminiEmbed' | 'GeminiBatchEmbed',
  model: string,
): Endpoint<Named<BodyFacts['GeminiEmbed']>> {
  return {
    kind: 'Embeddings',
    read: async ({ body }) => ({ ...(await body.facts(kind)), model }),
    asks: (facts) => ({ model, imageParam: facts.imageParam, modalities: modalitiesOf(facts) }),
    check: (facts, candidate) => checkAllowed(facts, candidate),
    boundInput: (facts, candidate) => boundEmbedInput(facts, candidate.model),
    estimateInput: (facts, candidate) => estimateEmbedInput(facts, candidate.model),
    unbounded: ({ unbounded }) => hasNoBound(unbounded),
    converter: (_facts, { target }) => {
      const endpoints = providerOf(target.protocol).geminiEndpoints;
      return kind === 'GeminiEmbed' ? endpoints?.embedContent : endpoints?.batchEmbedContents;
    },
    unservable: () => notOfGoogle(model, 'Call POST /v1/embeddings.'),
  };
}

/** Images of Imagen, priced by the image. */
export function predict(model: string): Endpoint<Named<BodyFacts['GeminiPredict']>> {
  return {
    kind: 'Images',
    read: async ({ body }) => ({ ...(await body.facts('GeminiPredict')), model }),
    asks: ({ generations, made }) => ({ model, generations, made }),
    check: (facts, candidate) => {
      checkPassthrough(facts, candidate);
      checkImagePrice(facts.made, candidate);
    },
    unbounded: ({ costFields }) => costFields.length > 0,
    converter: (_facts, { target }) => providerOf(target.protocol).geminiEndpoints?.predict,
    unservable: () => notOfGoogle(model, 'Call POST /v1/images/generations.'),
  };
}

function notOfGoogle(model: string, instead: string): GatewayError {
  return new GatewayError('not_found', `The provider of ${model} has no such method. ${instead}`, {
    param: 'model',
  });
}
