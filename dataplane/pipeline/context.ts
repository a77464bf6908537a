/**
 * What the pipeline knows of a call after each stage. Each type contains the one before it:
 *   Received → Authenticated → Routed → Admitted → Forwarded → CallOutcome → SettledOutcome
 * A stage takes one and returns the next, so the compiler keeps the order.
 */
import type { Clock } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Made } from '../ledger/generation-price.ts';
import type { ConsumptionBounds, Modality, Uses } from '../ledger/price.ts';
import type { CompiledPrice } from '../ledger/price-sheet.ts';
import type { LeaseKeeper } from '../ledger/lease.ts';
import type { AffinityFacts } from '../protocol/affinity-facts.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import type { ConversionNotes, Converter, Meter, StreamConverter } from '../protocol/converter.ts';
import type { CurrentState } from '../state/current.ts';
import type { Candidate, EndpointKind, GroupState, KeyState, Offer } from '../state/state.ts';
import type { AttemptReport, CallTelemetry, EndpointName } from '../telemetry/call-report.ts';
import type { UpstreamResponse, Upstreams } from '../upstream/upstream.ts';
import type { GatewayError } from '../errors.ts';
import type { RequestBody } from './request-body.ts';

export interface RouteWarning {
  readonly route: string;
  readonly channel: string;
  /** HTTP status of the provider; 0: it cannot be reached. */
  readonly status: number;
  /** The error code of a provider that cannot be reached, such as ENOTFOUND. */
  readonly connectError?: string;
}

/** Calls that were admitted and are not settled yet, by request id. */
export interface RunningCalls {
  get(requestId: string): CallRecord | undefined;
  set(requestId: string, record: CallRecord): void;
  delete(requestId: string): void;
  values(): Iterable<CallRecord>;
}

/** The pipeline's dependencies. main.ts creates them once. */
export interface PipelineDeps {
  readonly state: Pick<CurrentState, 'get' | 'credential' | 'generation'>;
  readonly ledger: Ledger;
  readonly leases: LeaseKeeper;
  readonly running: RunningCalls;
  readonly upstreams: Upstreams;
  readonly telemetry: CallTelemetry;
  /** Counts tokens of texts. Never rejects. */
  readonly tokenizer: { count(key: string, texts: readonly string[]): Promise<number> };
  readonly clock: Clock;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Rejects with LedgerUnavailable after `ms` milliseconds; the work itself goes on. */
  readonly withTimeout: <T>(ms: number, work: Promise<T>) => Promise<T>;
  /** Warns the ModelRoute's owner that a provider refused the credential or model name, or cannot be reached. */
  readonly warn: (warning: RouteWarning) => void;
  /** The console's address without a path, for links in refusals; undefined: it is not known. */
  readonly consoleUrl?: (() => string | undefined) | undefined;
  /** Reports an error that no stage throws on purpose. */
  readonly defect: (requestId: string, error: unknown) => void;
}

/**
 * The response to the client. Once started, it can only be written to and ended. Nothing here throws: bytes for a
 * client that has disconnected are dropped.
 */
export interface ClientReply {
  readonly started: boolean;
  /** The client has disconnected. */
  readonly gone: boolean;
  /** Aborted when the client disconnects before the response's end. */
  readonly left: AbortSignal;
  send(status: number, headers: Readonly<Record<string, string>>, body: Uint8Array): void;
  start(status: number, headers: Readonly<Record<string, string>>): void;
  /** Undefined: the caller may write on. Otherwise resolves when it may, or when the client has disconnected. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  end(last: Uint8Array): void;
  /**
   * Sends an error in the dialect of the path: as a whole response, as a stream's error event, or by closing the
   * connection of a started response that is not a stream. Returns the HTTP status that the client saw.
   */
  fail(error: GatewayError): number;
}

/** What a request asks for, as its endpoint parses it. */
export interface EndpointCall {
  readonly kind: EndpointKind;
  readonly model: string;
  readonly stream: boolean;
  /** Throws GatewayError where the model does not allow this request: images, features without a price bound. */
  check(candidate: Candidate): void;
  /** Upper bound of the input tokens on this model. */
  boundInput(candidate: Candidate): number;
  /** Likely input tokens, for a provider that reports none. */
  estimateInput(candidate: Candidate): number;
  /** Undefined: the endpoint has no output tokens. */
  readonly output: OutputRequest | undefined;
  /** Images, videos or answers: a price per request is multiplied by it. */
  readonly generations: number;
  /** What it says of them, by which they may be priced. */
  readonly made?: Made | undefined;
  readonly oneHourCache: boolean;
  /** The service tier that it asks for, `standard` among them; undefined: whichever the provider chooses. */
  readonly serviceTier?: string | undefined;
  /** The place that it asks for; undefined: none. */
  readonly region?: string | undefined;
  /** How often it lets the provider's tools be used at most, as far as it says so. */
  uses?(candidate: Candidate): Uses;
  /** Absent: its input and output are text. */
  readonly modalities?: readonly Modality[];
  /** It asks the model to reason. */
  readonly asksForReasoning: boolean;
  /** It uses something whose price has no bound, which the candidate's model allows. */
  unbounded(candidate: Candidate): boolean;
  readonly wantsStreamUsage: boolean;
  /** What the request says about its conversation; absent: it belongs to none. */
  readonly affinity?: AffinityFacts;
  /** Undefined: a channel of this protocol cannot serve this endpoint. */
  converter(candidate: Candidate): Converter | undefined;
  /** The error where no channel of the model can serve the endpoint; absent: model_not_found. */
  unservable?(): GatewayError;
}

