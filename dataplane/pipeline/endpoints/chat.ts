/**
 * Chat, in both dialects: what its body asks for, its bounds, and what a model allows.
 */
import { GatewayError } from '../../errors.ts';
import type { ChatFacts, Dialect, UnboundedUse } from '../../protocol/call-facts.ts';
import { converterFor } from '../../protocol/providers.ts';
import { boundInput, estimateInput } from '../../protocol/estimate.ts';
import type { Candidate } from '../../state/state.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkCostFields } from './check-cost-fields.ts';

/** @throws RequestFault where the body is not JSON, or a field that the gateway reads is wrong. */
export async function readChat(received: Received, dialect: Dialect): Promise<EndpointCall> {
  const facts = await received.body.facts(dialect === 'OpenAI' ? 'OpenAIChat' : 'AnthropicChat');
  const { costFields } = facts;
  return {
    kind: 'Chat',
    model: facts.model,
    stream: facts.stream,
    check: (candidate) => {
      checkAllowed(facts, candidate.model, candidate.target.protocol !== dialect);
      checkContextBeta(received, candidate);
      if (candidate.target.protocol === dialect) checkCostFields(costFields, candidate);
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
    unbounded: ({ model }) => isUnbounded(facts, model) || costFields.length > 0 || asksForLongContext(received),
    wantsStreamUsage: facts.wantsStreamUsage,
    affinity: facts.affinity,
    converter: ({ target }) => (target.endpoints.has('Chat') ? converterFor(dialect, target.protocol) : undefined),
    unservable: () => onlyResponses(facts.model),
  };
}

function onlyResponses(model: string): GatewayError {
  const message = `The provider of ${model} serves only responses: POST /v1/responses`;
  return new GatewayError('wrong_endpoint', message, { param: 'model' });
}

/** The beta that lifts a model's context to a million tokens. */
const LONG_CONTEXT_BETA = /(?:^|[\s,])(context-1m-[\w-]*)/;
const LONG_CONTEXT_TOKENS = 1_000_000;

/**
 * The price bound of a call comes from the context length in the route, which a header must not lift. Providers of
 * other protocols do not get the header. Throws not_allowed.
 */
function checkContextBeta({ headers }: Received, { model, target }: Candidate): void {
  const { name, contextTokens } = model;
  if (target.protocol !== 'Anthropic' || contextTokens >= LONG_CONTEXT_TOKENS) return;
  const [, beta] = LONG_CONTEXT_BETA.exec(String(headers['anthropic-beta'] ?? '')) ?? [];
  if (beta === undefined) return;
  const message = `The header "anthropic-beta: ${beta}" needs a context of ${LONG_CONTEXT_TOKENS} tokens, and `
    + `"${name}" has contextTokens ${contextTokens} in its ModelRoute. Leave the beta out, or ask the platform team to `
    + `set contextTokens to ${LONG_CONTEXT_TOKENS}.`;
  throw new GatewayError('not_allowed', message, { param: 'anthropic-beta' });
}

function asksForLongContext({ headers: { 'anthropic-beta': beta } }: Received): boolean {
  return beta !== undefined && LONG_CONTEXT_BETA.test(String(beta));
}

type UsedFeatures = Pick<ChatFacts, 'images' | 'imageParam' | 'unbounded'>;

/** Throws unsupported_image and not_allowed. A conversion itself decides on the tools that the provider runs. */
export function checkAllowed(facts: UsedFeatures, model: Candidate['model'], converted = false): void {
  if (facts.images > 0 && !model.acceptsImages) {
    const message = `The model "${model.name}" takes text only. `
      + 'Leave the image out, or choose a model that takes images.';
    const { imageParam: param } = facts;
    throw new GatewayError('unsupported_image', message, param === undefined ? {} : { param });
  }
  const forbidden = facts.unbounded.find((use) => !(use.droppable && converted) && !isAllowed(use, model));
  if (forbidden) throw notAllowed(forbidden, model);
}

function isAllowed({ feature, droppable }: UnboundedUse, { allow, providerTools }: Candidate['model']): boolean {
  if (droppable && providerTools === 'Drop') return true;
  return allow.has(feature) && !(droppable && providerTools === 'Refuse');
}

/** Whether anything that the call uses, and that is not dropped, has a price without a bound. */
export function isUnbounded({ unbounded }: Pick<ChatFacts, 'unbounded'>, model: Candidate['model']): boolean {
  return unbounded.some(({ droppable }) => !droppable || model.providerTools !== 'Drop');
}

const FEATURE_NAMES: Readonly<Record<UnboundedUse['feature'], string>> = {
  ServerTools: 'tools that run at the provider',
  ServiceTiers: 'service tiers with prices of their own',
  FileReferences: 'files by reference',
  Audio: 'audio',
};

function notAllowed(
  { feature, param, droppable }: UnboundedUse, { name: model, providerTools }: Candidate['model'],
): GatewayError {
  if (droppable && providerTools === 'Refuse') {
    const message = `The field "${param}" asks for ${FEATURE_NAMES[feature]}, which "${model}" does not offer. `
      + 'Leave it out.';
    return new GatewayError('not_allowed', message, { param });
  }
  const asks = `The field "${param}" asks for ${FEATURE_NAMES[feature]}, whose price has no bound for "${model}".`;
  const advice = feature === 'Audio'
    ? 'Leave it out.'
    : `Leave it out, or ask the platform team to allow ${feature} for this model.`;
  return new GatewayError('not_allowed', `${asks} ${advice}`, { param });
}
