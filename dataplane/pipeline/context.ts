/**
 * What a call knows at each stage. Each type adds to the one before it:
 *   Received → Authenticated → Routed → Admitted → Forwarded → (Ending) → Settled
 * A stage takes one and returns the next, so that the compiler holds the order.
 */
import type { Ledger } from '../ledger/ledger.ts';
import type { CompiledPrice } from '../ledger/price.ts';
import type { LeaseKeeper } from '../ledger/lease.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import type { AnswerNotes, Converter, Meter } from '../protocol/converter.ts';
import type { CurrentState } from '../state/current.ts';
import type { Candidate, EndpointKind, KeyState, Offer } from '../state/state.ts';
import type { AttemptReport, CallTelemetry, EndpointName } from '../telemetry/call-report.ts';
import type { UpstreamResponse, Upstreams } from '../upstream/upstream.ts';
import type { GatewayError } from '../errors.ts';
import type { RequestBody } from './request-body.ts';

export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  nowMs(): number;
  /** Never goes back; for durations. */
  monotonicMs(): number;
}

export interface RouteWarning {
  readonly route: string;
  readonly channel: string;
  readonly status: number;
}

/** Calls that were admitted, until they are settled, by request id. It keeps nothing of those that have left, which a Set does. */
export interface RunningCalls {
  get(requestId: string): CallRecord | undefined;
  set(requestId: string, record: CallRecord): void;
  delete(requestId: string): void;
  values(): Iterable<CallRecord>;
}

/** What the pipeline works with; the wiring makes it once. */
export interface PipelineDeps {
  readonly state: Pick<CurrentState, 'get' | 'credential' | 'generation'>;
  readonly ledger: Ledger;
  readonly leases: LeaseKeeper;
  readonly running: RunningCalls;
  readonly upstreams: Upstreams;
  readonly telemetry: CallTelemetry;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** The work's result, or LedgerUnavailable once so much time has passed; the work itself goes on. */
  readonly withTimeout: <T>(ms: number, work: Promise<T>) => Promise<T>;
  /** A provider refused the gateway's credential or model name: the ModelRoute's owner must hear of it. */
  readonly warn: (warning: RouteWarning) => void;
  /** A defect: an error that no stage meant to throw. */
  readonly defect: (requestId: string, error: unknown) => void;
}

/** The way back to the client. Once started, an answer is only written to and ended. Nothing here throws: a client that is gone reads nothing. */
export interface ClientReply {
  readonly started: boolean;
  /** The client is gone: nothing written reaches anybody. */
  readonly gone: boolean;
  /** Aborted when the client leaves before the answer's end. */
  readonly left: AbortSignal;
  send(status: number, headers: Readonly<Record<string, string>>, body: Uint8Array): void;
  start(status: number, headers: Readonly<Record<string, string>>): void;
  /** Undefined: more may be written now, or the client is gone; else it resolves when either is so. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  end(last: Uint8Array): void;
  /** In the dialect of the path: as a whole answer, as a stream's error event, or by breaking off an answer that has no room for one. Returns the HTTP status that the client saw. */
  fail(error: GatewayError): number;
}

/** What a request asks for, as its endpoint reads it. */
export interface EndpointCall {
  readonly kind: EndpointKind;
  readonly model: string;
  readonly stream: boolean;
  /** Throws where this model may not be asked this: images, unbounded features. */
  check(candidate: Candidate): void;
  /** Input tokens at most, on this model. */
  boundInput(candidate: Candidate): number;
  /** Input tokens, for a provider that does not say. */
  estimateInput(candidate: Candidate): number;
  /** Undefined: the endpoint has no output tokens. */
  readonly output: OutputWish | undefined;
  /** Images, videos or answers: what a per-request price is multiplied by. */
  readonly generations: number;
  readonly oneHourCache: boolean;
  readonly wantsStreamUsage: boolean;
  /** Undefined: a channel of this protocol cannot serve this endpoint. */
  converter(candidate: Candidate): Converter | undefined;
  /** What is told where no channel of the model can; absent: that there is no such model. */
  unservable?(): GatewayError;
}

