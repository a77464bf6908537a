/** What a model and its price allow a request to use: images, tools that run at the provider, service tiers, files. */
import { GatewayError } from '../../errors.ts';
import type { Uses } from '#price/price.ts';
import type { ChatFacts, Dialect, PricedUse, PricedWay, UnboundedUse } from '../../protocol/call-facts.ts';
import type { ServingApi } from '../../protocol/openai/serving-api.ts';
import type { Candidate } from '../../state/state.ts';

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

export const SEND_PROMPT = 'Send the prompt itself in "instructions" and "input"';

const FEATURE_NAMES: Readonly<Record<UnboundedUse['feature'], string>> = {
  ServerTools: 'tools that run at the provider',
  ServiceTiers: 'service tiers with prices of their own',
  FileReferences: 'files by reference',
  PromptTemplates: 'a prompt that the provider stores',
  Audio: 'audio',
};

function notAllowed(
  { feature, param, droppable, needs, boundBy, what = FEATURE_NAMES[feature] }: UnboundedUse,
  { model: { name: model, providerTools }, price }: Pick<Candidate, 'model' | 'price'>,
): GatewayError {
  if (droppable && providerTools === 'Refuse') {
    const message = `The field "${param}" asks for ${FEATURE_NAMES[feature]}, which "${model}" does not offer. Leave it out.`;
    return new GatewayError('not_allowed', message, { param });
  }
  if (needs) return notPriced({ param, feature }, needs, model);
  const asks = `The field "${param}" asks for ${what}, whose price has no bound for "${model}".`;
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
