/**
 * One interface for every pair of client dialect and provider protocol. A pair of the same protocol passes bytes through and
 * changes only what it must; a mixed pair converts. Pure: bytes in, bytes out; no clock, no IO.
 *
 * Order of calls: request → (response | failure | stream: push* then end).
 */
import type { JsonObject } from './json-scan.ts';
import type { Dialect } from './call-facts.ts';

/** Figures as the provider gave them, folded over the answer; undefined is "not said", which is not zero. Input excludes cached and written. */
export interface ReportedUsage {
  readonly input: number | undefined;
  readonly cached: number | undefined;
  readonly cacheWrite5m: number | undefined;
  readonly cacheWrite1h: number | undefined;
  readonly output: number | undefined;
}

/** What was consumed, as far as it was seen. */
export interface Meter {
  /** The latest figures. */
  readonly reported: ReportedUsage;
  /** The figures are final: the provider's terminal usage was seen. */
  readonly final: boolean;
  /** UTF-8 bytes of generated text, tool arguments and thinking seen so far: what an estimate is made from. */
  readonly outputBytes: number;
}

/** What the gateway decided about a request before it is sent. */
export interface RequestPlan {
  readonly upstreamModel: string;
  /** The output limit to send; undefined: the client's own is left as it is. */
  readonly maxOutputTokens: number | undefined;
  /** OpenAI protocol: the field that this model's provider understands. */
  readonly outputLimitField: 'max_completion_tokens' | 'max_tokens';
  /** Where the members of the client's body are, if that is known already. */
  readonly scanned?: JsonObject | undefined;
}

export interface UpstreamBody {
  /** Below the channel's base URL: "/chat/completions" (OpenAI), "/v1/messages" (Anthropic). */
  readonly path: string;
  readonly body: Uint8Array;
  /** Default: application/json. */
  readonly contentType?: string;
  /** For the conversion of the answer; absent: it needs to know nothing of the request. */
  readonly notes?: AnswerNotes;
}

/** What the conversion of an answer must know of its request. */
export interface AnswerNotes {
  /** The client's names of tools, by those that were sent in their place. */
  readonly toolNames?: ReadonlyMap<string, string>;
  /** OpenAI's custom tools by the names that were sent: their input is a text. */
  readonly customTools?: ReadonlySet<string>;
  /** OpenAI's older functions: the answer calls one, as function_call. */
  readonly legacyFunctions?: boolean;
  /** Of the second of two conversions, one after the other. */
  readonly inner?: AnswerNotes;
}

/** A provider's refusal or failure in its own words, dialect apart. */
export interface ProviderError {
  readonly message: string;
  readonly type: string | undefined;
  readonly code: string | null | undefined;
  /** The field at fault, as the provider names it. */
  readonly param?: string;
}

/** What a provider goes on with after the call, as it names it, and how far it has come. */
export interface ConvertedJob {
  readonly id: string;
  readonly state: 'Running' | 'Completed' | 'Failed';
}

export interface ConvertedResponse {
  readonly body: Uint8Array;
  readonly meter: Meter;
  /** The call made a job: it is paid now, and given back if the job fails. */
  readonly job?: ConvertedJob;
  /** The answer says that nothing came of the call and nothing was consumed: it is passed on, and costs nothing. */
  readonly failed?: boolean;
}

/** How a stream ended. */
export type StreamEnd =
  /** With its dialect's terminal event. `last` is what was held back: send it once the settlement is committed. */
  | { readonly outcome: 'Complete'; readonly last: Uint8Array }
  /** The provider stopped without one: the caller sends an error event in its dialect. */
  | { readonly outcome: 'Cut' }
  /** The provider said so in the stream; `last` is its error in the client's dialect. */
  | { readonly outcome: 'Failed'; readonly error: ProviderError; readonly last: Uint8Array };

/** Turns a provider's stream into the client's. One per attempt. */
export interface StreamConverter {
  /** Takes the provider's next bytes, in pieces of any size; returns what may be sent now (possibly nothing). Events after the terminal one are dropped. */
  push(chunk: Uint8Array): Uint8Array;
  /** The provider's stream is over, or its terminal event was seen. */
  end(): StreamEnd;
  /** The terminal event was seen: nothing that matters follows. */
  readonly terminal: boolean;
  /** As of now; changes with push. */
  readonly meter: Meter;
}

export interface Converter {
  readonly client: Dialect;
  /** The protocol that the provider's bytes are in. The client's own: they pass through. */
  readonly upstream: string;
  /**
   * The provider's request. `body` is the client's bytes, `parsed` the same as a value.
   * @throws RequestFault (unsupported_parameter) for what the other side cannot express.
   */
  request(body: Uint8Array, parsed: Readonly<Record<string, unknown>>, plan: RequestPlan): UpstreamBody;
  /**
   * A whole 2xx answer. Throws SyntaxError where it is not JSON of its dialect. A converted answer takes its id, its time and
   * figures that are missing from `answer`; without it the id is made from the provider's own, and the others are 0.
   */
  response(body: Uint8Array, answer?: AnswerContext): ConvertedResponse;
  stream(request: StreamRequest): StreamConverter;
}

/** What a converted answer needs beside the provider's own. */
export type AnswerContext = Pick<StreamRequest, 'id' | 'createdSeconds' | 'estimatedInputTokens' | 'notes'>;

export interface StreamRequest {
  /** OpenAI client: it asked for the usage chunk itself; else the chunk is stripped. */
  readonly wantsStreamUsage: boolean;
  /** The model's name as the client wrote it, where the converted answer needs one. */
  readonly model: string;
  /** For a converted message_start, which needs a figure before the provider says one. */
  readonly estimatedInputTokens: number;
  /** Ids and times of converted answers: the gateway's request id, and seconds since the epoch. */
  readonly id: string;
  readonly createdSeconds: number;
  /** As the request's conversion gave them. */
  readonly notes?: AnswerNotes;
}