export interface OutputWish {
  /** Per answer; undefined: the client named none. */
  readonly maxTokens: number | undefined;
  readonly answers: number;
  readonly predictionTokens: number;
  readonly thinkingBudget: number | undefined;
  /** Tools or an output schema: never lowered. */
  readonly fixed: boolean;
}

export interface Received {
  readonly requestId: string;
  readonly createdMs: number;
  /** By the monotonic clock. */
  readonly arrivedAt: number;
  readonly endpoint: EndpointName;
  readonly dialect: Dialect;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: RequestBody;
  /** How this endpoint's body is read. */
  readonly read: (received: Received) => EndpointCall;
  readonly reply: ClientReply;
}

export interface Authenticated extends Received {
  /** SHA-256 of the key as it came, to find its newest state again. */
  readonly keyHash: string;
  readonly key: KeyState;
}

export interface Routed extends Authenticated {
  readonly call: EndpointCall;
  readonly offer: Offer;
  /** In the order in which they are tried. */
  readonly candidates: readonly Candidate[];
}

/** The bounds of one call on one candidate. */
export interface CallBounds {
  readonly price: CompiledPrice;
  readonly inputTokens: number;
  readonly estimatedInputTokens: number;
  /** Per answer, at most what the model allows; 0: the endpoint has no output tokens. */
  readonly outputTokens: number;
  readonly amountNanoUsd: bigint;
  /** Below amount only where the output limit may be lowered. */
  readonly minimumNanoUsd: bigint;
}

export interface Admitted extends Routed {
  readonly candidate: Candidate;
  readonly bounds: CallBounds;
  /** The output limit that is sent, per answer. */
  readonly outputLimit: number;
  /** It is lower than the call's own for want of money: the answer says so. */
  readonly lowered: boolean;
}

export interface Forwarded extends Admitted {
  readonly converter: Converter;
  /** From the request's conversion to the answer's. */
  readonly notes: AnswerNotes | undefined;
  /** The provider's. Of a stream the first piece was waited for, so that a failure before it could still be retried. */
  readonly response: UpstreamResponse;
}

/** How a call ends, before it is settled and the rest is told. */
export type Ending =
  /** An answer that is not a stream, whole; what it cost is added to its headers. Failed: it says so itself, and costs nothing. */
  | { readonly kind: 'Whole'; readonly status: number; readonly headers: Record<string, string>; readonly body: Uint8Array; readonly failed?: boolean }
  /** A stream, or an answer too large to hold: everything but `last` is sent. */
  | { readonly kind: 'Streamed'; readonly last: Uint8Array }
  /** The provider ended its stream with an error of its own; `last` is that, in the client's dialect. */
  | { readonly kind: 'ProviderFailed'; readonly last: Uint8Array; readonly error: GatewayError }
  | { readonly kind: 'Error'; readonly error: GatewayError }
  | { readonly kind: 'ClientGone' };

/**
 * What must be known of a call in the end, however it ends. The stages fill it in as they go; settle and the report read it.
 */
export interface CallRecord {
  readonly requestId: string;
  /** Of the configuration in force when it came in. */
  readonly generation: number;
  readonly attempts: AttemptReport[];
  authenticated: Authenticated | undefined;
  routed: Routed | undefined;
  /** The latest admission: money is held, slots are taken. */
  admitted: Admitted | undefined;
  /** Its hold is being renewed, and its client watched. */
  watched: boolean;
  /** The latest request has left for its provider, which has neither refused nor failed it. */
  sent: boolean;
  /** What the answer has shown so far. */
  meter: Meter | undefined;
  /** Output reached us: a failure from here on is billed. */
  produced: boolean;
  /** The call made a job that goes on: recorded with its charge. */
  jobId: string | undefined;
  /** Aborts the exchange with the provider. */
  readonly abort: AbortController;
  /** The hold could not be renewed: the ledger may have given it away. */
  lost: boolean;
  firstByteAt: number | undefined;
}
