/**
 * Chat, in both dialects: what its body asks for, what it may cost at most, and what this model may be asked.
 */
import { GatewayError } from '../../errors.ts';
import { readChatFacts as readAnthropic } from '../../protocol/anthropic/facts.ts';
import type { ChatFacts, Dialect, UnboundedUse } from '../../protocol/call-facts.ts';
import { converterFor } from '../../protocol/converters.ts';
import { boundInput, estimateInput } from '../../protocol/estimate.ts';
import { readChatFacts as readOpenAI } from '../../protocol/openai/facts.ts';
import type { Candidate } from '../../state/state.ts';
import type { EndpointCall, Received } from '../context.ts';

/** @throws RequestFault where the body is not JSON, or a field that the gateway reads is wrong. */
export function readChat(received: Received, dialect: Dialect): EndpointCall {
  const facts = (dialect === 'OpenAI' ? readOpenAI : readAnthropic)(received.body.bytes, received.body.parse());
  return {
    kind: 'Chat',
    model: facts.model,
    stream: facts.stream,
    check: ({ model }) => checkAsked(facts, model, longContext(received, model)),
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
    wantsStreamUsage: facts.wantsStreamUsage,
    converter: ({ target }) => converterFor(dialect, target.protocol),
  };
}

/** The beta that lifts a model's context to a million tokens, at prices of its own beyond the usual one. */
const LONG_CONTEXT_BETA = /(?:^|[\s,])context-1m-/;
const LONG_CONTEXT_TOKENS = 1_000_000;

/** What the call may cost is bounded by the context that the route names: a header must not lift it. */
function longContext({ headers }: Received, { contextTokens }: Candidate['model']): UnboundedUse | undefined {
  const beta = headers['anthropic-beta'];
  if (beta === undefined || contextTokens >= LONG_CONTEXT_TOKENS || !LONG_CONTEXT_BETA.test(String(beta))) return undefined;
  return { feature: 'ServiceTiers', param: 'anthropic-beta' };
}

/** Throws unsupported_image and not_allowed. */
export function checkAsked(facts: Pick<ChatFacts, 'images' | 'imageParam' | 'unbounded'>, model: Candidate['model'], besides?: UnboundedUse): void {
  if (facts.images > 0 && !model.acceptsImages)
    throw new GatewayError('unsupported_image', `The model "${model.name}" takes text only. Leave the image out, or choose a model that takes images.`,
      facts.imageParam === undefined ? {} : { param: facts.imageParam });
  const forbidden = facts.unbounded.find(({ feature }) => !model.allow.has(feature)) ?? (besides && !model.allow.has(besides.feature) ? besides : undefined);
  if (forbidden) throw notAllowed(forbidden, model.name);
}

const WORDS: Readonly<Record<UnboundedUse['feature'], string>> = {
  ServerTools: 'tools that run at the provider',
  ServiceTiers: 'service tiers with prices of their own',
  FileReferences: 'files by reference',
  Audio: 'audio',
};

function notAllowed({ feature, param }: UnboundedUse, model: string): GatewayError {
  const mend = feature === 'Audio' ? 'Leave it out.' : `Leave it out, or ask the platform team to allow ${feature} for this model.`;
  return new GatewayError('not_allowed', `The field "${param}" asks for ${WORDS[feature]}, whose price has no bound for "${model}". ${mend}`, { param });
}
