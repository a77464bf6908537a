/**
 * What the pipeline knows about a call after each stage. Each type contains the previous one:
 *   Received → Authenticated → Routed → Admitted → Forwarded → CallOutcome → SettledOutcome
 * A stage takes one type and returns the next, so that the compiler enforces the order.
 */
import type { HeldBytes, MemoryBudget, MemoryOwner } from '../memory-budget.ts';
import type { BodyWorker } from '../body-worker/body-worker.ts';
import type { Clock } from '../clock.ts';
import type { ConversationLimits, Ledger, LimitState } from '../ledger/ledger.ts';
import type { GenerationAttributes } from '#price/generation.ts';
import type { ConsumptionBounds, Modality, Uses } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { KeptResponses } from '../kept/kept-responses.ts';
import type { LeaseKeeper } from '../ledger/lease.ts';
import type { BatchEndpoint } from '../protocol/batches/requests.ts';
import type { AffinityFacts } from '../protocol/affinity-facts.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import type {
  ConversionNotes,
  ConvertedJob,
  ConvertedResponse,
  Converter,
  Meter,
  StreamConverter,
  StreamEnd,
} from '../protocol/converter.ts';
import type { PingForm } from '../protocol/pings.ts';
import type { CurrentState } from '../state/current.ts';
import type { Candidate, EndpointKind, GroupState, KeyState, Offer } from '../state/state.ts';
import type { AttemptReport, CallTelemetry, EndpointName } from '../telemetry/call-report.ts';
import type { UpstreamResponse, Upstreams } from '../upstream/upstream.ts';
import type { CallProgress } from '#usage/record.ts';
import type { GatewayError } from '../errors.ts';
import type { RefusingChannels } from './refusing-channels.ts';
import type { RequestBody } from './request-body.ts';

export interface RouteWarning {
  readonly route: string;
  readonly channel: string;
  /** The provider's HTTP status; 0 if it cannot be reached, 200 if it reports usage that calls cannot have. */
  readonly status: number;
  /** The error code of a provider that cannot be reached, such as ENOTFOUND. */
  readonly connectError?: string;
  /** The provider accepts the credential again, which it had refused. */
  readonly recovered?: true;
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
  readonly refusing: RefusingChannels;
  readonly telemetry: CallTelemetry;
  /** Counts tokens of texts. Never rejects. */
  readonly tokenizer: { count(key: string, texts: readonly string[]): Promise<number> };
  /** Reads large bodies of requests, and large responses and events whose values are sealed. */
  readonly bodyWorker: Pick<BodyWorker, 'run'>;
  /** Counts what polled responses make the process hold. */
  readonly memory: Pick<MemoryBudget, 'take' | 'giveBack'>;
  readonly clock: Clock;
  /** The most jobs of one key that may run at a time: videos, background responses and batches. */
  readonly maxRunningJobs: number;
  /** What the conversations of one account may be together. */
  readonly conversationLimits: ConversationLimits;
  /** Keeps conversations, and responses of providers that keep none; absent: nothing is kept. */
  readonly kept?: KeptResponses | undefined;
  /** A stream without a byte for this long gets a ping; 0: never. */
  readonly pingAfterMs: number;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Rejects with LedgerUnavailable after `ms` milliseconds, while the work itself continues. */
  readonly withTimeout: <T>(ms: number, work: Promise<T>) => Promise<T>;
  /** Warns the ModelRoute's owner that a provider refused the credential or model name, or cannot be reached. */
  readonly warn: (warning: RouteWarning) => void;
  /** The console's URL without a path, for links in refusals; undefined if it is unknown. */
  readonly consoleUrl?: (() => string | undefined) | undefined;
  /** Reports that a response could not be kept, although it says so. */
  readonly unkept: (requestId: string, error: unknown) => void;
  /** Reports that a turn could not be added to its conversation, which has a gap. */
  readonly lostTurn: (requestId: string, conversation: string, error: unknown) => void;
  /** Reports an unexpected error, which no stage throws on purpose. */
  readonly defect: (requestId: string, error: unknown) => void;
}

/** True if the call is to create a job, which goes on after it. */
export function createsJob({ kind, background }: Pick<EndpointCall, 'kind' | 'background'>): boolean {
  return kind === 'Videos' || background === true;
}

/**
 * The response to the client. Once started, it can only be written to and ended. No method throws: bytes for a client
 * that has disconnected are dropped.
 */
