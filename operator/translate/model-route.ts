/**
 * [P] Translates a ModelRoute to models and channels. A channel without a usable credential is left out; the others
 * work.
 */
import type { ModelRoute, ModelRouteChannel, ModelRouteModel } from '#crds/types.gen.ts';
import {
  Allowance,
  ChannelEndpoint,
  ClientDisconnect,
  Endpoint,
  Input,
  OnTimeout,
  Protocol,
  ProviderTools,
  QuotaType,
  Reasoning,
  RetryOn,
  Routing,
} from '#snapshot/snapshot.gen.ts';
import type { BetaRules, Channel, Model, ModelRoute as ModelRouteMessage } from '#snapshot/snapshot.gen.ts';
import { findingsOf } from '../status/findings.ts';
import type { Finding, Findings } from '../status/findings.ts';
import { imageTokensOf } from './image-tokens.ts';
import { memoize } from './memoize.ts';
import { findCredential, secretsNamedBy } from './references.ts';
import type { ChannelCredential, SecretLookup } from './references.ts';
import { FieldReader, refuseInvalid } from './translated.ts';
import type { Translated } from './translated.ts';
import { quoteNames } from './quote-names.ts';
import { translateSignIn } from './sign-in.ts';

const ENDPOINTS = {
  Chat: Endpoint.CHAT,
  Embeddings: Endpoint.EMBEDDINGS,
  Images: Endpoint.IMAGES,
  Videos: Endpoint.VIDEOS,
  Speech: Endpoint.SPEECH,
  Transcriptions: Endpoint.TRANSCRIPTIONS,
  Realtime: Endpoint.REALTIME,
} as const;
const CHANNEL_ENDPOINTS = {
  Chat: ChannelEndpoint.CHAT,
  Responses: ChannelEndpoint.RESPONSES,
  Batches: ChannelEndpoint.BATCHES,
} as const;
const INPUTS = { Text: Input.TEXT, Image: Input.IMAGE } as const;
const PROTOCOLS = {
  OpenAI: Protocol.OPENAI,
  Anthropic: Protocol.ANTHROPIC,
  BedrockConverse: Protocol.BEDROCK_CONVERSE,
  Gemini: Protocol.GEMINI,
} as const;
const DISCONNECTS = { Cancel: ClientDisconnect.CANCEL, Drain: ClientDisconnect.DRAIN } as const;
const ALLOWANCES = {
  ServerTools: Allowance.SERVER_TOOLS,
  ServiceTiers: Allowance.SERVICE_TIERS,
  FileReferences: Allowance.FILE_REFERENCES,
  PromptTemplates: Allowance.PROMPT_TEMPLATES,
} as const;
const ON_TIMEOUT = { BillNothing: OnTimeout.BILL_NOTHING, BillHold: OnTimeout.BILL_HOLD } as const;
const REASONING = { Auto: Reasoning.AUTO, Hidden: Reasoning.HIDDEN, Shown: Reasoning.SHOWN } as const;
const PROVIDER_TOOLS = {
  Refuse: ProviderTools.REFUSE,
  Drop: ProviderTools.DROP,
  Allow: ProviderTools.ALLOW,
} as const;
const RETRY_ON = {
  Unavailable: RetryOn.UNAVAILABLE,
  RateLimited: RetryOn.RATE_LIMITED,
  Overloaded: RetryOn.OVERLOADED,
  CredentialRefused: RetryOn.CREDENTIAL_REFUSED,
} as const;
const MS = 1000;

interface RouteContext {
  readonly lookup: SecretLookup;
  /** The models that have a price, with its quota type. */
  readonly priced: ReadonlyMap<string, QuotaType>;
  /** The names of the PriceCatalogs that are in force. */
  readonly catalogs: ReadonlySet<string>;
  /** For each route, which of its models have other limits in another route. */
  readonly differingLimits: ReadonlyMap<ModelRoute, string>;
  /** See TranslateOptions. */
  readonly sealingKeys: readonly string[];
}

interface FoundChannel {
  readonly channel: ModelRouteChannel;
  readonly credential: ChannelCredential;
}

const translated = memoize<ModelRoute, Translated<ModelRouteMessage>>();

