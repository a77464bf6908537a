/**
 * The kinds of the API, generated from the CustomResourceDefinitions in crds/ by `npm run generate`.
 * A spec is typed as it is after defaults were applied.
 */

export const API_GROUP = 'modelgateway.dev';
export const API_VERSION = 'modelgateway.dev/v1alpha1';

/** Kind → its plural, as in URLs. */
export const PLURALS = {
  Account: 'accounts',
  ApiKey: 'apikeys',
  Group: 'groups',
  ModelRoute: 'modelroutes',
  PriceCatalog: 'pricecatalogs',
} as const;

export type Kind = keyof typeof PLURALS;
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
 * An Account holds a tenant's credit. All ApiKeys that name it spend from one balance, and no call is admitted that the
 * balance could not pay. What was spent is kept by namespace and name, and survives the deletion of this object.
 */
export interface Account {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'Account';
  readonly metadata: ObjectMeta;
  readonly spec: AccountSpec;
  readonly status?: AccountStatus;
}

/** What this account may spend. */
export interface AccountSpec {
  /**
   * The namespace of the gateway that this account belongs to. A cluster may hold several gateways, each in its own
   * namespace. It cannot be changed.
   */
  readonly gatewayNamespace: string;
  /**
   * All the credit ever given; the account's credit is their sum, at most 9,000,000,000 USD. To give more, add an
   * entry; to correct, add one with a negative amount. Entries are merged by name, so that several people or tools can
   * each keep their own.
   */
  readonly grants?: readonly AccountGrant[];
}

/** One amount of credit, given once. */
export interface AccountGrant {
  /** The grant's name, unique within the account, such as 2026-11. */
  readonly name: string;
  /** The amount in USD, a decimal in quotes such as "250.00". A negative amount takes credit back. */
  readonly usd: string;
  /** Why it was given, for people. */
  readonly reason?: string;
  /** Who gave it, for people. The console notes it; the API server's audit log is the proof. */
  readonly grantedBy?: string;
  /** When it was given, for people, RFC 3339 such as 2026-11-21T12:00:00Z. The console notes it. */
  readonly grantTime?: string;
}

/** What the gateway says about this account. */
export interface AccountStatus {
  /** The metadata.generation that this status speaks of. */
  readonly observedGeneration?: number;
  /** The sum of all grants in USD. */
  readonly creditUsd?: string;
  /** What all calls have cost so far, in USD. */
  readonly spentUsd?: string;
  /** What running calls have reserved at this moment, in USD. */
  readonly heldUsd?: string;
  /** What is left, creditUsd less spentUsd, in USD. */
  readonly balanceUsd?: string;
  /**
   * When an operator last confirmed this status, which it does every six hours. An older time means that no operator of
   * the gateway runs, or that it cannot write, so the conditions may be out of date.
   */
  readonly lastConfirmedTime?: string;
  /**
   * The state of this object. Ready sums up the others. Reconciling and Stalled, and those that warn, are there only
   * while they hold.
   */
  readonly conditions?: readonly Condition[];
}

/** metav1.Condition: one aspect of an object's state. */
export interface Condition {
  /** The aspect, in CamelCase. */
  readonly type: string;
  /** Whether it holds. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** Why, as one CamelCase word out of a closed list. */
  readonly reason: string;
  /** Why, for people. */
  readonly message: string;
  /** When the status last changed from one value to another. */
  readonly lastTransitionTime: string;
  /** The metadata.generation that this condition speaks of. */
  readonly observedGeneration?: number;
}

/**
 * An ApiKey lets its holder call the models of one Group, at that group's prices, with one Account's money and within
 * its own quota. The key itself is in a Secret of the same namespace and nowhere else.
 */
export interface ApiKey {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'ApiKey';
  readonly metadata: ObjectMeta;
  readonly spec: ApiKeySpec;
  readonly status?: ApiKeyStatus;
}

/** What this key may do. */
export interface ApiKeySpec {
  /**
   * The namespace of the gateway that this key belongs to. A cluster may hold several gateways, each in its own
   * namespace. It cannot be changed.
   */
  readonly gatewayNamespace: string;
  /** Whether calls with this key are served. False refuses every new call at once; running calls end normally. */
  readonly enabled: boolean;
  /**
   * The Group that decides which models this key can call, through which providers and at which ratio. It lives in the
   * gateway's namespace, and its allowedNamespaces must admit this key's namespace.
   */
  readonly groupRef: NameRef;
  /**
   * The Account of this namespace that pays for the calls. It cannot be changed, because what was spent belongs to it.
   */
  readonly accountRef: NameRef;
  /** The key's own spending limit, in addition to its account's balance. */
  readonly quota: ApiKeyQuota;
  /** From this moment on the key is refused, RFC 3339 such as 2027-01-01T00:00:00Z. Absent, it never expires. */
  readonly expirationTime?: string;
  /** The only models that this key can call, out of those its group has. Absent, all of them. */
  readonly models?: readonly string[];
  /** How many calls with this key may be running at once, over all proxies. Absent, any number. */
  readonly maxConcurrency?: number;
  /** Where the key comes from and where it is kept. */
  readonly key: ApiKeyKey;
}

