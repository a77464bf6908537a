/** [P] Compiles models and channels of the ModelRoutes, each once for all groups that offer them. */
import {
  Allowance,
  ChannelEndpoint,
  ClientDisconnect,
  Endpoint,
  Input,
  OnTimeout,
  Platform,
  Protocol,
  ProviderTools,
  Reasoning,
  RetryOn,
  Routing,
} from '#snapshot/snapshot.gen.ts';
import type { Channel, ChannelCost, Model, ModelRoute, SignIn as SignInMessage } from '#snapshot/snapshot.gen.ts';
import type { CountLimit } from '../ledger/ledger.ts';
import { compileLimits } from './compile-limits.ts';
import type { UnboundedFeature } from '../protocol/call-facts.ts';
import { providerOf } from '../protocol/providers.ts';
import { allowHeaders, sameHeaders } from '../upstream/headers.ts';
import { RETRYABLE } from '../upstream/retry.ts';
import type { RetryableVerdict } from '../upstream/retry.ts';
import { SecretValue } from '../upstream/upstream.ts';
import type {
  ChatEndpoint,
  PlatformName,
  SignIn,
  UpstreamCredential,
  UpstreamTarget,
  UpstreamTimeouts,
} from '../upstream/upstream.ts';
import type { EndpointKind, ModelState } from './state.ts';

export interface CompiledRoute {
  readonly name: string;
  readonly models: readonly ModelState[];
  readonly channels: readonly CompiledChannel[];
  readonly retryAttempts: number;
  readonly retryOn: ReadonlySet<RetryableVerdict>;
  readonly clientDisconnect: 'Cancel' | 'Drain';
  readonly onTimeout: 'BillNothing' | 'BillHold';
  readonly allowedFields: ReadonlySet<string>;
  readonly routing: 'Affinity' | 'Weighted';
}

export interface CompiledChannel {
  readonly name: string;
  readonly target: UpstreamTarget;
  readonly priority: number;
  readonly weight: number;
  /** True if the channel gets no new calls. */
  readonly drained: boolean;
  /** The channel's own limits over all groups. */
  readonly limits: readonly CountLimit[];
  /** The provider's names by model; a model without an entry keeps its name. */
  readonly renames: ReadonlyMap<string, string>;
  /** Where the channel's cost is stated; undefined: nowhere. */
  readonly cost: ChannelCost | undefined;
}

export interface CompiledRoutes {
  readonly routes: ReadonlyMap<string, CompiledRoute>;
  readonly targets: ReadonlyMap<string, UpstreamTarget>;
  readonly channelLimits: ReadonlyMap<string, readonly CountLimit[]>;
}

const ENDPOINTS: Readonly<Partial<Record<Endpoint, EndpointKind>>> = {
  [Endpoint.CHAT]: 'Chat',
  [Endpoint.EMBEDDINGS]: 'Embeddings',
  [Endpoint.IMAGES]: 'Images',
  [Endpoint.VIDEOS]: 'Videos',
  [Endpoint.SPEECH]: 'Speech',
  [Endpoint.TRANSCRIPTIONS]: 'Transcriptions',
  [Endpoint.REALTIME]: 'Realtime',
};

const CHAT_ENDPOINTS: Readonly<Partial<Record<ChannelEndpoint, ChatEndpoint>>> = {
  [ChannelEndpoint.CHAT]: 'Chat',
  [ChannelEndpoint.RESPONSES]: 'Responses',
  [ChannelEndpoint.BATCHES]: 'Batches',
};
/** The endpoints of a channel that names none. */
const CHAT_ONLY: ReadonlySet<ChatEndpoint> = new Set(['Chat']);

const ALLOWANCES: Readonly<Partial<Record<Allowance, UnboundedFeature>>> = {
  [Allowance.SERVER_TOOLS]: 'ServerTools',
  [Allowance.SERVICE_TIERS]: 'ServiceTiers',
  [Allowance.FILE_REFERENCES]: 'FileReferences',
  [Allowance.PROMPT_TEMPLATES]: 'PromptTemplates',
};

const RETRY_ON: Readonly<Partial<Record<RetryOn, RetryableVerdict>>> = {
  [RetryOn.UNAVAILABLE]: 'unavailable',
  [RetryOn.RATE_LIMITED]: 'rate_limited',
  [RetryOn.OVERLOADED]: 'overloaded',
  [RetryOn.CREDENTIAL_REFUSED]: 'credential',
};