/** The request's output parameters. */
export interface OutputRequest {
  /** Per answer; undefined: the client set none. */
  readonly maxTokens: number | undefined;
  readonly answers: number;
  readonly predictionTokens: number;
  readonly thinkingBudget: number | undefined;
  /** Tools or an output schema: the limit is never lowered. */
  readonly fixed: boolean;
}

export interface Received {
  readonly requestId: string;
  readonly createdMs: number;
  /** By the monotonic clock, in milliseconds. */
  readonly arrivedAt: number;
  readonly endpoint: EndpointName;
  readonly dialect: Dialect;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: RequestBody;
  /** Parses the body of this endpoint. */
  readonly read: (received: Received) => Promise<EndpointCall>;
  readonly reply: ClientReply;
}

export interface Authenticated {
  readonly received: Received;
  /** SHA-256 of the key as it was sent, by which its newest state is found. */
  readonly keyHash: string;
  readonly key: KeyState;
}

export interface Routed extends Authenticated {
  readonly call: EndpointCall;
  /** The key's. */
  readonly group: Pick<GroupState, 'name' | 'displayName'>;
  readonly offer: Offer;
  /** In the order in which they are tried. */
  readonly candidates: readonly Candidate[];
}

/** What one call can consume and cost at most on one candidate. */
export interface CallBounds {
  readonly price: CompiledPrice;
  /** What the request can cause, by which the dearest classes and tiers are found. */
  readonly reach: Pick<
    ConsumptionBounds, 'oneHourCache' | 'serviceTiers' | 'regions' | 'modalities' | 'requests' | 'uses'
  >;
  /** Input of one of the requests that the provider may make of the call. */
  readonly requestTokens: number;
  readonly inputTokens: number;
  readonly estimatedInputTokens: number;
  /** Per answer, at most what the model allows; 0: the endpoint has no output tokens. */
  readonly outputTokens: number;
  readonly amountNanoUsd: bigint;
  /** Below amountNanoUsd only where the output limit may be lowered. */
  readonly minimumNanoUsd: bigint;
}

/** Money is held and slots are taken for this candidate. */
export interface Admitted {
  readonly routed: Routed;
  readonly candidate: Candidate;
  readonly bounds: CallBounds;
  /** The output limit that is sent to the provider, per answer. */
  readonly outputLimit: number;
  /** The limit is lower than the request's own for lack of money, which the response says. */
  readonly lowered: boolean;
}

export interface Forwarded {
  readonly admitted: Admitted;
  readonly converter: Converter;
  /** What the request's conversion tells the response's conversion. */
  readonly notes: ConversionNotes | undefined;
  /** Paths of request fields that the model does not take; undefined: none. */
  readonly dropped: readonly string[] | undefined;
  /** The provider's response. The first piece of a stream has arrived, because a failure before it can be retried. */
  readonly response: UpstreamResponse;
}

/** How a call ended. It is settled and the rest of the response is sent afterwards. */
export type CallOutcome =
  /**
   * A whole response that is still to be sent, with its cost in the headers. `failed`: it reports a failed job, which
   * is free.
   */
  | {
    readonly kind: 'Buffered'; readonly status: number; readonly headers: Record<string, string>;
    readonly body: Uint8Array; readonly failed: boolean;
  }
  /** A stream, or a response too large to buffer: everything but `last` is sent. */
  | { readonly kind: 'Streamed'; readonly last: Uint8Array }
  /** The provider ended its stream with an error of its own; `last` is that error in the client's dialect. */
  | { readonly kind: 'ProviderFailed'; readonly last: Uint8Array; readonly error: GatewayError }
  | { readonly kind: 'Error'; readonly error: GatewayError }
  | { readonly kind: 'ClientGone' };

/** The mutable state of a call. The stages fill it in; settle and report read it however the call ends. */
export interface CallRecord {
  readonly received: Received;
  /** The generation of the configuration in force when the call arrived. */
  readonly generation: number;
  readonly attempts: AttemptReport[];
  authenticated: Authenticated | undefined;
  routed: Routed | undefined;
  /** The latest admission: money is held, slots are taken. */
  admitted: Admitted | undefined;
  /** The lease keeper renews the call's hold. */
  leased: boolean;
  /** The latest attempt's request was sent, and its provider has neither refused it nor failed. */
  sent: boolean;
  /** Usage seen in the response so far. */
  meter: Meter | undefined;
  /** The provider produced output, so that a later failure is billed. */
  produced: boolean;
  /** Writes an error as the event that ends the stream; undefined: as the dialect's error event. */
  writeFailure: StreamConverter['fail'];
  /** The job that the call created; it outlives the call. */
  jobId: string | undefined;
  /** Aborts the exchange with the provider. */
  readonly abort: AbortController;
  /** The hold could not be renewed: the ledger may have released it. */
  holdLost: boolean;
  /** The latest attempt's provider did not answer in time, or fell silent within its answer. */
  timedOut: boolean;
  /** Tokens of the text of a call whose client has left, by a tokenizer; undefined: not counted. */
  countedOutput: number | undefined;
  firstByteAt: number | undefined;
}