/** A reference by name. */
export interface NameRef {
  /** The name of what is meant. */
  readonly name: string;
}

/** The key's own spending limit, in addition to its account's balance. */
export interface ApiKeyQuota {
  /** What may be spent within one period, in USD; a decimal in quotes such as "25.00", or Unlimited. */
  readonly limitUsd: string;
  /**
   * When the quota resets. Never means that it never does; Daily and Monthly are calendar days and months in UTC. A
   * call counts for the period in which it was admitted.
   */
  readonly period: 'Never' | 'Daily' | 'Monthly';
  /**
   * What happens when less is left than the most that a call may cost. Lower reduces its output limit to what can be
   * paid, but not below minOutputTokens; Refuse refuses the call.
   */
  readonly whenShort: 'Lower' | 'Refuse';
  /**
   * The lowest output limit that whenShort Lower sends to a provider, in tokens. A call that cannot pay for it is
   * refused.
   */
  readonly minOutputTokens: number;
}

/** Where the key comes from and where it is kept. */
export interface ApiKeyKey {
  /**
   * Generated makes a key and writes it into the Secret. Provided waits for a Secret that you made, and never writes
   * it; its key begins with sk- and has at least 32 characters. It cannot be changed.
   */
  readonly type: 'Generated' | 'Provided';
  /**
   * The Secret of this namespace that holds the key in its entry apiKey. Absent, it is named after this object, with
   * -key added.
   */
  readonly secretRef?: NameRef;
  /** Increase this number to make a new key. It cannot decrease. */
  readonly rotation: number;
  /** How many seconds the old key continues to work after a rotation. */
  readonly overlapSeconds: number;
}

/** What the gateway says about this key. */
export interface ApiKeyStatus {
  /** The metadata.generation that this status speaks of. */
  readonly observedGeneration?: number;
  /** Identifies the key in force by 64 hexadecimal digits that only the gateway can compute from it. */
  readonly keyHash?: string;
  /** The first characters of the key in force, by which people recognise it. */
  readonly keyPrefix?: string;
  /** The rotation that made the key in force; for keys of type Generated. */
  readonly keyRotation?: number;
  /** Keys replaced by a rotation that still work for a while. */
  readonly previousKeys?: readonly ApiKeyPreviousKey[];
  /** When the current period of the quota began. Absent with period Never. */
  readonly periodStartTime?: string;
  /** What was spent in the current period, in USD. */
  readonly spentUsd?: string;
  /** What was spent with this key in total, in USD. */
  readonly totalSpentUsd?: string;
  /** The quota's limit less spentUsd, in USD, or Unlimited. */
  readonly remainingUsd?: string;
  /** When a call with this key was last settled. */
  readonly lastUsedTime?: string;
  /**
   * When an operator last confirmed this status, which it does every six hours. An older time means that no operator of
   * the gateway runs, or that it cannot write, so the conditions may be out of date.
   */
  readonly lastConfirmedTime?: string;
  /**
   * The state of this object. Ready sums up the others. Reconciling and Stalled, and those that warn, are there only
   * while they hold.
   */
  readonly conditions?: readonly Condition[];
}

/** A replaced key. */
export interface ApiKeyPreviousKey {
  /** Identifies the key by 64 hexadecimal digits that only the gateway can compute from it. */
  readonly keyHash: string;
  /** When it stops working. */
  readonly expirationTime: string;
}

/**
 * A Group gives its ApiKeys access to models at a price. A Direct group names the ModelRoutes that it opens; an
 * Automatic one tries other groups in order. It counts only in the gateway's own namespace.
 */
export interface Group {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'Group';
  readonly metadata: ObjectMeta;
  readonly spec: GroupSpec;
  readonly status?: GroupStatus;
}

/** Which models this group has, for whom and at which ratio. */
export interface GroupSpec {
  /**
   * Direct has access of its own, by routes. Automatic has the access of its members: the first one that has the model
   * and a free slot serves the call.
   */
  readonly type: 'Direct' | 'Automatic';
  /** The name that the price page shows. Absent, metadata.name. */
  readonly displayName?: string;
  /**
   * The group's multiplier on every price, a decimal in quotes such as "0.8". A call through an Automatic group costs
   * its own ratio times that of the member that served it.
   */
  readonly priceRatio: string;
  /** The namespaces whose ApiKeys may name this group. */
  readonly allowedNamespaces: GroupAllowedNamespaces;
  /** The ModelRoutes that a Direct group opens. A model that several of them serve has the channels of all. */
  readonly routes?: readonly GroupRoute[];
  /**
   * The Direct groups that an Automatic group tries, in this order. The list is replaced as a whole, because its order
   * means something.
   */
  readonly members?: readonly NameRef[];
}

