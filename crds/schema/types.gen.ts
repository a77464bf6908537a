/**
 * The kinds of the API, generated from the CustomResourceDefinitions in crds/ by `npm run generate`.
 * A spec is typed as it is after defaults were applied.
 */

export const API_GROUP = 'modelgateway.dev';
export const API_VERSION = 'modelgateway.dev/v1alpha1';

/** The kinds: the plural, as in URLs; whether a tenant's namespaces or the platform's have it. */
export const KINDS = {
  Account: { plural: 'accounts', owner: 'Tenant' },
  ApiKey: { plural: 'apikeys', owner: 'Tenant' },
  Group: { plural: 'groups', owner: 'Platform' },
  ModelRoute: { plural: 'modelroutes', owner: 'Platform' },
  PriceCatalog: { plural: 'pricecatalogs', owner: 'Platform' },
} as const;

export type Kind = keyof typeof KINDS;
export type Resource = Account | ApiKey | Group | ModelRoute | PriceCatalog;

/** metav1.ObjectMeta, as far as it matters here. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * An Account is a tenant's credit. All ApiKeys that refer to it spend from one balance, and a call that the balance
 * cannot pay for is refused. The spending is recorded by namespace and name, and survives the deletion of this object.
 */
export interface Account {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'Account';
  readonly metadata: ObjectMeta;
  readonly spec: AccountSpec;
  readonly status?: AccountStatus;
}

/** The credit and the limits of this account. */
export interface AccountSpec {
  /**
   * The namespace of the gateway that this account belongs to. A cluster may hold several gateways, each in its own
   * namespace. It cannot be changed.
   */
  readonly gatewayNamespace: string;
  /**
   * All credit ever granted; the account's credit is the sum, at most 9,000,000,000 USD. To grant more, add an entry;
   * to correct a grant, add one with a negative amount. Entries are merged by name, so that several people or tools can
   * each manage their own.
   */
  readonly grants?: readonly AccountGrant[];
  /**
   * What all ApiKeys of this account may spend together in calendar periods, besides its credit. A call counts in all
   * of them, in the periods in which it was admitted, and the tightest refuses it.
   */
  readonly limits?: readonly AccountLimit[];
  /**
   * What the calls of all ApiKeys of this account may use per minute together, over all proxies. A call that may take
   * more than a whole limit is admitted when nothing else counts. If absent, there is no limit.
   */
  readonly rateLimits?: RateLimits;
}

/** One amount of credit, granted once. */
export interface AccountGrant {
  /** The grant's name, unique within the account, such as 2026-11. */
  readonly name: string;
  /** The amount in USD, a decimal in quotes such as "250.00". A negative amount takes credit back. */
  readonly usd: string;
  /** Why it was granted, for human readers. */
  readonly reason?: string;
  /** Who granted it, for human readers. The console fills it in; only the API server's audit log is proof. */
  readonly grantedBy?: string;
  /** When it was granted, for human readers, in RFC 3339 such as 2026-11-21T12:00:00Z. The console fills it in. */
  readonly grantTime?: string;
}

/** A limit of what the account spends. */
export interface AccountLimit {
  /** The limit in USD, a decimal in quotes such as "250.00". */
  readonly usd: string;
  /** The period that is limited: each calendar Day, Week (from Monday) or Month in timeZone, or Total for all time. */
  readonly period: 'Day' | 'Week' | 'Month' | 'Total';
  /** The time zone in which days, weeks and months begin, by its name in the IANA database. */
  readonly timeZone: string;
}

/** What calls may use in any 60 seconds; absent: any number. */
export interface RateLimits {
  /** The maximum number of requests in any 60 seconds. */
  readonly requestsPerMinute?: number;
  /**
   * The maximum number of input tokens in any 60 seconds, without those that a provider reads from its cache. A call
   * takes its estimate when it is admitted, and counts with what it has used when it ends.
   */
  readonly inputTokensPerMinute?: number;
  /**
   * The maximum number of output tokens in any 60 seconds. A call takes its output limit when it is admitted, and
   * counts with what it has used when it ends.
   */
  readonly outputTokensPerMinute?: number;
}

/** The status of this account, written by the gateway. */
export interface AccountStatus {
  /** The metadata.generation that this status describes. */
  readonly observedGeneration?: number;
  /** The sum of all grants in USD. */
  readonly creditUsd?: string;
  /** The cost of all calls so far, in USD. */
  readonly spentUsd?: string;
  /** The money that running calls currently reserve, in USD. */
  readonly heldUsd?: string;
  /** The money left, creditUsd minus spentUsd, in USD. */
  readonly balanceUsd?: string;
  /** What was spent under each of spec.limits in its current period, in their order. */
  readonly limits?: readonly AccountStatusLimit[];
  /**
   * The state of this object. Ready summarises the others. Reconciling, Stalled and the warnings are present only while
   * they are true.
   */
  readonly conditions?: readonly Condition[];
}

/** The spending under one limit. */
export interface AccountStatusLimit {
  /** The period, as in the spec. */
  readonly period: string;
  /** The time zone, as in the spec. */
  readonly timeZone: string;
  /** The limit in USD. */
  readonly usd: string;
  /** The cost of the calls of the current period so far, in USD. */
  readonly spentUsd: string;
  /** The limit minus spentUsd, in USD, at least 0. */
  readonly remainingUsd: string;
  /** When the current period began; absent for Total. */
  readonly periodStartTime?: string;
  /** When the next period begins; absent for Total. */
  readonly resetTime?: string;
}