export interface ClientReply {
  readonly started: boolean;
  /** True if the client has disconnected. */
  readonly gone: boolean;
  /** Aborts when the client disconnects before the response's end. */
  readonly left: AbortSignal;
  send(status: number, headers: Readonly<Record<string, string>>, body: Uint8Array): void;
  start(status: number, headers: Readonly<Record<string, string>>): void;
  /**
   * Returns undefined if the caller may write more at once. Otherwise resolves when it may, or when the client
   * disconnects.
   */
  write(bytes: Uint8Array): Promise<void> | undefined;
  end(last: Uint8Array): void;
  /**
   * Sends an error: as a whole response in the client's dialect, as an error event in its stream's, or by closing the
   * connection of a started response that is not a stream. Returns the HTTP status that the client saw.
   */
  fail(error: GatewayError): number;
}

export interface PingOptions {
  readonly afterMs: number;
  /** The headers of a response that begins with a ping; undefined: it must not. */
  readonly headers: () => Readonly<Record<string, string>> | undefined;
  /** `begun`: something else than pings was sent. */
  readonly ping: (begun: boolean) => Uint8Array;
}

/** What a request asks for, as its endpoint parses it. */
export interface EndpointCall {
  readonly kind: EndpointKind;
  readonly model: string;
  readonly stream: boolean;
  /**
   * Throws GatewayError if the model does not allow what the request asks for, such as images or features without a
   * price bound.
   */
  check(candidate: Candidate): void;
  /** An upper bound of the input tokens on this model. */
  boundInput(candidate: Candidate): number;
  /** The likely number of input tokens, for a provider that reports none. */
  estimateInput(candidate: Candidate): number;
  /** Undefined: the endpoint has no output tokens. */
  readonly output: OutputRequest | undefined;
  /** The number of images, videos or choices, by which a price per request is multiplied. */
  readonly generations: number;
  /** What it says of them, by which they may be priced. */
  readonly made?: GenerationAttributes | undefined;
  readonly oneHourCache: boolean;
  /** The service tier that the request asks for, such as `standard`; undefined if the provider chooses. */
  readonly serviceTier?: string | undefined;
  /** The region that the request asks for; undefined if it names none. */
  readonly region?: string | undefined;
  /** The limits that the request sets on uses of the provider's tools. */
  uses(candidate: Candidate): Uses;
  /** Modalities besides text. Absent: input and output are text only. */
  readonly modalities?: readonly Modality[];
  /** True if the request asks the model to reason. */
  readonly asksForReasoning: boolean;
  /** True if the provider goes on with the response after the call, which is billed at its end. */
  readonly background?: boolean;
  /** The service tier that serves it, whatever its response names. Absent: any that the request may get. */
  readonly onlyTier?: string;
  /** Of a batch: the endpoint of its requests. */
  readonly batchOf?: BatchEndpoint;
  /** Of a batch: the most that one of its requests can consume, and what they cost together. */
  readonly together?: CallBounds;
  /** Of a batch for several models: each of them, by which its requests are billed. Absent: it is for one. */
  readonly models?: readonly BatchModel[];
  /** True if the request uses something without a price bound that the candidate's model allows. */
  unbounded(candidate: Candidate): boolean;
  readonly wantsStreamUsage: boolean;
  /** What is taken for what was made where the response does not name it. Absent: what was asked for. */
  readonly likely?: GenerationAttributes | undefined;
  /** The content type of its stream; absent: server-sent events. */
  readonly streamType?: string | undefined;
  /** It asks for a stream of bytes, such as audio, rather than of events. */
  readonly streamsBytes?: boolean;
  /** Content types of whole responses, besides JSON, that the provider may send in place of a stream. Absent: none. */
  readonly wholeTypes?: RegExp;
  /** The form of its stream's pings; absent: the dialect's. */
  readonly pingForm?: PingForm;
  /** The field with the first image of the input; absent: it has none. */
  readonly imageParam?: string | undefined;
  /** Whether images may come into what the provider keeps of the call: by its input, or by tools, files and prompts. */
  readonly bringsImages?: boolean;
  /** What identifies the request's conversation; absent if it belongs to none. */
  readonly affinity?: AffinityFacts;
  /** Returns undefined if a channel of this protocol cannot serve this endpoint. */
  converter(candidate: Candidate): Converter | undefined;
  /** Whether a channel can serve it without a converter. Absent: none can. */
  serves?(candidate: Candidate): boolean;
  /**
   * The field that names something which one provider account keeps, without naming the account. The model must then
   * have one channel that can serve the call. Absent: the request has no such field.
   */
  readonly accountBoundField?: string;
  /** The id of the response, kept by the gateway, whose items come before the request's own. */
  readonly continues?: string | undefined;
  /** The id of the conversation, kept by the gateway, that the call is a turn of. */
  readonly conversation?: string | undefined;
  /** True if the gateway may keep the response, where it writes it itself. */
  readonly mayBeKept?: boolean;
  /** True if a provider may lack the endpoint: the 404 of one that does says nothing of its credential or model. */
  readonly optional?: boolean;
  /** The error if no channel of the model can serve the endpoint; undefined: model_not_found. */
  unservable(candidates: readonly Candidate[]): GatewayError | undefined;
}

