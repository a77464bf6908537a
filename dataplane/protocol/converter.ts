/**
 * One interface for every pair of client dialect and provider protocol. A pair of the same protocol passes bytes
 * through and changes only what it must; a mixed pair converts. Pure: bytes in, bytes out; no clock, no IO.
 *
 * Order of calls: request → (response | failure | stream: push* then end).
 */
import type { StatedCapabilities } from './capabilities.ts';
import type { JsonObject } from './json-scan.ts';
import type { ChatDialect, ProviderTools } from './call-facts.ts';
import type { PlatformPlan } from './platforms/platform-request.ts';
import type { ChannelSeal } from './sealed-values.ts';

/**
 * Tokens as the provider reported them, merged over the answer. Undefined means not reported, which is not zero. Input
 * excludes tokens read from and written to the cache.
 */
export interface ReportedUsage {
  readonly input: number | undefined;
  readonly cached: number | undefined;
  readonly cacheWrite5m: number | undefined;
  readonly cacheWrite1h: number | undefined;
  readonly output: number | undefined;
  /** Absent: no part is reported. */
  readonly details?: ReportedDetails;
  /** The tier that served the call, `standard` among them; absent: not reported. */
  readonly serviceTier?: string;
  /** The region that served the call; absent: not reported. */
  readonly region?: string;
  /** The requests that the provider made of the call, where there are several; the counts above are their sum. */
  readonly parts?: readonly ReportedPart[];
  /** Uses of the provider's tools. Absent: none. */
  readonly uses?: ReportedUses;
}

/** One request, at the length and the tier that it had. */
export interface ReportedPart extends Omit<ReportedUsage, 'parts' | 'uses' | 'region'> {
  /** The provider's name of another model than the call's own; absent: the call's. */
  readonly model?: string;
}

/** Uses of tools that a provider runs and charges. */
export interface ReportedUses {
  readonly webSearch?: number;
  readonly webFetch?: number;
  readonly fileSearch?: number;
}

/** Parts of the input (audioInput, imageInput) and of the output. Absent: none. */
export interface ReportedDetails {
  readonly audioInput?: number;
  readonly imageInput?: number;
  readonly reasoning?: number;
  readonly audioOutput?: number;
  readonly imageOutput?: number;
}

/** Consumption of a call up to now. */
export interface Meter {
  /** The latest usage. */
  readonly reported: ReportedUsage;
  /** The usage covers the whole answer. */
  readonly final: boolean;
  /** UTF-8 bytes of generated text, tool arguments and thinking so far, from which missing usage is estimated. */
  readonly outputBytes: number;
  /** Of a stream: the beginning of that text, in pieces; absent: the text is not known. */
  readonly outputTexts?: readonly string[];
  /** Images that the response holds, where it holds any. */
  readonly images?: number | undefined;
  /** What the response says of its images or its video. */
  readonly served?: ServedMedia | undefined;
}

/** Absent: the response does not say. */
export interface ServedMedia {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  readonly seconds?: number | undefined;
}

/** The gateway's decisions about a request, made before it is sent. */
export interface RequestPlan {
  readonly upstreamModel: string;
  /** The output limit to send; undefined: the client's own stays. */
  readonly maxOutputTokens: number | undefined;
  /** Whether the answer streams, for dialects whose path says it and whose body does not. */
  readonly stream?: boolean | undefined;
  /** OpenAI protocol: the field that this model's provider understands. */
  readonly outputLimitField: 'max_completion_tokens' | 'max_tokens';
  /** The scan of the client's body, if it has been scanned already. */
  readonly scanned?: JsonObject | undefined;
  /** The capabilities that the model's route states; those of well-known models are the defaults of the others. */
  readonly capabilities?: StatedCapabilities | undefined;
  /**
   * Tools that the provider runs. Drop leaves them out and names them; so does a conversion by default, except of chat
   * completions, which know no such tools. A request that passes through keeps them by default.
   */
  readonly providerTools?: ProviderTools | undefined;
  /** The session that the client's headers name, such as Claude Code's. */
  readonly session?: string | undefined;
  /** Absent: the gateway was given no sealing key. */
  readonly seal?: ChannelSeal | undefined;
  /** What the channel's platform changes of the request's members; undefined: it serves the protocol's own API. */
  readonly platform?: PlatformPlan | undefined;
  /** Responses: what a response that the gateway writes says of its storage. */
  readonly storage?: ResponseStorage | undefined;
}

export interface ResponseStorage {
  /** The gateway keeps it. */
  readonly isKept: boolean;
  /** The id of the response that it continues, whose items are in the request's input; undefined: none. */
  readonly previousId: string | undefined;
  /** The id of the conversation that the gateway keeps, whose items are in the request's input; undefined: none. */
  readonly conversationId: string | undefined;
}

export interface UpstreamBody {
  /** Of the protocol's own API, below the channel's base URL: "/chat/completions" (OpenAI), "/v1/messages" (Anthropic). */
  readonly path: string;
  readonly body: Uint8Array;
  /** Default: application/json. */
  readonly contentType?: string;
  /** For the conversion of the response; absent: it needs nothing from the request. */
  readonly notes?: ConversionNotes;
  /** Paths of the client's fields that were left out because the model does not take them. */
  readonly dropped?: readonly string[] | undefined;
}