/** metav1.Condition: one aspect of an object's state. */
export interface Condition {
  /** The condition's type, in CamelCase. */
  readonly type: string;
  /** Whether the condition is true. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** The reason as one CamelCase word, from a closed list. */
  readonly reason: string;
  /** A human-readable explanation. */
  readonly message: string;
  /** When the status last changed from one value to another. */
  readonly lastTransitionTime: string;
  /** The metadata.generation that this condition describes. */
  readonly observedGeneration?: number;
}

/**
 * An ApiKey lets its holder call the models of one Group at that group's prices. One Account pays, and the key's own
 * quota limits its spending. The key itself is stored only in a Secret of the same namespace.
 */
export interface ApiKey {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'ApiKey';
  readonly metadata: ObjectMeta;
  readonly spec: ApiKeySpec;
  readonly status?: ApiKeyStatus;
}

/** What this key can call and spend. */
export interface ApiKeySpec {
  /**
   * The namespace of the gateway that this key belongs to. A cluster may hold several gateways, each in its own
   * namespace. It cannot be changed.
   */
  readonly gatewayNamespace: string;
  /** Whether calls with this key are served. False refuses every new call at once; running calls end normally. */
  readonly enabled: boolean;
  /**
   * The Group that determines which models this key can call, through which providers and at which ratio. The Group is
   * in the gateway's namespace, and its allowedNamespaces must include this key's namespace.
   */
  readonly groupRef: NameRef;
  /**
   * The Account of this namespace that pays for the calls. It cannot be changed, because past spending belongs to it.
   */
  readonly accountRef: NameRef;
  /** The key's own spending limit, in addition to its account's balance. */
  readonly quota: ApiKeyQuota;
  /** When the key expires, in RFC 3339 such as 2027-01-01T00:00:00Z. If absent, it never expires. */
  readonly expirationTime?: string;
  /** The models of its group that this key can call. If absent, all of them. */
  readonly models?: readonly string[];
  /** The maximum number of concurrent calls with this key, over all proxies. If absent, there is no limit. */
  readonly maxConcurrency?: number;
  /**
   * What calls with this key may use per minute, over all proxies. A call that may take more than a whole limit is
   * admitted when nothing else counts. If absent, there is no limit.
   */
  readonly rateLimits?: RateLimits;
  /** How the key is created and where it is stored. */
  readonly key: ApiKeyKey;
}

/** A reference by name. */
export interface NameRef {
  /** The name of what is meant. */
  readonly name: string;
}

/** The key's own spending limit, in addition to its account's balance. */
export interface ApiKeyQuota {
  /** The spending limit of one period in USD: a decimal in quotes such as "25.00", or Unlimited. */
  readonly limitUsd: string;
  /**
   * When spending is reset: Never, or with each calendar day (Daily), week from Monday (Weekly) or month (Monthly) in
   * timeZone. A call counts in the period in which it was admitted.
   */
  readonly period: 'Never' | 'Daily' | 'Weekly' | 'Monthly';
  /** The time zone in which days, weeks and months begin, by its name in the IANA database. */
  readonly timeZone: string;
  /**
   * What happens if the remaining money is less than a call's highest possible cost. Lower reduces the call's output
   * limit to what can be paid, but not below minOutputTokens. Refuse refuses the call.
   */
  readonly whenShort: 'Lower' | 'Refuse';
  /**
   * The lowest output limit, in tokens, that whenShort Lower sends to a provider. A call is refused if the remaining
   * money cannot pay for it.
   */
  readonly minOutputTokens: number;
}

/** How the key is created and where it is stored. */
export interface ApiKeyKey {
  /**
   * Generated creates a key and writes it into the Secret. Provided waits for a Secret that you create, and never
   * writes it; its key begins with sk- and has at least 32 characters. The type cannot be changed.
   */
  readonly type: 'Generated' | 'Provided';
  /**
   * The Secret of this namespace that contains the key in its entry apiKey. If absent, its name is this object's name
   * followed by -key.
   */
  readonly secretRef?: NameRef;
  /** Increase this number to generate a new key. It cannot be decreased. */
  readonly rotation: number;
  /** How many seconds the old key continues to work after a rotation. */
  readonly overlapSeconds: number;
}

/** The status of this key, written by the gateway. */
export interface ApiKeyStatus {
  /** The metadata.generation that this status describes. */
  readonly observedGeneration?: number;
  /** Identifies the key in force by 64 hexadecimal digits that only the gateway can compute from it. */
  readonly keyHash?: string;
  /** The first characters of the current key, by which people recognise it. */
  readonly keyPrefix?: string;
  /** The rotation that generated the current key; for keys of type Generated. */
  readonly keyRotation?: number;
  /** Keys that a rotation has replaced and that still work until their overlap ends. */
  readonly previousKeys?: readonly ApiKeyStatusPreviousKey[];
  /** When the current period of the quota began. Absent if period is Never. */
  readonly periodStartTime?: string;
  /** The money spent in the current period, in USD. */
  readonly spentUsd?: string;
  /** The total money spent with this key, in USD. */
  readonly totalSpentUsd?: string;
  /** The quota's limit minus spentUsd, in USD, or Unlimited. */
  readonly remainingUsd?: string;
  /** When a call with this key was last settled. */
  readonly lastUsedTime?: string;
  /**
   * The state of this object. Ready summarises the others. Reconciling, Stalled and the warnings are present only while
   * they are true.
   */
  readonly conditions?: readonly Condition[];
}

/** A replaced key. */
export interface ApiKeyStatusPreviousKey {
  /** Identifies the key by 64 hexadecimal digits that only the gateway can compute from it. */
  readonly keyHash: string;
  /** When the key stops working. */
  readonly expirationTime: string;
}

