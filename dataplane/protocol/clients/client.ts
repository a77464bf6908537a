/** A client's dialect: it reads requests into conversations, and writes responses and streams. */
import type { ChatDialect, ProviderTools } from '../call-facts.ts';
import type {
  ConvertedResponse,
  ConversionNotes,
  ProviderError,
  ReportedUsage,
  ResponseStorage,
  StreamFailure,
} from '../converter.ts';
import type { ConversationEvent } from '../conversation/events.ts';
import type { Conversation, SettingName } from '../conversation/request.ts';
import type { ConversationResponse } from '../conversation/response.ts';
import type { PartFeature, ToolFeature } from '../conversation/take.ts';
import type { JsonRecord } from '../fields.ts';
import type { ChannelSeal } from '../sealed-values.ts';

/** What reading a request depends on besides the request. */
export interface ReadContext {
  /** What becomes of tools that only the client's own provider can run; undefined: left out and named. */
  readonly providerTools: ProviderTools | undefined;
  /** Absent: the gateway has no key to open sealed values with. */
  readonly seal: ChannelSeal | undefined;
  /** Responses: absent if the response is stored nowhere, and continues none. */
  readonly storage?: ResponseStorage | undefined;
}

export interface ReadRequest {
  readonly conversation: Conversation;
  /** What the client's writer has to know of the request; undefined: nothing. */
  readonly notes?: ConversionNotes | undefined;
}

/** What a response needs besides its events. */
export interface ResponseWriteContext {
  /** The gateway's id of the request. */
  readonly id: string;
  /** In seconds since the epoch. */
  readonly createdSeconds: number;
  /** The time at which it is complete, likewise. */
  readonly nowSeconds: () => number;
  /** The model as the client named it, for providers whose responses name none. */
  readonly model: string;
  readonly notes: ConversionNotes | undefined;
  readonly seal: ChannelSeal | undefined;
}

export interface StreamWriteContext extends ResponseWriteContext {
  /** The usage so far, with estimates for what the provider has not reported. */
  readonly usage: () => ReportedUsage;
  /** OpenAI: the client asked for a chunk with the usage. */
  readonly wantsStreamUsage: boolean;
}

/** Writes the events of one stream. */
export interface StreamWriter {
  /** The text to send for an event; empty: nothing. */
  write(event: ConversationEvent): string;
  /** The images that `write` has returned, where one may wait for the end. */
  readonly sentImages?: number;
  /** What ends a stream that is complete: it is sent once the call is settled. */
  end(): string;
  /** What ends it with the provider's error. Absent: the dialect's error event. */
  readonly fail?: (error: ProviderError) => { readonly error: ProviderError; readonly last: string };
  /** What ends it with an error of the gateway's. Absent: the dialect's error event. */
  readonly failure?: (failure: StreamFailure) => string;
}

/** What of a conversation a dialect has words for. */
export interface Says {
  readonly settings: readonly SettingName[];
  readonly parts: readonly PartFeature[];
  readonly tools: readonly ToolFeature[];
}

export interface Client {
  readonly dialect: ChatDialect;
  /** Its calls are priced by the image, so that the meter counts them. */
  readonly countsImages?: boolean;
  /** `request`: parsed losslessly (json-value.ts). Throws RequestFault for a field that is missing or malformed. */
  read(request: JsonRecord, context: ReadContext): ReadRequest;
  /** The body of a whole response. `usage` has estimates for what the provider has not reported. */
  write(response: ConversationResponse, usage: ReportedUsage, context: ResponseWriteContext): ConvertedResponse['body'];
  stream(context: StreamWriteContext): StreamWriter;
}