/** The namespaces whose ApiKeys may name this group. */
export interface GroupAllowedNamespaces {
  /** All is every namespace, Same the gateway's own, Selector those whose labels the selector matches. */
  readonly from: 'All' | 'Same' | 'Selector';
  /** The labels by which the namespaces are chosen. */
  readonly selector?: LabelSelector;
}

/** metav1.LabelSelector; an empty one matches everything. */
export interface LabelSelector {
  /** Labels that must all be there with these values. */
  readonly matchLabels?: Readonly<Record<string, string>>;
  /** Conditions on labels, all of which must hold. */
  readonly matchExpressions?: readonly LabelSelectorMatchExpression[];
}

/** A condition on one label. */
export interface LabelSelectorMatchExpression {
  /** The label's key. */
  readonly key: string;
  /** In and NotIn compare the label's value with values; Exists and DoesNotExist ask only for the key. */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** The values to compare with. */
  readonly values?: readonly string[];
}

/** One or more ModelRoutes, and how much of them is open. */
export interface GroupRoute {
  /** The labels by which the ModelRoutes are chosen. An empty one means every ModelRoute of the gateway. */
  readonly routeSelector?: LabelSelector;
  /** One ModelRoute by its name. */
  readonly routeRef?: NameRef;
  /** The only models that are open, by name. Absent, all that the ModelRoutes have. */
  readonly models?: readonly string[];
  /** The only channels that are used, by name. Absent, all that the ModelRoutes have. */
  readonly channels?: readonly string[];
  /**
   * How many calls of this group may be running at once on each of these channels, over all proxies. Absent, any
   * number.
   */
  readonly maxConcurrency?: number;
}

/** What the gateway says about this group. */
export interface GroupStatus {
  /** The metadata.generation that this status speaks of. */
  readonly observedGeneration?: number;
  /** How many priced models the keys of this group can call. */
  readonly models?: number;
  /** How many accepted ApiKeys name this group. */
  readonly keys?: number;
  /**
   * When an operator last confirmed this status, which it does every six hours. An older time means that no operator of
   * the gateway runs, or that it cannot write, so the conditions may be out of date.
   */
  readonly lastConfirmedTime?: string;
  /**
   * The state of this object. Ready sums up the others. Reconciling and Stalled, and those that warn, are there only
   * while they hold.
   */
  readonly conditions?: readonly Condition[];
}

/**
 * A ModelRoute says which models there are and through which channels, that is provider accounts, they are reached.
 * Every channel serves every model of its route. It counts only in the gateway's own namespace.
 */
export interface ModelRoute {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'ModelRoute';
  readonly metadata: ObjectMeta;
  readonly spec: ModelRouteSpec;
  readonly status?: ModelRouteStatus;
}

/** The models, the channels, and how calls are spread over them. */
export interface ModelRouteSpec {
  /** The models that can be called through this route. */
  readonly models: readonly ModelRouteModel[];
  /** What passes to the providers of this route although it can change the price of a call. */
  readonly allow: ModelRouteAllow;
  /** The provider accounts through which the models are reached. Each serves every model of this route. */
  readonly channels: readonly ModelRouteChannel[];
  /**
   * Channels that get no new calls, by name, until they are taken out of this list. Running calls end normally, and
   * videos that a channel has begun are still asked for. A name that no channel has does nothing.
   */
  readonly drainedChannels?: readonly string[];
  /** What happens when a channel fails before the first byte of its answer has reached the client. */
  readonly retry: ModelRouteRetry;
  /**
   * What happens to a stream whose client has left. Drain reads on to the exact usage. Cancel stops the provider at the
   * next text, or after 2 s, and bills what was produced, or the call's hold where the model's reasoning is hidden and
   * no figures came.
   */
  readonly clientDisconnect: 'Drain' | 'Cancel';
  /**
   * How calls are shared among channels of equal priority. Affinity gives the calls of one conversation to one channel,
   * which has its prompt cache and can read its encrypted reasoning, and spreads conversations by weight; Weighted
   * gives each call to a channel at random, by weight.
   */
  readonly routing: 'Affinity' | 'Weighted';
  /**
   * What a call costs whose provider did not produce anything in time. BillNothing bills nothing, although the provider
   * may charge for the call; BillHold bills the most that the call can have cost.
   */
  readonly onTimeout: 'BillNothing' | 'BillHold';
}

