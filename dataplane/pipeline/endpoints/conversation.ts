/** What the endpoints of conversations have in common, whatever their dialect. */
import type { Modality } from '#price/price.ts';
import type { ConversationFacts } from '../../protocol/body-kinds.ts';
import type { ChatFacts, UnboundedUse } from '../../protocol/call-facts.ts';
import { boundInput, estimateInput } from '../../protocol/estimate.ts';
import { MIN_RESPONSE_TOKENS, servingApi } from '../../protocol/openai/serving-api.ts';
import type { ServingApi, ToolReasoning } from '../../protocol/openai/serving-api.ts';
import type { Candidate } from '../../state/state.ts';
import type { OutputRequest } from '../context.ts';
import { hasNoBound, usesOf } from './allowed-features.ts';
import type { Asks, Endpoint } from './endpoint.ts';

/** In what an endpoint of conversations differs from the others. */
export interface ConversationEndpoint<Facts extends ConversationFacts> extends Pick<
  Endpoint<Facts>,
  'read' | 'converter' | 'check' | 'unbounded' | 'unservable'
> {
  /** Besides what every conversation asks. */
  asks?(facts: Facts): Partial<Asks>;
  /** The features that are used on a candidate, without those that the conversion to it leaves out. */
  used(facts: Facts, candidate: Candidate): readonly UnboundedUse[];
}

export function conversation<Facts extends ConversationFacts>(own: ConversationEndpoint<Facts>): Endpoint<Facts> {
  return {
    kind: 'Chat',
    boundInput: (facts, { model }) => boundInput(facts, model),
    estimateInput: (facts, { model }) => estimateInput(facts, model),
    uses: (facts, candidate) => usesOf(own.used(facts, candidate)),
    unbounded: (facts, candidate) => isUnbounded(facts, own.used(facts, candidate)),
    ...own,
    asks: (facts) => ({ ...asksOf(facts), ...own.asks?.(facts) }),
  };
}

/** True if a call may cost more than the bound of its request. */
export function isUnbounded({ compacts, costFields }: ConversationFacts, used: readonly UnboundedUse[]): boolean {
  return compacts === true || hasNoBound(used) || costFields.length > 0;
}

function asksOf(facts: ConversationFacts): Asks {
  return {
    model: facts.model,
    stream: facts.stream,
    output: outputOf(facts),
    generations: facts.answers,
    oneHourCache: facts.oneHourCache,
    modalities: modalitiesOf(facts),
    asksForReasoning: facts.asksForReasoning,
    wantsStreamUsage: facts.wantsStreamUsage,
    imageParam: facts.imageParam,
    bringsImages: facts.images > 0 || hasNoBound(facts.unbounded),
    affinity: facts.affinity,
  };
}

function outputOf(facts: ConversationFacts): OutputRequest {
  return {
    maxTokens: facts.maxOutputTokens,
    answers: facts.answers,
    predictionTokens: facts.predictionTokens,
    thinkingBudget: facts.thinkingBudget,
    fixed: facts.fixedOutput,
  };
}

/** The output of a chat that may be converted to Responses. */
export function chatOutputOf(facts: ConversationFacts): OutputRequest {
  return {
    ...outputOf(facts),
    leastTokens: (candidate) => (servingApiAt(candidate, facts) === 'Responses' ? MIN_RESPONSE_TOKENS : 0),
  };
}

/** The modalities besides text that the call's input and output may have. A file may be a video with sound. */
export function modalitiesOf({
  images,
  files,
  unbounded,
}: Pick<ChatFacts, 'images' | 'files' | 'unbounded'>): Modality[] {
  const audio = unbounded.flatMap(({ needs }) => (needs && 'tokens' in needs ? [needs.tokens] : []));
  if (files > 0) return [...new Set([...audio, 'imageInput' as const, 'audioInput' as const])];
  return images > 0 ? [...audio, 'imageInput'] : audio;
}

/** By candidate, because a call asks several times, and the model's name is matched with patterns. */
const apis = new WeakMap<Candidate, Readonly<Record<ToolReasoning, ServingApi>>>();

/** The API of the candidate's protocol that serves a chat there. */
export function servingApiAt(
  candidate: Candidate,
  { toolReasoning }: Pick<ConversationFacts, 'toolReasoning'>,
): ServingApi {
  let known = apis.get(candidate);
  if (!known) apis.set(candidate, (known = servingApis(candidate)));
  return known[toolReasoning];
}

function servingApis({
  target: { endpoints },
  upstreamModel,
  model: { capabilities },
}: Candidate): Readonly<Record<ToolReasoning, ServingApi>> {
  const served = { endpoints, upstreamModel, capabilities };
  return {
    Yes: servingApi(served, 'Yes'),
    No: servingApi(served, 'No'),
    ByDefault: servingApi(served, 'ByDefault'),
  };
}