/**
 * A Group gives its ApiKeys access to models at a price. A Direct group lists the ModelRoutes that it gives access to;
 * an Automatic group tries other groups in order. A Group has an effect only in the gateway's own namespace.
 */
export interface Group {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'Group';
  readonly metadata: ObjectMeta;
  readonly spec: GroupSpec;
  readonly status?: GroupStatus;
}

/** The models of this group, who can use it, and its price ratio. */
export interface GroupSpec {
  /**
   * A Direct group has access by its routes. An Automatic group has the access of its members: the first member that
   * has the model and a free slot serves the call.
   */
  readonly type: 'Direct' | 'Automatic';
  /** The name that the price page shows. If absent, metadata.name. */
  readonly displayName?: string;
  /**
   * The group's multiplier on every price, a decimal in quotes such as "0.8". For a call through an Automatic group,
   * its ratio is multiplied by that of the member that serves the call.
   */
  readonly priceRatio: string;
  /** The namespaces whose ApiKeys can refer to this group. */
  readonly allowedNamespaces: GroupAllowedNamespaces;
  /**
   * The ModelRoutes that a Direct group gives access to. If several of them serve a model, their channels are combined.
   */
  readonly routes?: readonly GroupRoute[];
  /**
   * The Direct groups that an Automatic group tries, in this order. Because the order matters, an apply replaces the
   * list as a whole.
   */
  readonly members?: readonly NameRef[];
}

/** The namespaces whose ApiKeys can refer to this group. */
export interface GroupAllowedNamespaces {
  /** All allows every namespace, Same the gateway's own, Selector those whose labels match the selector. */
  readonly from: 'All' | 'Same' | 'Selector';
  /** Selects namespaces by their labels. */
  readonly selector?: LabelSelector;
}

/** metav1.LabelSelector; an empty one matches everything. */
export interface LabelSelector {
  /** Labels that must all be present with these values. */
  readonly matchLabels?: Readonly<Record<string, string>>;
  /** Requirements on labels, all of which must be met. */
  readonly matchExpressions?: readonly LabelSelectorMatchExpression[];
}

/** A requirement on one label. */
export interface LabelSelectorMatchExpression {
  /** The label's key. */
  readonly key: string;
  /** In and NotIn compare the label's value with values; Exists and DoesNotExist check only the key. */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** The values to compare with. */
  readonly values?: readonly string[];
}

/** One or more ModelRoutes, and which part of them the group can use. */
export interface GroupRoute {
  /** Selects ModelRoutes by their labels. An empty selector selects every ModelRoute of the gateway. */
  readonly routeSelector?: LabelSelector;
  /** Selects one ModelRoute by its name. */
  readonly routeRef?: NameRef;
  /** The names of the models that the group can use. If absent, all models of the ModelRoutes. */
  readonly models?: readonly string[];
  /** The names of the channels that the group can use. If absent, all channels of the ModelRoutes. */
  readonly channels?: readonly string[];
  /**
   * The maximum number of concurrent calls of this group on each of these channels, over all proxies. If absent, there
   * is no limit.
   */
  readonly maxConcurrency?: number;
  /**
   * What calls of this group may use per minute on each of these channels, over all proxies. A call that may take more
   * than a whole limit is admitted when nothing else counts. If absent, there is no limit.
   */
  readonly rateLimits?: RateLimits;
}

/** The status of this group, written by the gateway. */
export interface GroupStatus {
  /** The metadata.generation that this status describes. */
  readonly observedGeneration?: number;
  /** How many priced models the keys of this group can call. */
  readonly models?: number;
  /** How many accepted ApiKeys refer to this group. */
  readonly keys?: number;
  /**
   * The state of this object. Ready summarises the others. Reconciling, Stalled and the warnings are present only while
   * they are true.
   */
  readonly conditions?: readonly Condition[];
}

/**
 * A ModelRoute declares models and the channels, which are provider accounts, that serve them. Every channel serves
 * every model of its route. A ModelRoute has an effect only in the gateway's own namespace.
 */
export interface ModelRoute {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'ModelRoute';
  readonly metadata: ObjectMeta;
  readonly spec: ModelRouteSpec;
  readonly status?: ModelRouteStatus;
}

/** The models, the channels, and how calls are distributed over the channels. */
export interface ModelRouteSpec {
  /** The models that can be called through this route. */
  readonly models: readonly ModelRouteModel[];
  /** What is passed to the providers of this route although it can change the price of a call. */
  readonly allow: ModelRouteAllow;
  /** The provider accounts that serve the models. Each serves every model of this route. */
  readonly channels: readonly ModelRouteChannel[];
  /**
   * The names of channels that get no new calls while they are in this list. Running calls end normally, and the state
   * of videos in progress is still requested. If all are drained, the models stay listed, and calls get 503 with
   * retry-after. A name without a channel has no effect.
   */
  readonly drainedChannels?: readonly string[];
  /** What happens if a channel fails before the first byte of its response has reached the client. */
  readonly retry: ModelRouteRetry;
  /**
   * What happens to a stream whose client disconnects. Drain reads the stream to its end and bills the exact usage.
   * Cancel aborts it at the next text or after 2 s, and bills the output so far, or the call's hold if the model's
   * reasoning is hidden and the provider has not reported usage.
   */
  readonly clientDisconnect: 'Drain' | 'Cancel';
  /**
   * How calls are distributed over channels of equal priority. Affinity sends the calls of a conversation to one
   * channel, which has its prompt cache and can read its encrypted reasoning, and distributes conversations by weight.
   * Weighted chooses a channel at random, by weight, for each call.
   */
  readonly routing: 'Affinity' | 'Weighted';
  /**
   * The cost of a call whose provider produced no output before the timeout. BillNothing bills nothing, although the
   * provider may charge for the call; BillHold bills the highest cost that the call can have had.
   */
  readonly onTimeout: 'BillNothing' | 'BillHold';
}