/** One model, and what bounds the cost of a call to it. */
export interface ModelRouteModel {
  /** The model's name, exactly as clients send it and a PriceCatalog lists it. Upper and lower case differ. */
  readonly name: string;
  /**
   * What the model is called for. Chat is both chat protocols, OpenAI's and Anthropic's; Embeddings, Images and Videos
   * are OpenAI's.
   */
  readonly endpoints: readonly ('Chat' | 'Embeddings' | 'Images' | 'Videos')[];
  /** What a call may contain. An image sent to a model without Image is refused. */
  readonly inputs: readonly ('Text' | 'Image')[];
  /**
   * The model's context window in tokens, input and output together. It bounds what a call's input can cost. Required
   * for Chat and Embeddings.
   */
  readonly contextTokens?: number;
  /**
   * The longest answer in tokens. It is sent to the provider when a call names no limit, and a call that wishes more is
   * lowered to it. Required for Chat.
   */
  readonly maxOutputTokens?: number;
  /** The most input tokens that one image can count for; it bounds what a call with images can cost. */
  readonly imageTokens: number;
  /** The field by which this model's provider takes the output limit in OpenAI's chat protocol. */
  readonly outputLimitField: 'max_completion_tokens' | 'max_tokens';
  /**
   * What the model takes of a call that is converted from the other protocol. What it does not take is left out, and
   * the answer's header x-modelgateway-dropped names it. What is not stated here is as the gateway knows it of
   * well-known models (docs/protocols.md), otherwise true.
   */
  readonly capabilities?: ModelRouteModelCapabilities;
  /**
   * What a call may ask for although its price cannot be bounded beforehand. ServerTools are tools that the provider
   * runs and charges, ServiceTiers are tiers with prices of their own, FileReferences are files by URL or id.
   * Everything else of the kind is refused.
   */
  readonly allow: readonly ('ServerTools' | 'ServiceTiers' | 'FileReferences')[];
  /**
   * What becomes of tools that a call asks the provider to run, such as web_search. Refuse answers such a call with an
   * error. Drop leaves the tools out, and the answer's header x-modelgateway-dropped names them. Allow hands on tools
   * whose uses have a price (perUse of the PriceCatalog), and with ServerTools in allow all others, which are not
   * billed by use. A call that is converted to another protocol cannot hand them on, so that Allow is Drop there.
   * Absent, it is Drop for converted calls and Allow for others.
   */
  readonly providerTools?: 'Refuse' | 'Drop' | 'Allow';
  /**
   * Whether a stream shows the tokens with which the model reasons. It decides what a call costs whose client left
   * under clientDisconnect Cancel before the provider sent its figures: Hidden bills the call's hold, Shown bills the
   * text. Auto goes by the model's name at the provider and by what the call asks for.
   */
  readonly reasoning: 'Auto' | 'Hidden' | 'Shown';
}

/**
 * What the model takes of a call that is converted from the other protocol. What it does not take is left out, and the
 * answer's header x-modelgateway-dropped names it. What is not stated here is as the gateway knows it of well-known
 * models (docs/protocols.md), otherwise true.
 */
export interface ModelRouteModelCapabilities {
  /** It takes a reasoning effort or a thinking budget. */
  readonly reasoning?: boolean;
  /** It takes temperature, top_p and top_k. */
  readonly temperature?: boolean;
  /** It takes temperature and top_p in one call. */
  readonly temperatureWithTopP?: boolean;
  /** It takes stop sequences. */
  readonly stopSequences?: boolean;
  /** Its provider holds answers and tool calls to a JSON schema. If not, the model is asked to keep to it. */
  readonly strictSchemas?: boolean;
  /** It takes the switch for parallel tool calls. */
  readonly parallelTools?: boolean;
  /** It continues a last message of the assistant. If not, it is asked to go on. */
  readonly prefill?: boolean;
  /**
   * The longest description of a tool in characters; 0 is no limit. The system message has the whole of a longer one.
   */
  readonly toolDescriptionLength?: number;
  /**
   * Its provider caches up to the breakpoints of a request (Anthropic's protocol). If so, a converted call with tools
   * or an earlier answer gets some where the client sets none.
   */
  readonly promptCaching?: boolean;
}

/** What passes to the providers of this route although it can change the price of a call. */
export interface ModelRouteAllow {
  /**
   * Fields of requests that pass although they are known to raise or replace the output limit, or to multiply the
   * answer. A name allows the field wherever it is; a path with dots, as the error message shows it, allows it there
   * only.
   */
  readonly fields: readonly string[];
}

