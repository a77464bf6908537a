/** The chat endpoints of both dialects: parses the body, bounds its cost, and checks what the model allows. */
import { GatewayError } from '../../errors.ts';
import type { Modality, Uses } from '../../price/price.ts';
import type { ConversationFacts } from '../../protocol/body-kinds.ts';
import type { ChatFacts, Dialect, PricedUse, PricedWay, UnboundedUse } from '../../protocol/call-facts.ts';
import { MIN_RESPONSE_TOKENS, servingApi } from '../../protocol/openai/serving-api.ts';
import type { ServingApi, ToolReasoning } from '../../protocol/openai/serving-api.ts';
import { converterFor } from '../../protocol/providers.ts';
import { boundInput, estimateInput } from '../../protocol/estimate.ts';
import type { Candidate } from '../../state/state.ts';
import type { EndpointCall, OutputRequest, Received } from '../context.ts';
import { checkCostFields } from './check-cost-fields.ts';

/** @throws RequestFault if the body is not JSON, or a field that the gateway reads is invalid. */
export async function readChat(received: Received, dialect: Dialect): Promise<EndpointCall> {
  const facts = await received.body.facts(dialect === 'OpenAI' ? 'OpenAIChat' : 'AnthropicChat');
  const { costFields } = facts;
  const conversionAt = (candidate: Candidate): Conversion =>
    conversionTo(candidate, dialect, servingApiAt(candidate, facts));
  return {
    check: (candidate) => {
      const conversion = conversionAt(candidate);
      checkAllowed(facts, candidate, conversion);
      checkContextBeta(received, candidate);
      if (!conversion.ofTools) checkCostFields(costFields, candidate);
    },
    ...conversationCall(facts),
    output: chatOutputOf(facts),
    serviceTier: facts.serviceTier,
    region: facts.region,
    uses: (candidate) => usesOf(usedAt(facts, candidate, conversionAt(candidate))),
    unbounded: (candidate) =>
      hasNoBound(usedAt(facts, candidate, conversionAt(candidate))) ||
      costFields.length > 0 ||
      asksForLongContext(received),
    converter: (candidate) => converterFor(dialect, candidate.target.protocol, servingApiAt(candidate, facts)),
  };
}

/** What a conversation asks for, whatever its dialect. */
export function conversationCall(
  facts: ConversationFacts,
): Pick<
  EndpointCall,
  | 'kind'
  | 'model'
  | 'stream'
  | 'boundInput'
  | 'estimateInput'
  | 'output'
  | 'generations'
  | 'oneHourCache'
  | 'modalities'
  | 'asksForReasoning'
  | 'wantsStreamUsage'
  | 'imageParam'
  | 'bringsImages'
  | 'affinity'