/** One model, with the limits that bound the cost of a call to it. */
export interface ModelRouteModel {
  /** The model's name, exactly as clients send it and a PriceCatalog lists it. It is case-sensitive. */
  readonly name: string;
  /**
   * The endpoints that serve the model. Chat includes all chat dialects; Embeddings, which includes moderations and
   * rankings, Images, Videos, Speech, which makes audio from text, Transcriptions, which includes translations of
   * audio, and Realtime, which is sessions over a WebSocket, are OpenAI's.
   */
  readonly endpoints: readonly (
    'Chat' | 'Embeddings' | 'Images' | 'Videos' | 'Speech' | 'Transcriptions' | 'Realtime'
  )[];
  /** What a call can contain. An image for a model without Image is refused. */
  readonly inputs: readonly ('Text' | 'Image')[];
  /**
   * The model's context window in tokens, input and output together. It bounds what a call's input can cost. Required
   * for Chat and Embeddings.
   */
  readonly contextTokens?: number;
  /**
   * The maximum output in tokens. The gateway sends it to the provider if a call has no limit, and lowers a higher
   * limit to it. Required for Chat.
   */
  readonly maxOutputTokens?: number;
  /**
   * The maximum number of input tokens of one image. It bounds what a call with images can cost. The default is 4096,
   * and more for models that count more: 49152 for gpt-4o-mini, 12288 for GPT-5.4 and later, 6144 for Claude Opus and
   * Sonnet from 4.7.
   */
  readonly imageTokens?: number;
  /** The field of the output limit that this model's provider supports in OpenAI's chat protocol. */
  readonly outputLimitField: 'max_completion_tokens' | 'max_tokens';
  /**
   * What the model supports in calls that are converted from another protocol. What it does not support is left out of
   * the request, and the response header x-modelgateway-dropped names it. The defaults are those that the gateway knows
   * for well-known models (docs/reference/protocols), and true for others.
   */
  readonly capabilities?: ModelRouteModelCapabilities;
  /**
   * Features that a call can use although their price cannot be bounded beforehand. ServerTools are tools that the
   * provider runs and charges for, ServiceTiers are tiers with prices of their own, FileReferences are files by URL or
   * id, PromptTemplates are prompts that the provider stores (the field prompt of Responses), for models with one
   * channel. Features that are not listed are refused.
   */
  readonly allow: readonly ('ServerTools' | 'ServiceTiers' | 'FileReferences' | 'PromptTemplates')[];
  /**
   * What happens to tools that a call asks the provider to run, such as web_search. Refuse refuses such a call with an
   * error. Drop leaves the tools out, and the response header x-modelgateway-dropped names them. Allow passes on tools
   * whose uses have a price (perUse of the PriceCatalog) and, with ServerTools in allow, all others, which are not
   * billed by use. A call that is converted to another protocol cannot pass them on, so Allow acts as Drop there. If
   * absent, it is Drop for converted calls and Allow for others.
   */
  readonly providerTools?: 'Refuse' | 'Drop' | 'Allow';
  /**
   * Whether a stream contains the model's reasoning tokens. It determines the cost of a call whose client disconnects,
   * under clientDisconnect Cancel, before the provider reports usage: Hidden bills the call's hold, Shown bills the
   * text. Auto decides by the model's name at the provider and by what the call asks for.
   */
  readonly reasoning: 'Auto' | 'Hidden' | 'Shown';
}

/**
 * What the model supports in calls that are converted from another protocol. What it does not support is left out of
 * the request, and the response header x-modelgateway-dropped names it. The defaults are those that the gateway knows
 * for well-known models (docs/reference/protocols), and true for others.
 */
export interface ModelRouteModelCapabilities {
  /** It supports a reasoning effort or a thinking budget. */
  readonly reasoning?: boolean;
  /** It supports temperature, top_p and top_k. */
  readonly temperature?: boolean;
  /** It supports temperature and top_p in one call. */
  readonly temperatureWithTopP?: boolean;
  /** It supports stop sequences. */
  readonly stopSequences?: boolean;
  /** Its provider enforces a JSON schema on answers and tool calls. If false, the model is only told to follow it. */
  readonly strictSchemas?: boolean;
  /** It supports turning parallel tool calls off. */
  readonly parallelTools?: boolean;
  /** It continues a last message of the assistant. If false, a user message that asks it to continue is added. */
  readonly prefill?: boolean;
  /**
   * It takes system messages between the turns of a conversation. If false, they become text of the user. The default
   * is true for the models whose makers take them, and false for others.
   */
  readonly systemTurns?: boolean;
  /**
   * The maximum length of a tool's description in characters; 0 is no limit. A longer description is shortened, and its
   * full text is added to the system message.
   */
  readonly toolDescriptionLength?: number;
  /**
   * Its provider caches prompts up to the breakpoints of a request (Anthropic's protocol). If true, a converted call
   * with tools or an earlier answer gets breakpoints if the client sets none.
   */
  readonly promptCaching?: boolean;
  /**
   * Its provider serves it in chat completions (OpenAI's protocol). If false, chats are converted to Responses on
   * channels whose provider serves those.
   */
  readonly chatCompletions?: boolean;
  /**
   * It calls tools in chat completions while it reasons (OpenAI's protocol). If false, chats with tools are converted
   * to Responses on channels whose provider serves those, unless they are chat completions that turn reasoning off.
   */
  readonly chatToolsWithReasoning?: boolean;
}