/** A model of a batch, as its channel serves it, and the most that one of its requests can consume. */
export interface BatchModel {
  readonly candidate: Candidate;
  readonly bounds: CallBounds;
  readonly oneHourCache: boolean;
  readonly asksForReasoning: boolean;
  readonly modalities: readonly Modality[];
}

/** The request's output parameters. */
export interface OutputRequest {
  /** The limit per choice; undefined if the client set none. */
  readonly maxTokens: number | undefined;
  readonly answers: number;
  readonly predictionTokens: number;
  readonly thinkingBudget: number | undefined;
  /** True if the request has tools or an output schema, so that its limit must not be lowered. */
  readonly fixed: boolean;
  /** The lowest limit that can be sent to the candidate. Absent: any. */
  leastTokens?(candidate: Candidate): number;
}

/** The output of a request that has no field for its limit: each answer is held at the model's own limit. */
export function outputOfModelLimit(answers: number): OutputRequest {
  return { maxTokens: undefined, answers, predictionTokens: 0, thinkingBudget: undefined, fixed: true };
}

export interface Received {
  readonly requestId: string;
  readonly createdMs: number;
  /** In milliseconds of the monotonic clock. */
  readonly arrivedAt: number;
  readonly endpoint: EndpointName;
  readonly dialect: Dialect;
  /** Of an error before the response has begun, and of the headers that tell limits. */
  readonly errorDialect: Dialect;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** SHA-256 of the key as it was sent, in hexadecimal. */
  readonly keyHash: string;
  readonly body: RequestBody;
  /** Parses the body as this endpoint requires. */
  readonly read: (received: Received) => Promise<EndpointCall>;
  readonly reply: ClientReply;
  /** Sets how many bytes the response holds of its owner's memory, until the client has it. Throws GatewayError. */
  readonly hold: (bytes: number, owner: MemoryOwner) => void;
}

/** Who sent a request. */
export interface Caller {
  /** SHA-256 of the key as it was sent, in hexadecimal. It identifies the key in later configurations. */
  readonly keyHash: string;
  readonly key: KeyState;
}

export interface Authenticated extends Caller {
  readonly received: Received;
}

export interface Routed extends Authenticated {
  readonly call: EndpointCall;
  /** The key's group, which may be an Automatic group. */
  readonly group: Pick<GroupState, 'name' | 'displayName'>;
  readonly offer: Offer;
  /** In the order in which they are tried. */
  readonly candidates: readonly Candidate[];
  /** Whether what the provider keeps, and the call continues, may contain images. */
  readonly continuesImages?: boolean;
  /** The id of the response whose items now are a part of the body; absent: none. */
  readonly continues?: string | undefined;
  /** The conversation whose items now are a part of the body; absent: none. */
  readonly turn?: ConversationTurn | undefined;
}

/** A call's part in a conversation that the gateway keeps. */
export interface ConversationTurn {
  readonly id: string;
  /** The input of the request itself: an array of items, as JSON. */
  readonly own: Uint8Array;
  /** The memory that reading the conversation takes, by its size in the store. */
  readonly readingBytes: number;
}

/** The most that one call can consume and cost on one candidate. */
export interface CallBounds {
  readonly price: CompiledPrice;
  /** What the request can cause; it determines the dearest classes and tiers. */
  readonly reach: Pick<
    ConsumptionBounds,
    'oneHourCache' | 'serviceTiers' | 'regions' | 'modalities' | 'requests' | 'uses'
  >;
  /** The input of one of the requests that the provider may make for the call. */
  readonly requestTokens: number;
  readonly inputTokens: number;
  readonly estimatedInputTokens: number;
  /** The output per choice, at most what the model allows; 0 if the endpoint has no output tokens. */
  readonly outputTokens: number;
  readonly amountNanoUsd: bigint;
  /** Less than amountNanoUsd only if the output limit may be lowered. */
  readonly minimumNanoUsd: bigint;
}

/** A call that has its hold and its part of the limits for this candidate. */
export interface Admitted {
  readonly routed: Routed;
  readonly candidate: Candidate;
  readonly bounds: CallBounds;
  /** What the ledger holds: the worst case on the dearest channel of the group, or as much of it as there was. */
  readonly heldNanoUsd: bigint;
  /** The output limit per choice that is sent to the provider. */
  readonly outputLimit: number;
  /** True if the limit was lowered for lack of money. The response then says so. */
  readonly lowered: boolean;
  /** Of the limits by the minute, when the call was admitted. */
  readonly limitStates: readonly LimitState[];
}