> {
  return {
    kind: 'Chat',
    model: facts.model,
    stream: facts.stream,
    boundInput: ({ model }) => boundInput(facts, model),
    estimateInput: ({ model }) => estimateInput(facts, model),
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

/** The output of a chat that may be converted to Responses. */
export function chatOutputOf(facts: ConversationFacts): OutputRequest {
  return {
    ...outputOf(facts),
    leastTokens: (candidate) => (servingApiAt(candidate, facts) === 'Responses' ? MIN_RESPONSE_TOKENS : 0),
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

type UsedFeatures = Pick<ChatFacts, 'images' | 'imageParam' | 'unbounded'>;

/** What a conversion itself drops or refuses, so that the route need not allow it. */
export interface Conversion {
  /** True if it drops tools that the provider would run. */
  readonly ofTools: boolean;
  /** True if it drops service tiers, which only OpenAI's protocol has. */
  readonly ofTiers: boolean;
}

export const NOT_CONVERTED: Conversion = { ofTools: false, ofTiers: false };

/**
 * The conversion to a candidate. `client` is the dialect that the provider would need for a passthrough, unless another
 * `api` of its protocol serves the call.
 */
export function conversionTo(
  { target: { protocol } }: Candidate,
  client: Dialect,
  api: ServingApi = 'Chat',
): Conversion {
  return {
    ofTools: protocol !== client || api === 'Responses',
    ofTiers: protocol !== 'OpenAI' && client === 'OpenAI',
  };
}

/** Throws unsupported_image and not_allowed. */
export function checkAllowed(
  facts: UsedFeatures,
  candidate: Pick<Candidate, 'model' | 'price'>,
  conversion: Conversion = NOT_CONVERTED,
): void {
  const { model } = candidate;
  if (facts.images > 0 && !model.acceptsImages) {
    const message = `The model "${model.name}" takes text only. Leave the image out, or choose a model that takes images.`;
    const { imageParam: param } = facts;
    throw new GatewayError('unsupported_image', message, param === undefined ? {} : { param });
  }
  const forbidden = facts.unbounded.find((use) => !isLeftOut(use, conversion) && !isAllowed(use, candidate));
  if (forbidden) throw notAllowed(forbidden, candidate);
}

function isLeftOut({ param, droppable }: UnboundedUse, { ofTools, ofTiers }: Conversion): boolean {
  return droppable ? ofTools : ofTiers && param === 'service_tier';
}

function isAllowed(
  { feature, needs, droppable }: UnboundedUse,
  { model, price }: Pick<Candidate, 'model' | 'price'>,
): boolean {
  if (droppable && model.providerTools === 'Drop') return true;
  if (droppable && model.providerTools === 'Refuse') return false;
  return model.allow.has(feature) || isPriced(needs, price);
}

function isPriced(way: PricedWay | undefined, price: Candidate['price']): boolean {
  if (!way || !price) return false;
  if ('tokens' in way) return price.priced.has(way.tokens);
  if ('use' in way) return price.perUse.has(way.use);
  return 'region' in way ? price.regions.has(way.region) : price.serviceTiers.has(way.serviceTier);
}

/** The features that the call uses on this candidate, without the tools that the route or a conversion drops. */
export function usedAt(
  { unbounded }: Pick<ChatFacts, 'unbounded'>,
  { model }: Candidate,
  { ofTools }: Conversion,
): readonly UnboundedUse[] {
  const leavesOut = ofTools || model.providerTools === 'Drop';
  return leavesOut ? unbounded.filter(({ droppable }) => !droppable) : unbounded;
}

/** True if the call's tokens may exceed the bound of its request, because the provider's tools may read any amount. */
export function hasNoBound(used: readonly UnboundedUse[]): boolean {
  return used.some(({ needs }) => needs === undefined);
}

/** The limits that the request sets on uses of the provider's tools. */
export function usesOf(used: readonly UnboundedUse[]): Uses {
  const uses: Partial<Record<keyof Uses, number>> = {};
  for (const { needs } of used) if (needs && 'use' in needs) uses[needs.use] = (uses[needs.use] ?? 0) + needs.most;
  return uses;
}

/** The modalities besides text that the call's input and output may have. A file may be a video with sound. */
function modalitiesOf({ images, files, unbounded }: ChatFacts): Modality[] {
  const audio = unbounded.flatMap(({ needs }) => (needs && 'tokens' in needs ? [needs.tokens] : []));
  if (files > 0) return [...new Set([...audio, 'imageInput' as const, 'audioInput' as const])];
  return images > 0 ? [...audio, 'imageInput'] : audio;
}

export const SEND_PROMPT = 'Send the prompt itself in "instructions" and "input"';

const FEATURE_NAMES: Readonly<Record<UnboundedUse['feature'], string>> = {
  ServerTools: 'tools that run at the provider',
  ServiceTiers: 'service tiers with prices of their own',
  FileReferences: 'files by reference',
  PromptTemplates: 'a prompt that the provider stores',
  Audio: 'audio',
};

function notAllowed(
  { feature, param, droppable, needs, boundBy }: UnboundedUse,
  { model: { name: model, providerTools }, price }: Pick<Candidate, 'model' | 'price'>,
): GatewayError {
  if (droppable && providerTools === 'Refuse') {
    const message = `The field "${param}" asks for ${FEATURE_NAMES[feature]}, which "${model}" does not offer. Leave it out.`;
    return new GatewayError('not_allowed', message, { param });
  }
  if (needs) return notPriced({ param, feature }, needs, model);
  const asks = `The field "${param}" asks for ${FEATURE_NAMES[feature]}, whose price has no bound for "${model}".`;
  if (boundBy && price?.perUse.has(boundBy.use)) {
    const message = `${asks} Say how often with "${boundBy.field}": ${USE_NAMES[boundBy.use]} have a price.`;
    return new GatewayError('not_allowed', message, { param });
  }
  const instead = feature === 'PromptTemplates' ? SEND_PROMPT : 'Leave it out';
  const advice =
    feature === 'Audio' ? 'Leave it out.' : `${instead}, or ask the platform team to allow ${feature} for this model.`;
  return new GatewayError('not_allowed', `${asks} ${advice}`, { param });
}

function notPriced({ feature, param }: UnboundedUse, needs: PricedWay, model: string): GatewayError {
  const [what, field] = describeWay(needs);
  const allow = feature === 'Audio' ? '' : `allow ${feature} for this model, or to `;
  const message =
    `The field "${param}" asks for ${what}, which has no price for "${model}". Leave it out, or ask the ` +
    `platform team to ${allow}price it (${field} in its PriceCatalog).`;
  return new GatewayError('not_allowed', message, { param });
}

const USE_NAMES: Readonly<Record<PricedUse, string>> = {
  webSearch: 'searches of the web',
  webFetch: 'pages of the web',
  fileSearch: 'searches of files',
};

/** Describes a feature that the call asks for, and the field of a PriceCatalog that prices it. */
function describeWay(way: PricedWay): readonly [what: string, field: string] {
  if ('serviceTier' in way) return [`the service tier "${way.serviceTier}"`, `serviceTiers.${way.serviceTier}`];
  if ('region' in way) return [`the region "${way.region}"`, `regions.${way.region}`];
  if ('use' in way) return [USE_NAMES[way.use], `perUse.${way.use}Usd`];
  const direction = way.tokens === 'audioInput' ? 'input' : 'output';
  return [`audio in its ${direction}`, `usdPerMillion.${way.tokens}`];
}