/** What is passed to the providers of this route although it can change the price of a call. */
export interface ModelRouteAllow {
  /**
   * Request fields that are passed on although they can raise or replace the output limit, or multiply the output. A
   * name allows the field anywhere in the request; a path with dots, as in the error message, allows it only there.
   */
  readonly fields: readonly string[];
}

/** One account at one provider. */
export interface ModelRouteChannel {
  /** The channel's name, unique within the route. */
  readonly name: string;
  /**
   * The provider's API. OpenAI is any provider compatible with OpenAI's API. Gemini is Google's own API for its models.
   * BedrockConverse is Amazon Bedrock's own protocol for all of its chat models.
   */
  readonly protocol: 'OpenAI' | 'Anthropic' | 'Gemini' | 'BedrockConverse';
  /**
   * How a cloud changes the protocol's requests. Direct, the default, changes nothing. AzureDeployments puts the
   * deployment into the path and the API's version into the query. BedrockInvoke and VertexPublisher put the model into
   * the path.
   */
  readonly platform?: 'Direct' | 'AzureDeployments' | 'BedrockInvoke' | 'VertexPublisher';
  /** For platform AzureDeployments: the version of Azure's API. If absent, 2024-10-21. */
  readonly apiVersion?: string;
  /**
   * The provider's endpoints for chat models. Chat is chat completions or messages, depending on the protocol. Calls of
   * the Responses API pass through to a provider that serves Responses, and are converted to Chat for others. Other
   * calls are converted to Responses where there is no Chat, or the model needs it (capabilities). Batches are the
   * provider's files and batches of its own requests. If absent, all of them for OpenAI itself, Chat and Responses for
   * Azure, Chat and Batches for Anthropic itself, and Chat elsewhere.
   */
  readonly endpoints?: readonly ('Chat' | 'Responses' | 'Batches')[];
  /**
   * The provider's base URL, as for the protocol's own SDK: for OpenAI with /v1, as in https://api.openai.com/v1; for
   * Anthropic without /v1, as in https://api.anthropic.com; for Gemini without /v1beta, as in
   * https://generativelanguage.googleapis.com; for BedrockConverse the bedrock-runtime endpoint of the region.
   */
  readonly baseUrl: string;
  /**
   * The forward proxy (CONNECT) to the provider and its token service, such as http://proxy.example.com:3128. If
   * absent, the environment variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the data plane apply. A forward proxy
   * that needs a password must be named there.
   */
  readonly proxyUrl?: string;
  /** How the gateway authenticates to the provider. If absent, it sends no credential. */
  readonly auth?: ModelRouteChannelAuth;
  /**
   * What calls on this channel cost the platform, for margins: usage records contain the cost of each call. It affects
   * no hold, quota or bill, and holders of keys cannot see it. If absent, the cost of its calls is unknown.
   */
  readonly cost?: ModelRouteChannelCost;
  /**
   * Changes what happens to the flags that clients send in anthropic-beta. By default, BedrockInvoke gets only the
   * flags that it is known to support, and other platforms get all.
   */
  readonly betas?: ModelRouteChannelBetas;
  /** The names of models at this provider, where they differ. A model that is not listed is sent under its own name. */
  readonly models?: readonly ModelRouteChannelModel[];
  /** What is passed to this provider in addition to what its protocol needs. */
  readonly allow: ModelRouteChannelAllow;
  /**
   * Channels with a lower number are used first; those with a higher number are used only if all lower ones are full or
   * fail.
   */
  readonly priority: number;
  /**
   * The channel's share of the calls among those of the same priority. To take a channel out of use, remove it from the
   * list.
   */
  readonly weight: number;
  /**
   * The maximum number of concurrent calls on this channel, over all groups and proxies. If absent, there is no limit.
   */
  readonly maxConcurrency?: number;
  /**
   * What calls may use per minute on this channel, over all groups and proxies. A call that may take more than a whole
   * limit is admitted when nothing else counts. If absent, there is no limit.
   */
  readonly rateLimits?: RateLimits;
  /** How long the gateway waits for the provider. */
  readonly timeouts: ModelRouteChannelTimeouts;
}

/** How the gateway authenticates to the provider. If absent, it sends no credential. */
export interface ModelRouteChannelAuth {
  /**
   * ApiKey sends a key. AwsSigV4 signs calls; GoogleOAuth and AzureEntra send an access token. These three use the
   * credentials of a Secret or, if there is none, the pod's own identity.
   */
  readonly type: 'ApiKey' | 'AwsSigV4' | 'GoogleOAuth' | 'AzureEntra';
  /**
   * The header that carries the key. The default depends on the platform and the protocol: Authorization (as a bearer
   * token) for OpenAI, BedrockInvoke and BedrockConverse, api-key for AzureDeployments, x-api-key for Anthropic,
   * x-goog-api-key for Gemini.
   */
  readonly header?: 'Authorization' | 'api-key' | 'x-api-key' | 'x-goog-api-key';
  /**
   * For AwsSigV4: the region and service of the signature. The Secret has the entries accessKeyId, secretAccessKey and,
   * if needed, sessionToken.
   */
  readonly aws?: ModelRouteChannelAuthAws;
  /**
   * For AzureEntra: the application that signs in. Absent fields come from the environment variables that Azure's
   * workload identity sets in a pod.
   */
  readonly azure?: ModelRouteChannelAuthAzure;
  /**
   * The Secret of the gateway's namespace that contains the provider's key, the service account's JSON file
   * (GoogleOAuth), the client secret (AzureEntra) or the access key (AwsSigV4). Required for ApiKey; if absent, the
   * others use the pod's own identity.
   */
  readonly secretRef?: ModelRouteChannelAuthSecretRef;
}