/** A channel's response, of which nothing is known but its head. */
export interface Answered {
  readonly admitted: Admitted;
  readonly converter: Converter;
  /** What the conversion of the response must know from that of the request. */
  readonly notes: ConversionNotes | undefined;
  /** Paths of request fields that were dropped because the model does not accept them; undefined: none. */
  readonly dropped: readonly string[] | undefined;
  /** The provider's response. The first chunk of a stream has arrived, because a failure before it can be retried. */
  readonly response: UpstreamResponse;
}

export interface OpenedStream {
  readonly stream: StreamConverter;
  /** What follows. */
  readonly pieces: AsyncIterator<Uint8Array>;
  /** What the client gets first; empty: the stream has ended already. */
  readonly first: Uint8Array;
  /** Absent: it goes on, or its end has not been asked for. */
  readonly end?: StreamEnd;
}

/** A response that is one. `Large`: too large to buffer; its pieces so far, and the rest. */
export type Opening =
  | ({ readonly kind: 'Stream' } & OpenedStream)
  | { readonly kind: 'Large'; readonly buffered: Uint8Array[]; readonly rest: AsyncIterator<Uint8Array> }
  | { readonly kind: 'Whole'; readonly converted: ConvertedResponse };

export interface Forwarded extends Answered {
  readonly opening: Opening;
}

/** How a call ended. The call is settled next, and then the rest of the response is sent. */
export type CallOutcome =
  /**
   * A complete response that is sent after the settlement, with its cost in the headers. `failed` marks the report of a
   * failed job, which is free.
   */
  | {
      readonly kind: 'Buffered';
      readonly status: number;
      readonly headers: Record<string, string>;
      readonly body: Uint8Array;
      readonly failed: boolean;
    }
  /** A stream, or a response too large to buffer, of which everything but `last` has been sent. */
  | { readonly kind: 'Streamed'; readonly last: Uint8Array }
  /** The provider ended its stream with an error; `last` is that error in the client's dialect. */
  | { readonly kind: 'ProviderFailed'; readonly last: Uint8Array; readonly error: GatewayError }
  | { readonly kind: 'Error'; readonly error: GatewayError }
  | { readonly kind: 'ClientGone' };

/** What the gateway keeps of a call with its response. */
export interface Keeping {
  /** The input as an array of items, as JSON. */
  readonly input: Buffer;
  /** What it holds of the key's memory. */
  readonly held: HeldBytes;
}

/** The mutable state of a call. The stages fill it in; settle and report read it however the call ends. */
export interface CallRecord {
  readonly received: Received;
  /** From its call on, the reply fills silence with pings. */
  readonly pinging: { keepAlive(options: PingOptions): void; stop(): void };
  /** The generation of the configuration that was in force when the call arrived. */
  readonly generation: number;
  readonly attempts: AttemptReport[];
  authenticated: Authenticated | undefined;
  routed: Routed | undefined;
  /** The latest admission, for which money is held and limits are taken. */
  admitted: Admitted | undefined;
  /** True once the lease keeper renews the call's hold. */
  leased: boolean;
  /** True if the latest attempt's request was sent, and its provider has neither refused it nor failed. */
  sent: boolean;
  /** Usage seen in the response so far. */
  meter: Meter | undefined;
  /** True once the provider has produced output, so that a later failure is billed. */
  produced: boolean;
  /** Writes an error as the last event of the stream. Undefined: an error event of the dialect is used. */
  writeFailure: StreamConverter['fail'];
  /** The job that the call created; it outlives the call. With `consumed` it is billed at its end. */
  job: ConvertedJob | undefined;
  /** What is to be kept with the response once it is whole; undefined: it is not kept. */
  keeping: Keeping | undefined;
  /** What is to be added to its conversation once the response is whole, and what that holds of the key's memory. */
  turn: (ConversationTurn & { readonly held: HeldBytes }) | undefined;
  /** Aborts the exchange with the provider. */
  readonly abort: AbortController;
  /** True if the hold could not be renewed, so that the ledger may have released it. */
  holdLost: boolean;
  /** True if the latest attempt's provider did not respond in time, or stopped sending its response. */
  timedOut: boolean;
  /** The tokens that the tokenizer counted in the output of a call whose client has left; undefined: not counted. */
  countedOutput: number | undefined;
  firstByteAt: number | undefined;
  /** Of a session, which has a bill of its own. */
  session?: { readonly progress: CallProgress };
}
