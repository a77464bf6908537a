/** The ledger's record of one call, for `GET /v1/usage/{id}`, for exports, and for holds that a reaper settles. */

/** Tokens by price class. `input` excludes cached and written tokens, as in Anthropic's API. */
export interface TokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly output: number;
}

export const NO_TOKENS: TokenCounts = { input: 0, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };

/**
 * Provider: the provider's final figures. Estimated: the provider reported none, and the gateway counted. Partial: the
 * call was cut short, and these are the figures until then. Implausible: the provider reported more than the request
 * allowed, so they are capped. The journal stores the index in this list: append only.
 */
export const USAGE_SOURCES = ['Provider', 'Estimated', 'Partial', 'Implausible'] as const;
export type UsageSource = (typeof USAGE_SOURCES)[number];

/**
 * Running: not settled yet, or charged with the most that its job can cost. Abandoned: its process died, and a reaper
 * settled it at its last recorded progress. Refunded: it created a job that failed at the provider, and its cost was
 * refunded. Withheld: the ledger could not be reached for too long, so the gateway withheld the response or ended it,
 * and told the client that the call is billed. The journal stores the index in this list: append only.
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

/** One dimension of a bill. The sum of all lines' quantity · rate, rounded half up, is the cost. */
export interface BillLine {
  /** A class of tokens as in a PriceCatalog, `generation`, `second`, or a tool that the provider ran. */
  readonly dimension: string;
  readonly quantity: number;
  /** What the group pays in USD per million tokens, or per unit of anything else: an exact decimal. */
  readonly rateUsd: string;
  /** Absent: the standard tier. */
  readonly serviceTier?: string;
  /** The threshold of the context tier in tokens; absent: the request reached no context tier. */
  readonly above?: number;
  /** The region, if it has a price of its own. */
  readonly region?: string;
  /** The model, if it is not the call's own. */
  readonly model?: string;
  /** Of what was generated, where they are known and its price depends on them. */
  readonly size?: string;
  readonly quality?: string;
}

/** What a reaper would bill for a running call. */
export interface CallProgress {
  readonly costNanoUsd: bigint;
  readonly tokens: TokenCounts;
  readonly usageSource: UsageSource;
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
  readonly status: CallStatus;
  readonly unbilledNanoUsd: bigint;
  readonly durationMs: number;
}