/**
 * For AwsSigV4: the region and service of the signature. The Secret has the entries accessKeyId, secretAccessKey and,
 * if needed, sessionToken.
 */
export interface ModelRouteChannelAuthAws {
  /** The region of the endpoint, as in eu-west-1. */
  readonly region: string;
  /** The name of the service in the signature, such as bedrock-mantle. */
  readonly service: string;
}

/**
 * For AzureEntra: the application that signs in. Absent fields come from the environment variables that Azure's
 * workload identity sets in a pod.
 */
export interface ModelRouteChannelAuthAzure {
  /** The directory of the application. */
  readonly tenantId?: string;
  /** The application's id. */
  readonly clientId?: string;
  /**
   * The scope of the token. If absent, https://cognitiveservices.azure.com/.default for AzureDeployments and
   * https://ai.azure.com/.default otherwise.
   */
  readonly scope?: string;
  /** The authority that issues tokens. If absent, https://login.microsoftonline.com. */
  readonly authority?: string;
}

/**
 * The Secret of the gateway's namespace that contains the provider's key, the service account's JSON file
 * (GoogleOAuth), the client secret (AzureEntra) or the access key (AwsSigV4). Required for ApiKey; if absent, the
 * others use the pod's own identity.
 */
export interface ModelRouteChannelAuthSecretRef {
  /** The Secret's name. */
  readonly name: string;
  /** The entry of the Secret. */
  readonly key: string;
}

/**
 * What calls on this channel cost the platform, for margins: usage records contain the cost of each call. It affects no
 * hold, quota or bill, and holders of keys cannot see it. If absent, the cost of its calls is unknown.
 */
export interface ModelRouteChannelCost {
  /**
   * The PriceCatalog of the gateway's namespace with the prices that the platform pays on this channel, under the names
   * that models have in this route. A catalog for this use only has purpose Costs.
   */
  readonly catalogRef: NameRef;
  /** A factor for all prices of the catalog, such as "0.85" for a discount of 15 %. If absent, 1. */
  readonly multiplier?: string;
}

/**
 * Changes what happens to the flags that clients send in anthropic-beta. By default, BedrockInvoke gets only the flags
 * that it is known to support, and other platforms get all.
 */
export interface ModelRouteChannelBetas {
  /**
   * Flags that are not sent to the provider, nor are the fields of the body that belong to them. A response header
   * names them.
   */
  readonly drop?: readonly string[];
  /** Flags that have another name at this provider. */
  readonly rename?: readonly ModelRouteChannelBetasRename[];
  /** Flags that are sent in addition to those that the platform is known to support. */
  readonly allow?: readonly string[];
}

/** One flag. */
export interface ModelRouteChannelBetasRename {
  /** The flag that clients send. */
  readonly name: string;
  /** The flag that the provider gets. */
  readonly to: string;
}

/** The provider's name for one model. */
export interface ModelRouteChannelModel {
  /** The model's name in this route. */
  readonly name: string;
  /** The model's name at the provider. */
  readonly upstreamName: string;
}

/** What is passed to this provider in addition to what its protocol needs. */
export interface ModelRouteChannelAllow {
  /**
   * Names of request headers that are passed on in addition to those of the protocol's SDKs; a '*' at the end matches
   * any rest. Hop-by-hop headers, credentials and cookies are never passed on.
   */
  readonly headers: readonly string[];
}

/** How long the gateway waits for the provider. */
export interface ModelRouteChannelTimeouts {
  /** Seconds until the connection is established. */
  readonly connectSeconds: number;
  /** Seconds from sending a streaming call to the first byte of its response. */
  readonly firstByteSeconds: number;
  /** Seconds from sending a call that does not stream to the end of its response. */
  readonly wholeSeconds: number;
  /** Seconds between two chunks of a streamed response. */
  readonly idleSeconds: number;
}

/** What happens if a channel fails before the first byte of its response has reached the client. */
export interface ModelRouteRetry {
  /**
   * How many other channels are tried if one fails in a way that retryOn lists. No channel is tried twice, and none
   * after the timeout of a call that was sent.
   */
  readonly attempts: number;
  /**
   * After which failures another channel is tried. Unavailable: the connection fails, or the provider responds with 408
   * or 5xx. RateLimited: 429. Overloaded: 529. CredentialRefused: 401, 402, 403 or 407, which concern this channel's
   * account; calls then try the channel last until it accepts its credential again.
   */
  readonly retryOn: readonly ('Unavailable' | 'RateLimited' | 'Overloaded' | 'CredentialRefused')[];
}

/** The status of this route, written by the gateway. */
export interface ModelRouteStatus {
  /** The metadata.generation that this status describes. */
  readonly observedGeneration?: number;
  /** How many models this route serves. */
  readonly models?: number;
  /**
   * How many of its channels are usable: they have a credential, are not drained, and their providers do not refuse the
   * credential or the account (401, 402, 403).
   */
  readonly channels?: number;
  /** How many accepted ApiKeys would lose a model without this route: no other route of their group serves it. */
  readonly keys?: number;
  /**
   * The state of this object. Ready summarises the others. Reconciling, Stalled and the warnings are present only while
   * they are true.
   */
  readonly conditions?: readonly Condition[];
}

