/** The chat endpoints of OpenAI's and Anthropic's dialects, which every provider serves. */
import { GatewayError } from '../../errors.ts';
import type { ConversationFacts } from '../../protocol/body-kinds.ts';
import type { Dialect } from '../../protocol/call-facts.ts';
import { converterFor } from '../../protocol/providers.ts';
import type { Candidate } from '../../state/state.ts';
import type { Received } from '../context.ts';
import { checkAllowed, conversionTo, usedAt } from './allowed-features.ts';
import type { Conversion } from './allowed-features.ts';
import { checkCostFields } from './check-cost-fields.ts';
import { chatOutputOf, conversation, isUnbounded, servingApiAt } from './conversation.ts';
import type { ConversationEndpoint } from './conversation.ts';
import type { Endpoint } from './endpoint.ts';

export const CHAT_COMPLETIONS = chat('OpenAI', 'OpenAIChat');
export const MESSAGES = chat('Anthropic', 'AnthropicChat');

function chat(dialect: Dialect, kind: 'OpenAIChat' | 'AnthropicChat'): Endpoint<ConversationFacts> {
  const conversionAt = (facts: ConversationFacts, candidate: Candidate): Conversion =>
    conversionTo(candidate, dialect, servingApiAt(candidate, facts));
  const used: ConversationEndpoint<ConversationFacts>['used'] = (facts, candidate) =>
    usedAt(facts, candidate, conversionAt(facts, candidate));
  return conversation({
    read: ({ body }) => body.facts(kind),
    asks: (facts) => ({ output: chatOutputOf(facts), serviceTier: facts.serviceTier, region: facts.region }),
    used,
    check: (facts, candidate, received) => {
      const conversion = conversionAt(facts, candidate);
      checkAllowed(facts, candidate, conversion);
      checkContextBeta(received, candidate);
      if (!conversion.ofTools) checkCostFields(facts.costFields, candidate);
    },
    unbounded: (facts, candidate, received) =>
      isUnbounded(facts, used(facts, candidate)) || asksForLongContext(received),
    converter: (facts, candidate) => converterFor(dialect, candidate.target.protocol, servingApiAt(candidate, facts)),
  });
}

/** The beta header that raises a model's context to a million tokens. */
const LONG_CONTEXT_BETA = /(?:^|[\s,])(context-1m-[\w-]*)/;
const LONG_CONTEXT_TOKENS = 1_000_000;

/**
 * A call's price bound follows from the context length in the route, which a header must not raise. Providers of other
 * protocols do not get the header. Throws not_allowed.
 */
function checkContextBeta({ headers }: Received, { model, target }: Candidate): void {
  const { name, contextTokens } = model;
  if (target.protocol !== 'Anthropic' || contextTokens >= LONG_CONTEXT_TOKENS) return;
  const [, beta] = LONG_CONTEXT_BETA.exec(String(headers['anthropic-beta'] ?? '')) ?? [];
  if (beta === undefined) return;
  const message =
    `The header "anthropic-beta: ${beta}" needs a context of ${LONG_CONTEXT_TOKENS} tokens, and ` +
    `"${name}" has contextTokens ${contextTokens} in its ModelRoute. Leave the beta out, or ask the platform team to ` +
    `set contextTokens to ${LONG_CONTEXT_TOKENS}.`;
  throw new GatewayError('not_allowed', message, { param: 'anthropic-beta' });
}

function asksForLongContext({ headers: { 'anthropic-beta': beta } }: Received): boolean {
  return beta !== undefined && LONG_CONTEXT_BETA.test(String(beta));
}
