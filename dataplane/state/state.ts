/**
 * The types of the configuration that requests use: a snapshot compiled to lookup maps, so that a call needs only a few
 * map reads. compile.ts makes it; current.ts holds the one in force.
 */
import type { CompiledPrice } from '#price/sheet.ts';
import type { QuotaPeriod } from '#ledger/spending.ts';
import type { AccountCredit, AccountLimit, CountLimit, KeyQuota } from '../ledger/ledger.ts';
import type { ProviderTools, UnboundedFeature } from '../protocol/call-facts.ts';
import type { StatedCapabilities } from '../protocol/capabilities.ts';
import type { SealingKeys } from '../sealing/sealing-keys.ts';
import type { RetryableVerdict } from '../upstream/retry.ts';
import type { UpstreamTarget } from '../upstream/upstream.ts';
import type { PricingGroup, PricingRow } from '#web/pricing/price-list.ts';

export type EndpointKind = 'Chat' | 'Embeddings' | 'Images' | 'Videos' | 'Speech' | 'Transcriptions' | 'Realtime';

/** A key and its limits. */
export interface KeyState {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly prefix: string;
  readonly enabled: boolean;
  /** Why the ApiKey is not Accepted; empty if it is. */
  readonly refusal: string;
  readonly expirationMs: number | undefined;
  readonly group: string;
  /** "namespace/name" */
  readonly account: string;
  readonly quota: KeyQuota;
  readonly period: QuotaPeriod;
  readonly whenShort: 'Lower' | 'Refuse';
  /** The lowest output limit, in tokens, to which Lower may reduce a call's. */
  readonly minOutputTokens: number;
  /** Undefined: all models of the group. */
  readonly models: ReadonlySet<string> | undefined;
  /** "name=value,name=value" of the labels that usage records carry; undefined: none. */
  readonly usageLabels: string | undefined;
  /** The key's own limits on calls. */
  readonly limits: readonly CountLimit[];
}

/** One string that opens a key; a rotated key has two for a while. */
export interface Credential {
  readonly key: KeyState;
  readonly notAfterMs: number | undefined;
}

export interface AccountState {
  readonly id: string;
  readonly credit: AccountCredit;
  /** What it may spend besides, in windows or in total. */
  readonly spending: readonly AccountLimit[];
  /** Its limits on calls. */
  readonly limits: readonly CountLimit[];
}

export interface ModelState {
  readonly name: string;
  readonly endpoints: ReadonlySet<EndpointKind>;
  readonly acceptsImages: boolean;
  /** 0 if not given. */
  readonly contextTokens: number;
  /** 0 if not given. */
  readonly maxOutputTokens: number;
  readonly imageTokens: number;
  readonly outputLimitField: 'max_completion_tokens' | 'max_tokens';
  readonly allow: ReadonlySet<UnboundedFeature>;
  /** Whether streams show the tokens of the model's reasoning. */
  readonly reasoning: 'Auto' | 'Hidden' | 'Shown';
  /** The capabilities that the route states; undefined if it states none. */
  readonly capabilities: StatedCapabilities | undefined;
  /** Undefined: by the route's `allow` in a passthrough, and Drop in a conversion. */
  readonly providerTools: ProviderTools | undefined;
}

/** One way to serve a model for a group: a channel, at a price, under thresholds. */
export interface Candidate {
  /** The Direct group that serves the call: the key's own group, or a member of its Automatic group. */
  readonly group: string;
  readonly groupDisplayName: string;
  readonly model: ModelState;
  readonly upstreamModel: string;
  /** The provider's names of the channel's models, if they differ. */
  readonly renames: ReadonlyMap<string, string>;
  readonly target: UpstreamTarget;
  readonly priority: number;
  readonly weight: number;
  /** How the model's calls are divided among channels of equal priority. */
  readonly routing: 'Affinity' | 'Weighted';
  readonly retryAttempts: number;
  /** The failures after which another channel is tried. */
  readonly retryOn: ReadonlySet<RetryableVerdict>;
  readonly clientDisconnect: 'Cancel' | 'Drain';
  readonly onTimeout: 'BillNothing' | 'BillHold';
  /** Names and paths of request fields that are accepted although they can change the price. */
  readonly allowedFields: ReadonlySet<string>;
  /** The group's limits on this channel and the channel's own. */
  readonly limits: readonly CountLimit[];
  /** The price at the group's ratio; undefined: no price. */
  readonly price: CompiledPrice | undefined;
  /**
   * The price of another model on this channel, by the provider's name for it, because other models may serve parts of
   * a call. Undefined: it has no price.
   */
  readonly priceOf: (upstreamModel: string) => CompiledPrice | undefined;
  /** What the model costs the platform on this channel; undefined: unknown. */
  readonly cost: CompiledPrice | undefined;
  /** As priceOf, for the cost. */
  readonly costOf: (upstreamModel: string) => CompiledPrice | undefined;
}

/** A model as one group offers it. */
export interface Offer {
  readonly model: string;
  readonly vendor: string;
  /** "namespace/name@generation" of the catalog; undefined: not priced. */
  readonly catalog: string | undefined;
  readonly quotaType: 'Token' | 'Request' | undefined;
  /**
   * Ordered by member, then by priority. A later list is tried when all channels of an earlier one are full or failed.
   */
  readonly tiers: readonly (readonly Candidate[])[];
  /** Channels that serve the model and get no new calls for now. */
  readonly drained: readonly Candidate[];
  /** The union of all candidates' endpoints, those of drained channels included. */
  readonly endpoints: ReadonlySet<EndpointKind>;
}

export interface GroupState {
  readonly name: string;
  /** The name that users know. */
  readonly displayName: string;
  /** The names of an Automatic group's members, in order; empty for a Direct group. */
  readonly members: readonly string[];
  readonly offers: ReadonlyMap<string, Offer>;
}

export interface State {
  /** By SHA-256 of the key, 64 lower-case hex digits. */
  readonly credentials: ReadonlyMap<string, Credential>;
  readonly accounts: ReadonlyMap<string, AccountState>;
  readonly groups: ReadonlyMap<string, GroupState>;
  /** The public price page. */
  readonly pricing: { readonly groups: readonly PricingGroup[]; readonly rows: readonly PricingRow[] };
  /** All targets by id, so that the connection pools of removed ones can be closed. */
  readonly targets: ReadonlyMap<string, UpstreamTarget>;
  /** Undefined if the operator provides none; nothing is then sealed. */
  readonly sealingKeys: SealingKeys | undefined;
  /** The channels' own limits by target id. */
  readonly channelLimits: ReadonlyMap<string, readonly CountLimit[]>;
}