/**
 * A PriceCatalog contains the prices of models. There can be many, such as one for each vendor; if two price the same
 * model, the older one applies. A PriceCatalog has an effect only in the gateway's own namespace. A model without a
 * price cannot be called.
 */
export interface PriceCatalog {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'PriceCatalog';
  readonly metadata: ObjectMeta;
  readonly spec: PriceCatalogSpec;
  readonly status?: PriceCatalogStatus;
}

/** The prices. */
export interface PriceCatalogSpec {
  /**
   * What the catalog is for. Prices, the default, are what groups pay. Costs are what channels cost the platform: they
   * apply only where a channel of a ModelRoute refers to the catalog (cost), and give no model a price.
   */
  readonly purpose?: 'Prices' | 'Costs';
  /** The price of a million input tokens at model ratio 1, in USD; a decimal in quotes such as "2". */
  readonly ratioBaseUsd: string;
  /** The price of each model. */
  readonly models: readonly PriceCatalogModel[];
}

/**
 * One model's price. A Token price is (input + cached x cacheRatio + cache writes x cacheWriteRatio or
 * cacheWrite1hRatio + output x completionRatio) x modelRatio x ratioBaseUsd / 1,000,000 x the group's ratio, or each
 * class of tokens at its own price in usdPerMillion. A Request price is requestUsd x generations x the group's ratio,
 * or in place of requestUsd the price of an image's size and quality (perImage), of a second (perSecondUsd, or by the
 * video's size perSecond) x seconds, of a minute of audio (perMinuteUsd), or of a million characters of speech
 * (perMillionCharactersUsd).
 */
export interface PriceCatalogModel {
  /** The model's name, exactly as clients send it and a ModelRoute declares it. */
  readonly name: string;
  /** The vendor of the model, which the price page shows and model lists name as the owner. */
  readonly vendor: string;
  /** Token charges by tokens, Request by generations: images, videos, audio or calls. */
  readonly quotaType: 'Token' | 'Request';
  /** The price of an input token, as a multiple of ratioBaseUsd / 1,000,000. Required for Token. */
  readonly modelRatio?: string;
  /** The price of an output token, as a multiple of an input token's. If absent, 1. */
  readonly completionRatio?: string;
  /** The price of an input token read from the provider's cache, as a multiple of an input token's. If absent, 1. */
  readonly cacheRatio?: string;
  /**
   * The price of an input token written to the provider's cache for 5 minutes, as a multiple of an input token's. If
   * absent, 1.25.
   */
  readonly cacheWriteRatio?: string;
  /**
   * The price of an input token written to the provider's cache for an hour, as a multiple of an input token's. If
   * absent, cacheWriteRatio x 1.6.
   */
  readonly cacheWrite1hRatio?: string;
  /**
   * When this price begins to apply, such as 2026-09-01T00:00:00Z. While it applies, a price with validFrom or
   * validUntil takes precedence over one without, whichever catalog is older.
   */
  readonly validFrom?: string;
  /** When this price ceases to apply. Calls that are running at that moment are still billed by it. */
  readonly validUntil?: string;
  /**
   * The prices of a million tokens of each class, in USD: input (required), output, cacheRead, cacheWrite5m,
   * cacheWrite1h, reasoning, audioInput, audioOutput, imageInput, imageOutput. If absent, output, cacheRead and
   * imageInput have the price of input, cacheWrite5m is 1.25 x input, cacheWrite1h 1.6 x cacheWrite5m, and reasoning
   * and imageOutput have the price of output. A call with audio is refused if the class that it needs is absent.
   */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /**
   * Prices of long requests. A tier applies to the whole request, not only to the part above it; of several, the
   * highest applies.
   */
  readonly contextTiers?: readonly PriceCatalogModelContextTier[];
  /**
   * The prices of a provider's service tiers, by name: priority, flex, batch, fast, ultrafast, scale. The tier that the
   * response names is billed. The hold of a request that several tiers may serve uses the most expensive of them. A
   * request for a tier without a price is refused unless the ModelRoute allows ServiceTiers.
   */
  readonly serviceTiers?: Readonly<Record<string, PriceCatalogModelServiceTiers>>;
  /**
   * The prices of one use of a tool that the provider runs, in USD, in addition to its tokens. A call with a priced
   * tool needs no allow if it limits the uses of the tool (max_uses, or max_tool_calls in Responses).
   */
  readonly perUse?: PriceCatalogModelPerUse;
  /**
   * Factors for the prices of tokens, by the region that a request names in inference_geo, such as us. The region that
   * the response names is billed.
   */
  readonly regions?: Readonly<Record<string, string>>;
  /** Channels on which the model has another price. A call is billed at the price of the channel that served it. */
  readonly channels?: readonly PriceCatalogModelChannel[];
  /**
   * Prices of an image by size and quality, for models with the endpoint Images. Of the entries that match an image,
   * the most specific applies, and of several the most expensive. The size and quality that the response names are
   * billed; if a request leaves them to the provider, its hold uses the most expensive entry that it can get. A request
   * that no entry matches is refused.
   */
  readonly perImage?: readonly PriceCatalogModelPerImage[];
  /**
   * The price of one second of a video in USD, a decimal in quotes such as "0.1", for models with the endpoint Videos.
   * A request must set its seconds; the seconds that the response names are billed, but at most those that were asked
   * for.
   */
  readonly perSecondUsd?: string;
  /**
   * Prices of one second of a video by its size, in place of perSecondUsd. The entry without a size is for every other
   * size. The size that the response names is billed, but at most the price of what was asked for; if a request leaves
   * it to the provider, its hold uses the most expensive entry. A request that no entry matches is refused.
   */
  readonly perSecond?: readonly PriceCatalogModelPerSecond[];
  /**
   * The price of one generation in USD, a decimal in quotes such as "0.04". Required for Request without perImage,
   * perSecondUsd, perSecond, perMinuteUsd and perMillionCharactersUsd.
   */
  readonly requestUsd?: string;
  /**
   * The price of one minute of audio in USD, a decimal in quotes such as "0.006", for models with the endpoint
   * Transcriptions. It is charged by the second begun: the seconds that the response reports, but at most those that
   * the file can have.
   */
  readonly perMinuteUsd?: string;
  /**
   * The price of a million characters that are spoken, in USD, a decimal in quotes such as "15", for models with the
   * endpoint Speech. It is charged for the characters of a request's input and instructions.
   */
  readonly perMillionCharactersUsd?: string;
  /** Refused; perMillionCharactersUsd has the price of speech. */
  readonly perCharacterUsd?: string;
}