/** One account at one provider. */
export interface ModelRouteChannel {
  /** What the channel is known by, unique within the route. */
  readonly name: string;
  /**
   * What the provider speaks. OpenAI is any provider compatible with OpenAI's API. Gemini is Google's own API for its
   * models. BedrockConverse is Amazon Bedrock's own protocol for all of its chat models.
   */
  readonly protocol: 'OpenAI' | 'Anthropic' | 'Gemini' | 'BedrockConverse';
  /**
   * How a cloud dresses the protocol's requests. Direct, the default, is the protocol as its own API has it.
   * AzureDeployments puts the deployment into the path, and the API's version into the query. BedrockInvoke and
   * VertexPublisher put the model into the path.
   */
  readonly platform?: 'Direct' | 'AzureDeployments' | 'BedrockInvoke' | 'VertexPublisher';
  /** For platform AzureDeployments: the version of Azure's API. Absent, it is 2024-10-21. */
  readonly apiVersion?: string;
  /**
   * What the provider serves for chat models. Chat is chat completions or messages, by the protocol. Responses pass
   * through to a provider that serves them, and are converted to chats for all others. Absent, it is both at OpenAI and
   * Azure, and Chat elsewhere.
   */
  readonly endpoints?: readonly ('Chat' | 'Responses')[];
  /**
   * The provider's address, as the protocol's own SDK takes it: for OpenAI with /v1, as in https://api.openai.com/v1;
   * for Anthropic without /v1, as in https://api.anthropic.com; for Gemini without /v1beta, as in
   * https://generativelanguage.googleapis.com; for BedrockConverse the bedrock-runtime endpoint of the region.
   */
  readonly baseUrl: string;
  /** How the gateway proves itself to the provider. Absent, it sends no credential. */
  readonly auth?: ModelRouteChannelAuth;
  /**
   * What this channel costs the platform, for margins: usage records hold each call's cost on it. It counts for no
   * hold, quota or bill, and keys never see it. Absent, the cost of its calls is unknown.
   */
  readonly cost?: ModelRouteChannelCost;
  /**
   * What becomes of the flags that clients send in anthropic-beta, over what the platform does by itself. BedrockInvoke
   * takes only the flags on its list, the others take all.
   */
  readonly betas?: ModelRouteChannelBetas;
  /**
   * What models are called at this provider, where that differs. A model that is not listed is sent by its own name.
   */
  readonly models?: readonly ModelRouteChannelModel[];
  /** What passes to this provider besides what its protocol needs. */
  readonly allow: ModelRouteChannelAllow;
  /**
   * Channels with a lower number are used first; those with a higher one only when all the lower ones are full or fail.
   */
  readonly priority: number;
  /**
   * The channel's share of the calls among those of the same priority. To take a channel out of use, remove it from the
   * list.
   */
  readonly weight: number;
  /** How many calls may be running on this channel at once, of all groups and over all proxies. Absent, any number. */
  readonly maxConcurrency?: number;
  /** How long the provider is waited for. */
  readonly timeouts: ModelRouteChannelTimeouts;
}

/** How the gateway proves itself to the provider. Absent, it sends no credential. */
export interface ModelRouteChannelAuth {
  /**
   * ApiKey sends a key. The others make tokens or signatures of a Secret, or without one of the pod's own identity:
   * AwsSigV4 signs calls, GoogleOAuth and AzureEntra send an access token.
   */
  readonly type: 'ApiKey' | 'AwsSigV4' | 'GoogleOAuth' | 'AzureEntra';
  /**
   * The header that carries the key. Absent, it is the one of the platform or else of the protocol: Authorization (as a
   * bearer token) for OpenAI, BedrockInvoke and BedrockConverse, api-key for AzureDeployments, x-api-key for Anthropic,
   * x-goog-api-key for Gemini.
   */
  readonly header?: 'Authorization' | 'api-key' | 'x-api-key' | 'x-goog-api-key';
  /**
   * For AwsSigV4: what the signature is for. Secrets have the entries accessKeyId, secretAccessKey and, if needed,
   * sessionToken.
   */
  readonly aws?: ModelRouteChannelAuthAws;
  /**
   * For AzureEntra: the application that signs in. What is absent comes from the environment that Azure's workload
   * identity gives to a pod.
   */
  readonly azure?: ModelRouteChannelAuthAzure;
  /**
   * The Secret of the gateway's namespace that holds the provider's key, the service account's JSON file (GoogleOAuth),
   * the client secret (AzureEntra) or the access key (AwsSigV4). Required for ApiKey; absent, the others use the pod's
   * own identity.
   */
  readonly secretRef?: ModelRouteChannelAuthSecretRef;
}

/**
 * For AwsSigV4: what the signature is for. Secrets have the entries accessKeyId, secretAccessKey and, if needed,
 * sessionToken.
 */