/** Facts about a request that the conversion of its response needs. */
export interface ConversionNotes {
  /** The client's tool names, by the names that were sent instead. */
  readonly toolNames?: ReadonlyMap<string, string>;
  /** The sent names of OpenAI's custom tools, whose input is a text. */
  readonly customTools?: ReadonlySet<string>;
  /** The request has OpenAI's deprecated `functions`: the response calls one as function_call. */
  readonly legacyFunctions?: boolean;
  /** Responses: the client's tools by the names that were sent, except functions that keep their names. */
  readonly responseTools?: ReadonlyMap<string, ResponseTool>;
  /** Responses: the members of the request that its response repeats, as JSON without braces. */
  readonly repeated?: string;
  /** Responses: the request's input as an array of items, as JSON, where the gateway keeps the response. */
  readonly keptInput?: string;
  /** Responses, Gemini: the model needs its readable reasoning back, so that it is sealed for the client to keep. */
  readonly keepsReasoning?: boolean;
  /** Anthropic: the client has not asked for thinking, and gets a proof of it only where a call needs it. */
  readonly hidesProofs?: boolean;
  /** The response is an object that holds what the client asked for. */
  readonly heldValue?: HeldValue;
  /** Embeddings are asked for in base64. */
  readonly vectorsInBase64?: boolean;
  /** Imagen: the size of the images, where the client asked for none. */
  readonly defaultSize?: string;
  /** Gemini: the answer shows its thoughts. */
  readonly includeThoughts?: boolean;
  /** Responses: the sealed ids of the request, by what is sealed in them, because the response repeats them. */
  readonly sealedIds?: ReadonlyMap<string, string>;
}

/** What is taken out of an object that a response was held to: a value as JSON, or a word without quotes. */
export type HeldValue = 'Json' | 'Word';

/** A tool as a client of the Responses dialect declared it. */
export interface ResponseTool {
  readonly kind: 'Function' | 'Custom' | 'Search';
  readonly name: string;
  readonly namespace?: string;
}

/** A provider's error, independent of dialect. */
export interface ProviderError {
  readonly message: string;
  readonly type: string | undefined;
  readonly code: string | null | undefined;
  /** The field at fault, as the provider names it. */
  readonly param?: string;
  /** The status that the provider means, where it is another than that of its response. */
  readonly status?: number;
  /** How long to wait, where the body says it. */
  readonly retryAfterSeconds?: number;
}

/** A job that the provider works on after the call. */
export interface ConvertedJob {
  readonly id: string;
  readonly state: 'Running' | 'Completed' | 'Failed';
  /** What it consumed; absent: the job is billed by what was asked for. */
  readonly consumed?: {
    readonly meter: Meter;
    /** It was ended by a request, so that its usage may be unknown. */
    readonly cancelled: boolean;
  };
}

export interface ConvertedResponse {
  readonly body: Uint8Array;
  readonly meter: Meter;
  /**
   * The call created a job. Without `consumed` it is billed now, and refunded if the job fails; otherwise it is billed
   * at the job's end.
   */
  readonly job?: ConvertedJob;
  /** The response reports a failure without usage or output: it is passed on, and costs nothing. */
  readonly failed?: boolean;
}

/** How a stream ended. */
export type StreamEnd =
  /** With its dialect's terminal event. `last` was held back: send it once the settlement is committed. */
  | { readonly outcome: 'Complete'; readonly last: Uint8Array }
  /** The provider stopped without one: the caller sends an error event in its dialect. */
  | { readonly outcome: 'Cut' }
  /** The provider sent an error in the stream; `last` is that error in the client's dialect. */
  | { readonly outcome: 'Failed'; readonly error: ProviderError; readonly last: Uint8Array };

/** An error of the gateway's, as the dialects with codes of their own have it. */
export interface StreamFailure {
  readonly code: string;
  readonly message: string;
}

/** Turns a provider's stream into the client's. One per attempt. */
export interface StreamConverter {
  /**
   * Takes the provider's next bytes, in pieces of any size; returns what may be sent now (possibly nothing). Events
   * after the terminal one are dropped.
   */
  push(chunk: Uint8Array): Uint8Array;
  /** Called when the provider's stream is over or its terminal event was seen. */
  end(): StreamEnd;
  /**
   * The bytes that end a stream that has begun with an error of the gateway's, instead of `end` or after it; absent:
   * the dialect's error event.
   */
  readonly fail?: ((error: StreamFailure) => Uint8Array) | undefined;
  /** It has no events: it passes through as bytes of the provider's content type, and no ping comes between them. */
  readonly passesBytes?: boolean;
  /** The terminal event has been read: the rest of the stream can be ignored. */
  readonly terminal: boolean;
  /** The consumption so far; each push updates it. */
  readonly meter: Meter;
  /** The job that the stream is about, as its latest event says; absent: none, or its id is not known yet. */
  readonly job?: ConvertedJob | undefined;
  /** The bytes of events that have not come whole, or that wait. Absent: few. */
  readonly pendingBytes?: number;
  /** An event that another thread is to read. Until `resume` has the result, nothing is pushed. */
  readonly large?: LargeEvent | undefined;
  /** Undefined: the event could not be read. Returns what may be sent now. */
  resume?(read: LargeEventRead | undefined): Uint8Array;
  /** Called before `end`: an event that the provider's stream ends within may be `large`. */
  endOfInput?(): void;
}

