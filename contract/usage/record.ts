/** The ledger's record of one call, for `GET /v1/usage/{id}`, for exports, and for holds that a reaper settles. */
import type { BillLine } from '#price/bill.ts';
import type { TokenCounts } from '#price/tokens.ts';

/**
 * Provider: the provider's final figures. Estimated: the provider reported none, and the gateway counted. Partial: the
 * call was cut short, and these are the figures until then. Implausible: the provider reported more than the request
 * allowed, so they are capped. Journals of an earlier version have the index in this list: append only.
 */
export const USAGE_SOURCES = ['Provider', 'Estimated', 'Partial', 'Implausible'] as const;
export type UsageSource = (typeof USAGE_SOURCES)[number];

/**
 * Running: not settled yet, or charged with the most that its job can cost. Abandoned: its process died, and a reaper
 * settled it at its last recorded progress. Refunded: it created a job that failed at the provider, and its cost was
 * refunded. Withheld: the ledger could not be reached for too long, so the gateway withheld the response or ended it,
 * and told the client that the call is billed. Journals of an earlier version have the index in this list: append only.
 */
export const CALL_STATUSES = [
  'Running',
  'Succeeded',
  'Failed',
  'ClientClosed',
  'ProviderCut',
  'Abandoned',
  'Refunded',
  'Withheld',
] as const;
export type CallStatus = (typeof CALL_STATUSES)[number];

/**
 * A word in a record that was read. Gateways of two versions share a store, and a newer one may have words that this one
 * does not know: they are shown as they are, and the call is billed as recorded.
 */
type Recorded<Word extends string> = Word | (string & Record<never, never>);
export type RecordedStatus = Recorded<CallStatus>;
export type RecordedUsageSource = Recorded<UsageSource>;

/** What a reaper would bill for a running call. */
export interface CallProgress {
  readonly costNanoUsd: bigint;
  readonly tokens: TokenCounts;
  readonly usageSource: RecordedUsageSource;
  /** The lines whose sum is the cost; absent: nothing was billed, or an older version wrote the record. */
  readonly lines?: readonly BillLine[];
  /**
   * What the call costs the platform on its channel, rounded half up. Never bounded by what is billed. Absent: the
   * channel states no cost, or an older version wrote the record.
   */
  readonly upstreamCostNanoUsd?: bigint;
}

/** The part of a call's record that is fixed at admission. */
export interface CallOrigin {
  readonly callId: string;
  readonly keyUid: string;
  /** "namespace/name" */
  readonly account: string;
  /** Admission, milliseconds since the epoch. */
  readonly createdMs: number;
  /** The Group that serves the call (an Automatic group's member). */
  readonly group: string;
  readonly model: string;
  /** "route/channel" */
  readonly channel: string;
  /** "namespace/name@generation" of the PriceCatalog whose price was in force. */
  readonly catalog: string;
  /** The session that the client named; absent: it named none, or an older version wrote the record. */
  readonly session?: string;
  /** The name of the ApiKey, whose namespace is the account's; absent: an older version wrote the record. */
  readonly keyName?: string;
  /** The usage labels as "name=value,name=value"; absent: there were none. */
  readonly labels?: string;
}

/**
 * One call's record. After settlement `costNanoUsd` is the amount billed, and the records of a key add up to its
 * spending. `unbilledNanoUsd` is the part of the cost that neither key nor account could pay.
 */
export interface UsageRecord extends CallOrigin, CallProgress {
  readonly status: RecordedStatus;
  readonly unbilledNanoUsd: bigint;
  readonly durationMs: number;
}
