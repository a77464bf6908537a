/**
 * The configuration as requests use it: a snapshot compiled to lookup maps, so that a call costs a few map reads.
 * Types only; compile.ts makes it, current.ts holds the one in force.
 */
import type { CompiledPrice } from '../ledger/price-sheet.ts';
import type { QuotaPeriod, SlotLimit } from '../ledger/ledger.ts';
import type { ProviderTools, UnboundedFeature } from '../protocol/call-facts.ts';
import type { StatedCapabilities } from '../protocol/capabilities.ts';
import type { SealingKeys } from '../sealing/sealing-keys.ts';
import type { UpstreamTarget } from '../upstream/upstream.ts';
import type { PricingGroup, PricingRow } from '#web/pricing/price-list.ts';

export type EndpointKind = 'Chat' | 'Embeddings' | 'Images' | 'Videos';

/** A key as its holder may use it. */
export interface KeyState {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly prefix: string;
  readonly generation: bigint;
  readonly enabled: boolean;
  /** Not empty: the ApiKey is not Accepted, and why. */
  readonly refusal: string;
  readonly expirationMs: number | undefined;
  readonly group: string;
  /** "namespace/name" */
  readonly account: string;
  /** null: Unlimited. */
  readonly limitNanoUsd: bigint | null;
  readonly period: QuotaPeriod;
  readonly whenShort: 'Lower' | 'Refuse';
  /** The lowest output limit that Lower sends, in tokens. */
  readonly minOutputTokens: number;
  /** Undefined: all of the group's. */
  readonly models: ReadonlySet<string> | undefined;
  /** The key's own threshold, if it has one. */
  readonly slot: SlotLimit | undefined;
}

/** One string that opens a key; a rotated key has two for a while. */
export interface Credential {
  readonly key: KeyState;
  readonly notAfterMs: number | undefined;
}

export interface AccountState {
  readonly id: string;
  readonly generation: bigint;
  readonly creditNanoUsd: bigint;
}

export interface ModelState {
  readonly name: string;
  readonly endpoints: ReadonlySet<EndpointKind>;
  readonly acceptsImages: boolean;
  /** 0: not given. */
  readonly contextTokens: number;
  /** 0: not given. */
  readonly maxOutputTokens: number;
  readonly imageTokens: number;
  readonly outputLimitField: 'max_completion_tokens' | 'max_tokens';
  readonly allow: ReadonlySet<UnboundedFeature>;
  /** Whether streams show the tokens of the model's reasoning. */
  readonly reasoning: 'Auto' | 'Hidden' | 'Shown';
  /** As the route states them; undefined: it states none. */
  readonly capabilities: StatedCapabilities | undefined;
  /** Undefined: as the route's `allow` says where a call passes through, and Drop where it is converted. */
  readonly providerTools: ProviderTools | undefined;
}

/** One way to serve a model for a group: a channel, at a price, under thresholds. */
export interface Candidate {
  /** The Direct group that serves it: an Automatic group's member, or the key's own group. */
  readonly group: string;
  readonly groupDisplayName: string;
  readonly route: string;
  readonly model: ModelState;
  readonly upstreamModel: string;
  /** The provider's names of the channel's models, where they differ. */
  readonly renames: ReadonlyMap<string, string>;
  readonly target: UpstreamTarget;
  readonly priority: number;
  readonly weight: number;
  /** How the calls of its model are shared among channels of its priority. */
  readonly routing: 'Affinity' | 'Weighted';
  readonly retryAttempts: number;
  readonly clientDisconnect: 'Cancel' | 'Drain';
  readonly onTimeout: 'BillNothing' | 'BillHold';
  /** Names and paths of request fields that pass although they can change the price. */
  readonly allowedFields: ReadonlySet<string>;
  /** The group's on this channel and the channel's own, as far as they are set. */
  readonly slots: readonly SlotLimit[];
  /** At the group's ratio; undefined: no price. */
  readonly price: CompiledPrice | undefined;
  /**
   * The price of another model on this channel, by the provider's name of it: a call may have parts that other models
   * serve. Undefined: it has none.
   */
  readonly priceOf: (upstreamModel: string) => CompiledPrice | undefined;
}

/** A model as one group offers it. */
export interface Offer {
  readonly model: string;
  readonly vendor: string;
  /** "namespace/name@generation" of the catalog; undefined: not priced. */
  readonly catalog: string | undefined;
  readonly quotaType: 'Token' | 'Request' | undefined;
  /** By member in order, then by priority: a later list is tried when all of an earlier one are full or failed. */
  readonly tiers: readonly (readonly Candidate[])[];
  /** All tiers' endpoints. */
  readonly endpoints: ReadonlySet<EndpointKind>;
}

export interface GroupState {
  readonly name: string;
  /** The name that users know. */
  readonly displayName: string;
  /** Names of an Automatic group's members, in order; a Direct group has none. */
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
  /** All targets by id, so that upstream pools of vanished ones can be closed. */
  readonly targets: ReadonlyMap<string, UpstreamTarget>;
  /** Undefined: the operator gives none, and nothing is sealed. */
  readonly sealingKeys: SealingKeys | undefined;
  /** Channels' own thresholds by the same ids, as far as they are set. */
  readonly channelSlots: ReadonlyMap<string, SlotLimit>;
}