export interface ModelRouteChannelAuthAws {
  /** The region of the endpoint, as in eu-west-1. */
  readonly region: string;
  /** The signed name of the service, such as bedrock-mantle. */
  readonly service: string;
}

/**
 * For AzureEntra: the application that signs in. What is absent comes from the environment that Azure's workload
 * identity gives to a pod.
 */
export interface ModelRouteChannelAuthAzure {
  /** The directory of the application. */
  readonly tenantId?: string;
  /** The application's id. */
  readonly clientId?: string;
  /**
   * What the token is for. Absent, it is https://cognitiveservices.azure.com/.default for AzureDeployments and
   * otherwise https://ai.azure.com/.default.
   */
  readonly scope?: string;
  /** Where tokens are asked for. Absent, it is https://login.microsoftonline.com. */
  readonly authority?: string;
}

/**
 * The Secret of the gateway's namespace that holds the provider's key, the service account's JSON file (GoogleOAuth),
 * the client secret (AzureEntra) or the access key (AwsSigV4). Required for ApiKey; absent, the others use the pod's
 * own identity.
 */
export interface ModelRouteChannelAuthSecretRef {
  /** The Secret's name. */
  readonly name: string;
  /** The entry of the Secret that holds it. */
  readonly key: string;
}

/**
 * What this channel costs the platform, for margins: usage records hold each call's cost on it. It counts for no hold,
 * quota or bill, and keys never see it. Absent, the cost of its calls is unknown.
 */
export interface ModelRouteChannelCost {
  /**
   * The PriceCatalog of the gateway's namespace whose prices the platform pays on this channel, with the models' names
   * of this route. A catalog that is for this only has purpose Costs.
   */
  readonly catalogRef: NameRef;
  /** A factor for all prices of the catalog, such as "0.85" for a discount of 15 %. Absent, 1. */
  readonly multiplier?: string;
}

/**
 * What becomes of the flags that clients send in anthropic-beta, over what the platform does by itself. BedrockInvoke
 * takes only the flags on its list, the others take all.
 */
export interface ModelRouteChannelBetas {
  /** Flags that the provider does not get, with the members of the body that belong to them. The answer names them. */
  readonly drop?: readonly string[];
  /** Flags that go by another name at this provider. */
  readonly rename?: readonly ModelRouteChannelBetasRename[];
  /** Flags that pass although the platform's list does not have them. */
  readonly allow?: readonly string[];
}

/** One flag. */
export interface ModelRouteChannelBetasRename {
  /** As clients send it. */
  readonly name: string;
  /** As the provider knows it. */
  readonly to: string;
}

/** Another name for one model. */
export interface ModelRouteChannelModel {
  /** The model's name in this route. */
  readonly name: string;
  /** The model's name at the provider. */
  readonly upstreamName: string;
}

/** What passes to this provider besides what its protocol needs. */
export interface ModelRouteChannelAllow {
  /**
   * Names of request headers that pass besides those of the protocol's SDKs; a '*' at the end stands for any rest.
   * Headers of the connection, credentials and cookies never pass.
   */
  readonly headers: readonly string[];
}

/** How long the provider is waited for. */
export interface ModelRouteChannelTimeouts {
  /** Seconds for the connection to be made. */
  readonly connectSeconds: number;
  /** Seconds from sending a streaming call to the first byte of its answer. */
  readonly firstByteSeconds: number;
  /** Seconds from sending a call that does not stream to the end of its answer. */
  readonly wholeSeconds: number;
  /** Seconds between two pieces of a streamed answer. */
  readonly idleSeconds: number;
}

/** What happens when a channel fails before the first byte of its answer has reached the client. */
export interface ModelRouteRetry {
  /**
   * How many further channels are tried, none twice: when the connection fails, or the provider answers 408, 429 or
   * 5xx. Never after a time-out of a call that was sent.
   */
  readonly attempts: number;
}

/** What the gateway says about this route. */
export interface ModelRouteStatus {
  /** The metadata.generation that this status speaks of. */
  readonly observedGeneration?: number;
  /** How many models this route serves. */
  readonly models?: number;
  /** How many of its channels can be used. */
  readonly channels?: number;
  /**
   * When an operator last confirmed this status, which it does every six hours. An older time means that no operator of
   * the gateway runs, or that it cannot write, so the conditions may be out of date.
   */
  readonly lastConfirmedTime?: string;
  /**
   * The state of this object. Ready sums up the others. Reconciling and Stalled, and those that warn, are there only
   * while they hold.
   */
  readonly conditions?: readonly Condition[];
}