export interface LargeEvent {
  readonly bytes: Uint8Array;
  /** Sealed values that the client has already, by what is sealed in them. */
  readonly known: ReadonlyMap<string, string>;
}

/** An event with its values sealed. */
export interface ReadEvent {
  readonly bytes: Uint8Array;
  readonly type: string;
  /** Undefined: it is no object. */
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** The event is an error. */
  readonly error?: ProviderError;
}

/** What another thread made of an event. Its data is what the meter and the end of a stream need. */
export interface LargeEventRead extends ReadEvent {
  /** The sealed values, by what is sealed in them. */
  readonly sealed: ReadonlyMap<string, string>;
}

/** Of OpenAI's protocol, beside chat completions; of Google's, the images of Imagen, beside `generateContent`. */
export type SecondApi = 'Responses' | 'Imagen';

export interface Converter {
  readonly client: ChatDialect;
  /** The provider's protocol, or its API where it has two. Bytes pass through where it is the client's own. */
  readonly upstream: string;
  /** Where the protocol has two for chats or images. Absent: the only one, or the usual one. */
  readonly api?: SecondApi | undefined;
  /** Of images: the request has an output limit, so that a price of tokens is bounded. Absent: images alone are. */
  readonly limitsOutput?: boolean;
  /** True: the request is written from the client's bytes alone or before, and `parsed` is empty. */
  readonly written?: boolean;
  /**
   * The provider's request. `body` holds the client's bytes, and `parsed` is their parsed value.
   * @throws RequestFault (unsupported_parameter) for what the other side cannot express.
   */
  request(body: Uint8Array, parsed: Readonly<Record<string, unknown>>, plan: RequestPlan): UpstreamBody;
  /**
   * A whole 2xx response. Throws SyntaxError where it is not one of its protocol. A converted response takes its id,
   * its time and the estimate of missing usage from `answer`; without it the id is made from the provider's own, and
   * the others are 0.
   */
  response(body: Uint8Array, answer?: ResponseContext): ConvertedResponse;
  stream(request: StreamRequest): StreamConverter;
  /**
   * Meters a whole response that is too large to hold. Absent: its usage is an object of that name at its start or its
   * end.
   */
  large?(): LargeMeter;
}

/** Takes a response in pieces of any size. */
export interface LargeMeter {
  add(piece: Uint8Array): void;
  /** The consumption, once the response has come whole. */
  readonly meter: Meter;
}

/** The part of a converter that makes the provider's request. */
export type RequestConverter = Pick<Converter, 'client' | 'api' | 'written' | 'request'>;

/** Values that a converted response needs and the provider's response does not have. */
export type ResponseContext = Pick<
  StreamRequest,
  'id' | 'createdSeconds' | 'nowSeconds' | 'estimatedInputTokens' | 'notes' | 'seal' | 'contentType'
> & {
  /** The model's name as the client wrote it, for providers whose answers name none. */
  readonly model?: string;
};

export interface StreamRequest {
  /** OpenAI client: it asked for usage itself; otherwise usage is taken out. */
  readonly wantsStreamUsage: boolean;
  /** The model's name as the client wrote it. */
  readonly model: string;
  /** For a converted message_start, which comes before the provider reports usage. */
  readonly estimatedInputTokens: number;
  /** For ids and times of converted responses: the gateway's request id, and seconds since the epoch. */
  readonly id: string;
  readonly createdSeconds: number;
  /** For the time at which a converted response is complete. */
  readonly nowSeconds: () => number;
  /** From the request's conversion. */
  readonly notes?: ConversionNotes;
  /** Absent: the gateway was given no sealing key. */
  readonly seal?: ChannelSeal | undefined;
  /** Of the provider's response; absent: not stated. */
  readonly contentType?: string;
}

/** Jobs of a provider, whose state is polled. */
export interface Jobs {
  /** Where a job is, below the channel's base URL. */
  path(jobId: string): string;
  /** Reads a provider's response about a job. Throws SyntaxError where it is none. */
  read(body: Uint8Array): ConvertedJob;
}

/** A call for a video creates a job, whose content is at /content below its path. */
export interface VideoJobs extends Jobs {
  /** `contentType`: of a form; undefined: the request is JSON. */
  create(contentType: string | undefined): Converter;
}

/** Conversations that the provider stores; converts the requests with their items. */
export interface Conversations extends RequestConverter {
  /** Where a conversation is, below the channel's base URL, or where one is made. */
  path(conversationId?: string): string;
}