const REASONING: Readonly<Partial<Record<Reasoning, ModelState['reasoning']>>> = {
  [Reasoning.HIDDEN]: 'Hidden',
  [Reasoning.SHOWN]: 'Shown',
};

const PROVIDER_TOOLS: Readonly<Partial<Record<ProviderTools, ModelState['providerTools']>>> = {
  [ProviderTools.REFUSE]: 'Refuse',
  [ProviderTools.DROP]: 'Drop',
  [ProviderTools.ALLOW]: 'Allow',
};

const NO_TIMEOUTS: UpstreamTimeouts = { connectMs: 0, firstByteMs: 0, wholeMs: 0, idleMs: 0 };

/** Routes by name and targets by "route/channel". Targets that did not change keep their objects. */
export function compileRoutes(
  routes: readonly ModelRoute[],
  previous?: ReadonlyMap<string, UpstreamTarget>,
): CompiledRoutes {
  const compiled = new Map<string, CompiledRoute>();
  const targets = new Map<string, UpstreamTarget>();
  const channelLimits = new Map<string, readonly CountLimit[]>();
  for (const route of routes) {
    const channels = route.channels.map((channel) => compileChannel(route.name, channel, previous));
    for (const { target, limits } of channels) {
      targets.set(target.id, target);
      channelLimits.set(target.id, limits);
    }
    compiled.set(route.name, {
      name: route.name,
      models: route.models.map(compileModel),
      channels,
      retryAttempts: route.retryAttempts,
      retryOn: route.retry ? setOf(route.retry.retryOn, RETRY_ON) : RETRYABLE,
      clientDisconnect: route.clientDisconnect === ClientDisconnect.CANCEL ? 'Cancel' : 'Drain',
      onTimeout: route.onTimeout === OnTimeout.BILL_HOLD ? 'BillHold' : 'BillNothing',
      allowedFields: new Set(route.allowedFields),
      routing: route.routing === Routing.WEIGHTED ? 'Weighted' : 'Affinity',
    });
  }
  return { routes: compiled, targets, channelLimits };
}

function compileModel(model: Model): ModelState {
  return {
    name: model.name,
    endpoints: setOf(model.endpoints, ENDPOINTS),
    acceptsImages: model.inputs.includes(Input.IMAGE),
    contextTokens: model.contextTokens,
    maxOutputTokens: model.maxOutputTokens,
    imageTokens: model.imageTokens,
    outputLimitField: model.outputLimitField === 'max_tokens' ? 'max_tokens' : 'max_completion_tokens',
    allow: setOf(model.allow, ALLOWANCES),
    reasoning: REASONING[model.reasoning] ?? 'Auto',
    capabilities: model.capabilities,
    providerTools: model.providerTools && PROVIDER_TOOLS[model.providerTools],
  };
}

function setOf<K extends string, V>(values: readonly K[], names: Readonly<Partial<Record<K, V>>>): ReadonlySet<V> {
  return new Set(values.map((value) => names[value]).filter((name) => name !== undefined));
}

function compileChannel(
  route: string,
  channel: Channel,
  previous: ReadonlyMap<string, UpstreamTarget> | undefined,
): CompiledChannel {
  const id = `${route}/${channel.name}`;
  const target = compileTarget(id, channel);
  const before = previous?.get(id);
  return {
    name: channel.name,
    target: before && sameTarget(before, target) ? before : target,
    priority: channel.priority,
    weight: channel.weight,
    drained: channel.drained === true,
    limits: compileLimits('Channel', `channel/${id}`, channel),
    renames: new Map(channel.models.map(({ name, upstreamName }) => [name, upstreamName])),
    cost: channel.cost,
  };
}

const PROTOCOLS: Readonly<Partial<Record<Protocol, UpstreamTarget['protocol']>>> = {
  [Protocol.ANTHROPIC]: 'Anthropic',
  [Protocol.BEDROCK_CONVERSE]: 'BedrockConverse',
  [Protocol.GEMINI]: 'Gemini',
};

const PLATFORMS: Readonly<Partial<Record<Platform, PlatformName>>> = {
  [Platform.AZURE_DEPLOYMENTS]: 'AzureDeployments',
  [Platform.BEDROCK_INVOKE]: 'BedrockInvoke',
  [Platform.VERTEX_PUBLISHER]: 'VertexPublisher',
};