/** The names of the PriceCatalogs by which a route's channels know their cost. */
export function costCatalogsOf({ spec }: ModelRoute): string[] {
  return spec.channels.flatMap(({ cost }) => cost?.catalogRef.name ?? []);
}

/** A route's channels as "route/channel", also those without a credential. */
export function channelIdsOf({ metadata, spec }: ModelRoute): string[] {
  return spec.channels.map(({ name }) => `${metadata.name}/${name}`);
}

/** One route with its usable channels. */
export function translateRoute(route: ModelRoute, context: RouteContext): Translated<ModelRouteMessage> {
  const quotaTypes = route.spec.models.map(({ name }) => context.priced.get(name));
  const limits = context.differingLimits.get(route);
  const costs = costCatalogsOf(route).map((name) => context.catalogs.has(name));
  const inputs = [...quotaTypes, limits, ...costs, ...context.sealingKeys, ...secretsNamedBy(route, context.lookup)];
  return translated(route, inputs, () => resolveRoute(route, context));
}

function resolveRoute(
  route: ModelRoute,
  { lookup, priced, catalogs, differingLimits, sealingKeys }: RouteContext,
): Translated<ModelRouteMessage> {
  const { spec, metadata } = route;
  const limits = differingLimits.get(route);
  const fields = new FieldReader();
  for (const { name, baseUrl, proxyUrl } of spec.channels) {
    fields.expect(URL.canParse(baseUrl), `spec.channels "${name}": baseUrl is not a URL`);
    fields.expect(proxyUrl === undefined || URL.canParse(proxyUrl), `spec.channels "${name}": proxyUrl is not a URL`);
  }
  const costs = new Map(spec.channels.map((channel) => [channel.name, costOf(fields, channel)]));
  if (fields.faults.length > 0) return refuseInvalid(findingsOf(route), fields.faults);

  const found = spec.channels.map((channel) => ({
    channel,
    credential: findCredential(lookup, metadata.namespace, channel),
  }));
  const channels = found
    .flatMap(({ channel, credential }) => (credential.found ? [translateChannel(channel, credential.value)] : []))
    .map((channel) => ({ ...channel, ...costs.get(channel.name) }))
    .map((channel) => (spec.drainedChannels?.includes(channel.name) ? { ...channel, drained: true } : channel));
  // a drained channel gets no new calls
  const usableChannels = channels.filter(({ drained }) => !drained).map(({ name }) => name);
  const findings = findingsOf(route);
  return {
    message: {
      namespace: findings.namespace,
      name: findings.name,
      generation: BigInt(findings.generation),
      models: spec.models.map((model) => translateModel(model, spec.channels)),
      channels,
      retryAttempts: spec.retry.attempts,
      ...retryRulesOf(spec.retry),
      clientDisconnect: DISCONNECTS[spec.clientDisconnect],
      onTimeout: ON_TIMEOUT[spec.onTimeout],
      allowedFields: spec.allow.fields,
      ...(spec.routing === 'Weighted' && { routing: Routing.WEIGHTED }),
      sealing: sealingKeys.length === 0 ? undefined : { keys: sealingKeys.map((value) => ({ value })) },
    },
    findings: {
      ...findings,
      ...unresolvedOf(
        found,
        spec.channels.filter(({ cost }) => cost && !catalogs.has(cost.catalogRef.name)),
      ),
      ...drainedOf(channels),
      ...unpricedOf(spec, priced),
      ...(limits !== undefined && { limitsDiffer: { reason: 'LimitsDiffer', message: limits } }),
      ...(spec.channels.some(({ auth }) => auth && auth.type !== 'ApiKey') && { signsIn: true }),
      usableChannels,
      fields: { models: spec.models.length, channels: usableChannels.length },
      published: true,
    },
  };
}

/** None if the route wants another channel after all failures. */
function retryRulesOf({ retryOn }: ModelRoute['spec']['retry']): Pick<ModelRouteMessage, 'retry'> {
  if (retryOn.length === Object.keys(RETRY_ON).length) return {};
  return { retry: { retryOn: retryOn.map((failure) => RETRY_ON[failure]) } };
}

