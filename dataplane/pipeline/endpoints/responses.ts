/**
 * The responses endpoint: requests pass through on channels whose provider serves them, and are converted to chats on
 * others.
 */
import { GatewayError } from '../../errors.ts';
import type { ConversationFacts } from '../../protocol/body-kinds.ts';
import { converterFor, providerOf } from '../../protocol/providers.ts';
import type { Candidate } from '../../state/state.ts';
import type { EndpointCall, Received } from '../context.ts';
import {
  checkAllowed,
  conversationCall,
  conversionTo,
  hasNoBound,
  NOT_CONVERTED,
  SEND_PROMPT,
  usedAt,
  usesOf,
} from './chat.ts';
import type { Conversion } from './chat.ts';
import { checkCostFields } from './check-cost-fields.ts';

/** @throws RequestFault */
export async function readResponse(received: Received): Promise<EndpointCall> {
  const facts = await received.body.facts('Responses');
  const { costFields } = facts;
  // a conversion drops tools that the provider would run
  const converted = { ...facts, unbounded: facts.unbounded.filter(({ feature }) => feature !== 'ServerTools') };
  const template = templateIn(facts);
  const unbounded = (candidate: Candidate): boolean =>
    facts.compacts === true || hasNoBound(usedAt(facts, candidate, conversionOf(candidate))) || costFields.length > 0;
  return {
    ...(template !== undefined && { accountBoundField: template }),
    ...(facts.background === true && { background: true }),
    check: (candidate) => {
      if (!passesThrough(candidate)) {
        if (template !== undefined) throw noTemplates(template);
        if (facts.background === true) throw noBackground();
        return checkAllowed(converted, candidate, conversionOf(candidate));
      }
      checkAllowed(facts, candidate);
      checkCostFields(costFields, candidate);
      if (facts.background === true && unbounded(candidate)) throw unboundedBackground();
    },
    ...conversationCall(facts),
    pingForm: 'Responses',
    serviceTier: facts.serviceTier,
    region: facts.region,
    uses: (candidate) => usesOf(usedAt(facts, candidate, conversionOf(candidate))),
    unbounded,
    converter: (candidate) => {
      const { target } = candidate;
      if (passesThrough(candidate)) return providerOf(target.protocol).responses;
      return target.endpoints.has('Chat') ? converterFor('Responses', target.protocol) : undefined;
    },
  };
}

/**
 * Compaction of a conversation, at providers that serve responses. The request has no output limit: the hold covers the
 * model's own limit, and the bill is for what the provider reports. @throws RequestFault
 */
export async function readCompaction(received: Received): Promise<EndpointCall> {
  const facts = await received.body.facts('Compaction');
  const { costFields, model } = facts;
  const template = templateIn(facts);
  return {
    ...conversationCall(facts),
    ...(template !== undefined && { accountBoundField: template }),
    stream: false,
    check: (candidate) => {
      checkAllowed(facts, candidate);
      checkCostFields(costFields, candidate);
    },
    output: { maxTokens: undefined, answers: 1, predictionTokens: 0, thinkingBudget: undefined, fixed: true },
    generations: 1,
    serviceTier: facts.serviceTier,
    region: facts.region,
    uses: (candidate) => usesOf(usedAt(facts, candidate, NOT_CONVERTED)),
    unbounded: () => true,
    wantsStreamUsage: false,
    converter: (candidate) => (passesThrough(candidate) ? providerOf(candidate.target.protocol).compaction : undefined),
    unservable: () =>
      new GatewayError(
        'not_found',
        `The provider of ${model} compacts no conversations. Ask it for a ` +
          'summary with POST /v1/responses, and go on with that in "input".',
        { param: 'model' },
      ),
  };
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