/**
 * A PriceCatalog says what models cost. There may be many, such as one for each vendor; where two price the same model,
 * the older one counts. It counts only in the gateway's own namespace. A model without a price cannot be called.
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
   * What the prices are. Prices, the default, are what groups pay. Costs are what channels cost the platform: they
   * count only where a channel of a ModelRoute refers to the catalog (cost), and price no model.
   */
  readonly purpose?: 'Prices' | 'Costs';
  /** What a million input tokens cost at model ratio 1, in USD; a decimal in quotes such as "2". */
  readonly ratioBaseUsd: string;
  /** The price of each model. */
  readonly models: readonly PriceCatalogModel[];
}

/**
 * One model's price. A Token price is (input + cached x cacheRatio + cache writes x cacheWriteRatio or
 * cacheWrite1hRatio + output x completionRatio) x modelRatio x ratioBaseUsd / 1,000,000 x the group's ratio, or each
 * class of tokens at its own price in usdPerMillion. A Request price is requestUsd x generations x the group's ratio,
 * or in place of requestUsd the price of an image's size and quality (perImage), or of a second (perSecondUsd) x
 * seconds.
 */
export interface PriceCatalogModel {
  /** The model's name, exactly as clients send it and a ModelRoute has it. */
  readonly name: string;
  /** Who made the model; the price page shows it, and model lists name it as the owner. */
  readonly vendor: string;
  /** Token charges by tokens, Request by generations, that is by images, videos or calls. */
  readonly quotaType: 'Token' | 'Request';
  /** The price of an input token, as a multiple of ratioBaseUsd / 1,000,000. Required for Token. */
  readonly modelRatio?: string;
  /** The price of an output token, as a multiple of an input token's. Absent, 1. */
  readonly completionRatio?: string;
  /** The price of an input token read from the provider's cache, as a multiple of an input token's. Absent, 1. */
  readonly cacheRatio?: string;
  /**
   * The price of an input token written to the provider's cache for 5 minutes, as a multiple of an input token's.
   * Absent, 1.25.
   */
  readonly cacheWriteRatio?: string;
  /**
   * The price of an input token written to the provider's cache for an hour, as a multiple of an input token's. Absent,
   * cacheWriteRatio x 1.6.
   */
  readonly cacheWrite1hRatio?: string;
  /**
   * The moment from which this price counts, such as 2026-09-01T00:00:00Z. While it counts, a price with validFrom or
   * validUntil goes before one without, whichever catalog is older.
   */
  readonly validFrom?: string;
  /** The moment from which this price counts no more. Calls that run then are billed by it still. */
  readonly validUntil?: string;
  /**
   * What a million tokens of each class cost, in USD: input (required), output, cacheRead, cacheWrite5m, cacheWrite1h,
   * reasoning, audioInput, audioOutput, imageInput, imageOutput. Absent classes: output, cacheRead and imageInput cost
   * what input does, cacheWrite5m 1.25 x input, cacheWrite1h 1.6 x cacheWrite5m, reasoning and imageOutput what output
   * does; a call with audio is refused where the class that it needs is absent.
   */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /**
   * Prices of long requests. A tier counts for the whole request, not for the part above it; of several the highest
   * counts.
   */
  readonly contextTiers?: readonly PriceCatalogModelContextTier[];
  /**
   * Prices of the tiers in which a provider serves requests, by name: priority, flex, batch, fast, ultrafast, scale.
   * The tier that the answer names counts. A request that may be served in several is held for at the dearest of them,
   * and one that asks for a tier without a price is refused unless the ModelRoute allows ServiceTiers.
   */
  readonly serviceTiers?: Readonly<Record<string, PriceCatalogModelServiceTiers>>;
  /**
   * What one use of a tool costs that the provider runs, in USD, besides its tokens. A call with a tool that has a
   * price needs no allow, if it says how often the tool may be used (max_uses, in responses max_tool_calls).
   */
  readonly perUse?: PriceCatalogModelPerUse;
  /**
   * What the prices of tokens are multiplied by where a request asks for a place by inference_geo, by its name there,
   * such as us. The place that the answer names counts.
   */
  readonly regions?: Readonly<Record<string, string>>;
  /** Channels on which the model costs something else. A call pays the price of the channel that served it. */
  readonly channels?: readonly PriceCatalogModelChannel[];
  /**
   * Prices of an image by its size and quality, for models with the endpoint Images. Of the entries that fit an image,
   * those that name most of it count, and of these the dearest. The size and quality that the answer names are billed;
   * where a request leaves them to the provider, it holds for the dearest that it can get. One that no entry fits is
   * refused.
   */
  readonly perImage?: readonly PriceCatalogModelPerImage[];
  /**
   * The price of one second of a video in USD, a decimal in quotes such as "0.1", for models with the endpoint Videos.
   * A request must say its seconds; those that the answer names are billed.
   */
  readonly perSecondUsd?: string;
  /**
   * The price of one generation in USD, a decimal in quotes such as "0.04". Required for Request without perImage and
   * perSecondUsd.
   */
  readonly requestUsd?: string;
}