function costOf(fields: FieldReader, { name, cost }: ModelRouteChannel): Pick<Channel, 'cost'> {
  if (!cost) return {};
  const { catalogRef, multiplier = '1' } = cost;
  const multiplierE9 = fields.decimal(`spec.channels "${name}": cost.multiplier`, multiplier);
  return { cost: { catalog: catalogRef.name, multiplierE9 } };
}

function translateModel(model: ModelRouteModel, channels: readonly ModelRouteChannel[]): Model {
  return {
    name: model.name,
    endpoints: model.endpoints.map((endpoint) => ENDPOINTS[endpoint]),
    inputs: model.inputs.map((input) => INPUTS[input]),
    contextTokens: model.contextTokens ?? 0,
    maxOutputTokens: model.maxOutputTokens ?? 0,
    imageTokens: imageTokensOf(model, channels),
    outputLimitField: model.outputLimitField,
    allow: model.allow.map((allowance) => ALLOWANCES[allowance]),
    reasoning: REASONING[model.reasoning],
    capabilities: model.capabilities,
    ...(model.providerTools && { providerTools: PROVIDER_TOOLS[model.providerTools] }),
  };
}

function translateChannel(channel: ModelRouteChannel, credential: string | undefined): Channel {
  const { connectSeconds, firstByteSeconds, wholeSeconds, idleSeconds } = channel.timeouts;
  return {
    name: channel.name,
    protocol: PROTOCOLS[channel.protocol],
    baseUrl: channel.baseUrl,
    ...(channel.proxyUrl === undefined ? {} : { proxyUrl: channel.proxyUrl }),
    ...translateSignIn(channel, credential),
    models: (channel.models ?? []).map(({ name, upstreamName }) => ({ name, upstreamName })),
    priority: channel.priority,
    weight: channel.weight,
    ...(channel.maxConcurrency === undefined ? {} : { maxConcurrency: channel.maxConcurrency }),
    ...(channel.rateLimits && { rateLimits: channel.rateLimits }),
    timeouts: {
      connectMs: connectSeconds * MS,
      firstByteMs: firstByteSeconds * MS,
      wholeMs: wholeSeconds * MS,
      idleMs: idleSeconds * MS,
    },
    ...endpointsOf(channel),
    ...(channel.betas && { betas: betasOf(channel.betas) }),
    allowedHeaders: channel.allow.headers.map((name) => name.toLowerCase()),
  };
}

function betasOf({ drop = [], rename = [], allow = [] }: NonNullable<ModelRouteChannel['betas']>): BetaRules {
  return { drop: [...drop], rename: rename.map(({ name, to }) => ({ name, to })), allow: [...allow] };
}

type EndpointName = keyof typeof CHANNEL_ENDPOINTS;

/** What providers serve besides Chat, by protocol and host: OpenAI's own, Azure's and Anthropic's. */
const KNOWN_HOSTS: readonly (readonly [ModelRouteChannel['protocol'], RegExp, readonly EndpointName[]])[] = [
  ['OpenAI', /^(?:[a-z]+\.)?api\.openai\.com$/, ['Chat', 'Responses', 'Batches']],
  // batches of Azure need deployments of a kind of their own
  ['OpenAI', /\.(?:openai|cognitiveservices|services\.ai)\.azure\.com$/, ['Chat', 'Responses']],
  ['Anthropic', /^api\.anthropic\.com$/, ['Chat', 'Batches']],
];

/** The endpoints of a channel; without any, it serves only Chat. */
function endpointsOf(channel: ModelRouteChannel): Pick<Channel, 'endpoints'> {
  const names = channel.endpoints ?? knownEndpoints(channel);
  return names ? { endpoints: { endpoints: names.map((name) => CHANNEL_ENDPOINTS[name]) } } : {};
}

function knownEndpoints({ protocol, platform, baseUrl }: ModelRouteChannel): readonly EndpointName[] | undefined {
  if (platform !== undefined && platform !== 'Direct') return undefined;
  const { hostname } = new URL(baseUrl);
  return KNOWN_HOSTS.find(([spoken, host]) => spoken === protocol && host.test(hostname))?.[2];
}

