/**
 * The endpoints of responses: requests pass through on channels whose provider serves them, and are converted to chats
 * on others. Compaction only passes through.
 */
import { GatewayError } from '../../errors.ts';
import type { ConversationFacts } from '../../protocol/body-kinds.ts';
import type { UnboundedUse } from '../../protocol/call-facts.ts';
import { converterFor, providerOf } from '../../protocol/providers.ts';
import type { Candidate } from '../../state/state.ts';
import { checkAllowed, conversionTo, NOT_CONVERTED, SEND_PROMPT, usedAt } from './allowed-features.ts';
import type { Conversion } from './allowed-features.ts';
import { checkCostFields } from './check-cost-fields.ts';
import { conversation, isUnbounded } from './conversation.ts';
import type { Asks } from './endpoint.ts';
import { outputOfModelLimit } from '../context.ts';

export const RESPONSES = conversation({
  read: ({ body }) => body.facts('Responses'),
  asks: (facts) => ({
    ...asksOf(facts),
    ...(facts.background === true && { background: true }),
    mayBeKept: facts.unstored !== true,
    pingForm: 'Responses',
  }),
  used: usedOf,
  check: checkResponse,
  converter: (_facts, candidate) => {
    const { target } = candidate;
    if (passesThrough(candidate)) return providerOf(target.protocol).endpoints?.responses;
    return target.endpoints.has('Chat') ? converterFor('Responses', target.protocol) : undefined;
  },
});

/** Has no output limit: the hold covers the model's own limit, and the bill is for what the provider reports. */
export const COMPACTION = conversation({
  read: async ({ body }) => {
    const facts = await body.facts('Compaction');
    if (facts.conversation !== undefined) throw compactedTurn();
    return facts;
  },
  asks: (facts) => ({
    ...asksOf(facts),
    stream: false,
    output: outputOfModelLimit(1),
    generations: 1,
    wantsStreamUsage: false,
    optional: true,
  }),
  used: (facts, candidate) => usedAt(facts, candidate, NOT_CONVERTED),
  check: (facts, candidate) => {
    checkAllowed(facts, candidate);
    checkCostFields(facts.costFields, candidate);
  },
  unbounded: () => true,
  converter: (_facts, candidate) =>
    passesThrough(candidate) ? providerOf(candidate.target.protocol).endpoints?.compaction : undefined,
  unservable: ({ model }) =>
    new GatewayError(
      'not_found',
      `The provider of ${model} compacts no conversations. Ask it for a ` +
        'summary with POST /v1/responses, and go on with that in "input".',
      { param: 'model' },
    ),
});

function asksOf(facts: ConversationFacts): Partial<Asks> {
  const template = templateIn(facts);
  const { serviceTier, region } = facts;
  const { continues, conversation: turn } = facts;
  return {
    ...(template !== undefined && { accountBoundField: template }),
    continues,
    conversation: turn,
    serviceTier,
    region,
  };
}

function compactedTurn(): GatewayError {
  const message =
    'A conversation that the gateway keeps is not compacted by its id. Send its items in "input" ' +
    '(GET /v1/conversations/{id}/items).';
  return new GatewayError('unsupported_parameter', message, { param: 'conversation' });
}

function usedOf(facts: ConversationFacts, candidate: Candidate): readonly UnboundedUse[] {
  return usedAt(facts, candidate, conversionOf(candidate));
}

function checkResponse(facts: ConversationFacts, candidate: Candidate): void {
  const isBackground = facts.background === true;
  if (!passesThrough(candidate)) {
    const template = templateIn(facts);
    if (template !== undefined) throw noTemplates(template);
    if (isBackground) throw noBackground();
    // a conversion drops tools that the provider would run
    const unbounded = facts.unbounded.filter(({ feature }) => feature !== 'ServerTools');
    return checkAllowed({ ...facts, unbounded }, candidate, conversionOf(candidate));
  }
  checkAllowed(facts, candidate);
  checkCostFields(facts.costFields, candidate);
  if (isBackground && isUnbounded(facts, usedOf(facts, candidate))) throw unboundedBackground();
}

/** The field that names a prompt which one account of the provider keeps; undefined: none does. */
function templateIn({ unbounded }: ConversationFacts): string | undefined {
  return unbounded.find(({ feature }) => feature === 'PromptTemplates')?.param;
}

function noTemplates(param: string): GatewayError {
  const message =
    `The field "${param}" names a prompt that the provider would have to store, which it does not. ` +
    `${SEND_PROMPT}.`;
  return new GatewayError('unsupported_parameter', message, { param });
}

function noBackground(): GatewayError {
  const message =
    'The field "background" needs a provider that stores the answer until it is fetched, which this one ' +
    'does not. Use "stream" for long answers.';
  return new GatewayError('unsupported_parameter', message, { param: 'background' });
}

/** Its charge, which the bill cannot exceed, would not cover it. */
function unboundedBackground(): GatewayError {
  const message =
    'The field "background" needs an upper bound of what the answer can cost, and this request has ' +
    'tools, files or fields without one. Leave "background" out, or ask the platform team for prices of these tools.';
  return new GatewayError('unsupported_parameter', message, { param: 'background' });
}

function conversionOf(candidate: Candidate): Conversion {
  return passesThrough(candidate) ? NOT_CONVERTED : { ...conversionTo(candidate, 'OpenAI'), ofTools: true };
}

function passesThrough({ target }: Candidate): boolean {
  return target.endpoints.has('Responses');
}