/** The header for a platform's keys, if it differs from the protocol's. */
const KEY_HEADERS: Readonly<Partial<Record<PlatformName, string>>> = {
  AzureDeployments: 'api-key',
  BedrockInvoke: 'authorization',
};

function compileTarget(id: string, channel: Channel): UpstreamTarget {
  const protocol = PROTOCOLS[channel.protocol] ?? 'OpenAI';
  const platform = (channel.platform && PLATFORMS[channel.platform]) ?? 'Direct';
  const { defaultHeaders, clientHeaders } = providerOf(protocol);
  return {
    id,
    protocol,
    platform,
    apiVersion: channel.apiVersion ?? '',
    betas: channel.betas && {
      drop: channel.betas.drop,
      allow: channel.betas.allow,
      rename: Object.fromEntries(channel.betas.rename.map(({ name, to }) => [name, to])),
    },
    baseUrl: channel.baseUrl,
    proxyUrl: channel.proxyUrl,
    credential: compileKey(channel, protocol, platform),
    signIn: channel.signIn && compileSignIn(channel.signIn),
    endpoints: channel.endpoints ? setOf(channel.endpoints.endpoints, CHAT_ENDPOINTS) : CHAT_ONLY,
    // a cloud reads the version from the body
    defaultHeaders: platform === 'Direct' ? defaultHeaders : {},
    clientHeaders: allowHeaders([...clientHeaders, ...channel.allowedHeaders]),
    timeouts: channel.timeouts ?? NO_TIMEOUTS,
  };
}

function compileKey(
  { apiKey, keyHeader }: Channel,
  protocol: UpstreamTarget['protocol'],
  platform: PlatformName,
): UpstreamCredential | undefined {
  if (!apiKey) return undefined;
  const header = keyHeader ?? KEY_HEADERS[platform];
  if (header === undefined) return secretHeader(providerOf(protocol).credential(apiKey.value));
  return secretHeader([header, header === 'authorization' ? `Bearer ${apiKey.value}` : apiKey.value]);
}

function compileSignIn({ credential, way }: SignInMessage): SignIn | undefined {
  const secret = credential && new SecretValue(credential.value);
  switch (way?.$case) {
    case 'aws':
      return { way: 'AwsSigV4', credential: secret, ...way.value };
    case 'google':
      return { way: 'GoogleOAuth', credential: secret };
    case 'azure':
      return { way: 'AzureEntra', credential: secret, ...way.value };
    default:
      return undefined;
  }
}

function secretHeader([header, value]: readonly [string, string]): UpstreamCredential {
  return { header, value: new SecretValue(value) };
}

function sameTarget(a: UpstreamTarget, b: UpstreamTarget): boolean {
  return (
    sameAddress(a, b) &&
    sameSignIn(a.signIn, b.signIn) &&
    JSON.stringify(a.betas) === JSON.stringify(b.betas) &&
    sameCredential(a.credential, b.credential) &&
    sameTimeouts(a.timeouts, b.timeouts) &&
    sameHeaders(a.clientHeaders, b.clientHeaders) &&
    sameEndpoints(a.endpoints, b.endpoints)
  );
}

function sameAddress(a: UpstreamTarget, b: UpstreamTarget): boolean {
  return (
    a.protocol === b.protocol &&
    a.baseUrl === b.baseUrl &&
    a.proxyUrl === b.proxyUrl &&
    a.platform === b.platform &&
    a.apiVersion === b.apiVersion
  );
}

function sameEndpoints(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.symmetricDifference(b).size === 0;
}

function sameCredential(a: UpstreamCredential | undefined, b: UpstreamCredential | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.header === b.header && a.value.equals(b.value);
}

function sameSignIn(a: SignIn | undefined, b: SignIn | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const { credential: ofA, ...waysOfA } = a;
  const { credential: ofB, ...waysOfB } = b;
  const sameSecret = ofA === undefined || ofB === undefined ? ofA === ofB : ofA.equals(ofB);
  return sameSecret && JSON.stringify(waysOfA) === JSON.stringify(waysOfB);
}

function sameTimeouts(a: UpstreamTimeouts, b: UpstreamTimeouts): boolean {
  return (
    a.connectMs === b.connectMs && a.firstByteMs === b.firstByteMs && a.wholeMs === b.wholeMs && a.idleMs === b.idleMs
  );
}