/** `costless`: channels whose PriceCatalog of costs is missing. They serve. */
function unresolvedOf(
  found: readonly FoundChannel[],
  costless: readonly ModelRouteChannel[],
): Pick<Findings, 'unresolved'> {
  const costs = costless
    .map(
      ({ name, cost }) =>
        `Channel "${name}" serves calls, but its cost is unknown: the PriceCatalog "${cost?.catalogRef.name}" ` +
        'does not exist or is not Accepted.',
    )
    .join(' ');
  const faults = found.flatMap(({ channel, credential }) =>
    credential.found ? [] : [{ ...credential.finding, channel: channel.name }],
  );
  const [first] = faults;
  if (!first) return costs === '' ? {} : { unresolved: { reason: 'CatalogNotFound', message: costs } };
  const left = faults.length < found.length ? 'The other channels serve calls.' : 'No channel is left.';
  const message =
    `${faults.map(({ channel, message }) => `Channel "${channel}" is ignored: ${message}`).join(' ')} ` +
    `${left}${costs === '' ? '' : ` ${costs}`}`;
  return { unresolved: { reason: first.reason, message } };
}

function drainedOf(channels: readonly Channel[]): Pick<Findings, 'allDrained'> {
  if (channels.length === 0 || !channels.every(({ drained }) => drained)) return {};
  const message =
    `All usable channels are drained: ${quoteNames(channels.map(({ name }) => name))}. Callers get 503 ` +
    'with retry-after unless another route serves the models. Remove a channel from spec.drainedChannels to serve ' +
    'calls again.';
  return { allDrained: { reason: 'AllChannelsDrained', message } };
}

function unpricedOf(
  { models, channels }: ModelRoute['spec'],
  priced: ReadonlyMap<string, QuotaType>,
): { unpriced?: Finding<'PriceNotFound'> } {
  const missing = models.filter(({ name }) => !priced.has(name)).map(({ name }) => name);
  const ofTokens = models.filter(({ name }) => priced.get(name) === QuotaType.TOKEN);
  const ofGemini = channels.some(({ protocol }) => protocol === 'Gemini');
  const byToken = ofTokens.filter((model) => makesPictures(model) && !(ofGemini && isLimited(model)));
  const limitable = ofGemini && byToken.some(({ endpoints }) => endpoints.includes('Images'));
  const unlimited = ofTokens.filter(lacksLimits).map(({ name }) => name);
  const said = [
    ...(missing.length > 0
      ? [
          `No PriceCatalog has a price for ${quoteNames(missing)}; a model without a price is not listed and ` +
            'cannot be called.',
        ]
      : []),
    ...(byToken.length > 0
      ? [
          'Images and videos need a price per request: set quotaType Request for ' +
            `${quoteNames(byToken.map(({ name }) => name))}${limitable ? `, or, for images of Gemini models, ${BOTH_LIMITS}` : ''}.`,
        ]
      : []),
    ...(unlimited.length > 0
      ? [
          'Audio with a price per token needs contextTokens and maxOutputTokens: set them for ' +
            `${quoteNames(unlimited)}.`,
        ]
      : []),
  ];
  return said.length === 0 ? {} : { unpriced: { reason: 'PriceNotFound', message: said.join(' ') } };
}

const BOTH_LIMITS = 'contextTokens and maxOutputTokens';

/** Limits bound images of Gemini's models in tokens, and nothing does videos. */
function isLimited({ endpoints, contextTokens, maxOutputTokens }: ModelRouteModel): boolean {
  return !endpoints.includes('Videos') && contextTokens !== undefined && maxOutputTokens !== undefined;
}

const OF_AUDIO: ReadonlySet<string> = new Set(['Speech', 'Transcriptions', 'Realtime']);

/** No field of a request bounds its audio. */
function lacksLimits({ endpoints, contextTokens, maxOutputTokens }: ModelRouteModel): boolean {
  const isOfAudio = endpoints.some((endpoint) => OF_AUDIO.has(endpoint));
  return isOfAudio && (contextTokens === undefined || maxOutputTokens === undefined);
}

function makesPictures({ endpoints }: ModelRouteModel): boolean {
  return endpoints.some((endpoint) => endpoint === 'Images' || endpoint === 'Videos');
}