/** Prices of requests whose whole input is above a number of tokens. */
export interface PriceCatalogModelContextTier {
  /**
   * The tier counts for a request with more input tokens than this, those read from and written to a cache included.
   */
  readonly above: number;
  /**
   * What a million tokens of each class cost above it, in USD. Every class that the price states is stated here too.
   */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /** What the prices of all classes of input are multiplied by. Absent, 1. */
  readonly inputMultiplier?: string;
  /** What the prices of all classes of output are multiplied by. Absent, 1. */
  readonly outputMultiplier?: string;
}

/** The prices of one tier. */
export interface PriceCatalogModelServiceTiers {
  /** What every price of the model is multiplied by, those of contextTiers included. */
  readonly multiplier?: string;
  /**
   * What a million tokens of each class cost in this tier, in USD. Every class that the price states is stated here
   * too.
   */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /** Prices of long requests in this tier. Required where the price has contextTiers, with the same steps. */
  readonly contextTiers?: readonly PriceCatalogModelServiceTiersContextTier[];
}

/** Prices of requests whose whole input is above a number of tokens. */
export interface PriceCatalogModelServiceTiersContextTier {
  /**
   * The tier counts for a request with more input tokens than this, those read from and written to a cache included.
   */
  readonly above: number;
  /**
   * What a million tokens of each class cost above it, in USD. Every class that the service tier states is stated here
   * too.
   */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /** What the prices of all classes of input are multiplied by. Absent, 1. */
  readonly inputMultiplier?: string;
  /** What the prices of all classes of output are multiplied by. Absent, 1. */
  readonly outputMultiplier?: string;
}

/**
 * What one use of a tool costs that the provider runs, in USD, besides its tokens. A call with a tool that has a price
 * needs no allow, if it says how often the tool may be used (max_uses, in responses max_tool_calls).
 */
export interface PriceCatalogModelPerUse {
  /** A search of the web. */
  readonly webSearchUsd?: string;
  /** A page that is fetched; "0" where it costs only its tokens. */
  readonly webFetchUsd?: string;
  /** A search of files that the provider stores. */
  readonly fileSearchUsd?: string;
}

/** One channel's price, that is a multiplier, or usdPerMillion, or requestUsd. */
export interface PriceCatalogModelChannel {
  /** The ModelRoute and its channel, such as openai/azure-eu. */
  readonly channel: string;
  /** What every price of the model is multiplied by; a decimal in quotes such as "1.1". */
  readonly multiplier?: string;
  /**
   * The price of a million tokens of each class on this channel, in USD; it replaces the model's usdPerMillion and must
   * state the same classes. The model's multipliers for serviceTiers and regions, and perUse, apply here too.
   */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /**
   * Prices of long requests on this channel, beside usdPerMillion. Required where the price has contextTiers, with the
   * same steps.
   */
  readonly contextTiers?: readonly PriceCatalogModelChannelContextTier[];
  /** The price of one generation on this channel, in place of the price's requestUsd. */
  readonly requestUsd?: string;
}

/** Prices of requests whose whole input is above a number of tokens. */
export interface PriceCatalogModelChannelContextTier {
  /**
   * The tier counts for a request with more input tokens than this, those read from and written to a cache included.
   */
  readonly above: number;
  /** What a million tokens of each class cost above it, in USD; or inputMultiplier and outputMultiplier. */
  readonly usdPerMillion?: Readonly<Record<string, string>>;
  /** What the prices of all classes of input are multiplied by. Absent, 1. */
  readonly inputMultiplier?: string;
  /** What the prices of all classes of output are multiplied by. Absent, 1. */
  readonly outputMultiplier?: string;
}

/** The price of an image of one size and quality. */
export interface PriceCatalogModelPerImage {
  /** The size as requests name it, such as 1024x1024. Absent, any. */
  readonly size?: string;
  /** The quality as requests name it, such as high. Absent, any. */
  readonly quality?: string;
  /** The price of one image in USD, a decimal in quotes such as "0.04". */
  readonly usd: string;
}

/** What the gateway says about this catalog. */
export interface PriceCatalogStatus {
  /** The metadata.generation that this status speaks of. */
  readonly observedGeneration?: number;
  /** How many models have their price from this catalog. */
  readonly models?: number;
  /**
   * When an operator last confirmed this status, which it does every six hours. An older time means that no operator of
   * the gateway runs, or that it cannot write, so the conditions may be out of date.
   */
  readonly lastConfirmedTime?: string;
  /**
   * The state of this object. Ready sums up the others. Reconciling and Stalled, and those that warn, are there only
   * while they hold.
   */
  readonly conditions?: readonly Condition[];
}