/** Prices of requests whose total input exceeds a number of tokens. */
export interface PriceCatalogModelContextTier {
  /**
   * The tier applies to requests with more input tokens than this, including tokens read from and written to a cache.
   */
  readonly above: number;
  /** The prices of a million tokens of each class in this tier, in USD. It must have every class that the price has. */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /** A factor for the prices of all input classes. If absent, 1. */
  readonly inputMultiplier?: string;
  /** A factor for the prices of all output classes. If absent, 1. */
  readonly outputMultiplier?: string;
}

/** The prices of one tier. */
export interface PriceCatalogModelServiceTiers {
  /** A factor for every price of the model, contextTiers included. */
  readonly multiplier?: string;
  /** The prices of a million tokens of each class in this tier, in USD. It must have every class that the price has. */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /** Prices of long requests in this tier. Required if the price has contextTiers, with the same values of above. */
  readonly contextTiers?: readonly PriceCatalogModelServiceTiersContextTier[];
}

/** Prices of requests whose total input exceeds a number of tokens. */
export interface PriceCatalogModelServiceTiersContextTier {
  /**
   * The tier applies to requests with more input tokens than this, including tokens read from and written to a cache.
   */
  readonly above: number;
  /** The prices of a million tokens of each class, in USD. It must have every class that the service tier has. */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /** A factor for the prices of all input classes. If absent, 1. */
  readonly inputMultiplier?: string;
  /** A factor for the prices of all output classes. If absent, 1. */
  readonly outputMultiplier?: string;
}

/**
 * The prices of one use of a tool that the provider runs, in USD, in addition to its tokens. A call with a priced tool
 * needs no allow if it limits the uses of the tool (max_uses, or max_tool_calls in Responses).
 */
export interface PriceCatalogModelPerUse {
  /** One web search. */
  readonly webSearchUsd?: string;
  /** One fetched page; "0" if only its tokens are charged. */
  readonly webFetchUsd?: string;
  /** One search of files that the provider stores. */
  readonly fileSearchUsd?: string;
}

/** One channel's price: either multiplier, usdPerMillion or requestUsd. */
export interface PriceCatalogModelChannel {
  /** The ModelRoute and its channel, such as openai/azure-eu. */
  readonly channel: string;
  /** A factor for every price of the model; a decimal in quotes such as "1.1". */
  readonly multiplier?: string;
  /**
   * The price of a million tokens of each class on this channel, in USD; it replaces the model's usdPerMillion and must
   * state the same classes. The model's multipliers for serviceTiers and regions, and perUse, apply here too.
   */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /**
   * Prices of long requests on this channel, beside usdPerMillion. Required if the price has contextTiers, with the
   * same values of above.
   */
  readonly contextTiers?: readonly PriceCatalogModelChannelContextTier[];
  /** The price of one generation on this channel, in place of the price's requestUsd. */
  readonly requestUsd?: string;
}

/** Prices of requests whose total input exceeds a number of tokens. */
export interface PriceCatalogModelChannelContextTier {
  /**
   * The tier applies to requests with more input tokens than this, including tokens read from and written to a cache.
   */
  readonly above: number;
  /**
   * The prices of a million tokens of each class in this tier, in USD; the alternative to inputMultiplier and
   * outputMultiplier.
   */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /** A factor for the prices of all input classes. If absent, 1. */
  readonly inputMultiplier?: string;
  /** A factor for the prices of all output classes. If absent, 1. */
  readonly outputMultiplier?: string;
}

/** The price of an image of one size and quality. */
export interface PriceCatalogModelPerImage {
  /** The size, as in requests, such as 1024x1024. If absent, any size. */
  readonly size?: string;
  /** The quality, as in requests, such as high. If absent, any quality. */
  readonly quality?: string;
  /** The price of one image in USD, a decimal in quotes such as "0.04". */
  readonly usd: string;
}

/** The price of one second of a video of one size. */
export interface PriceCatalogModelPerSecond {
  /** The size, as in requests, such as 1280x720. If absent, any size. */
  readonly size?: string;
  /** The price of one second in USD, a decimal in quotes such as "0.1". */
  readonly usd: string;
}

/** The status of this catalog, written by the gateway. */
export interface PriceCatalogStatus {
  /** The metadata.generation that this status describes. */
  readonly observedGeneration?: number;
  /** How many models get their price from this catalog. */
  readonly models?: number;
  /** How many accepted ApiKeys would lose a model without this catalog: no other one prices it. */
  readonly keys?: number;
  /**
   * The state of this object. Ready summarises the others. Reconciling, Stalled and the warnings are present only while
   * they are true.
   */
  readonly conditions?: readonly Condition[];
}
