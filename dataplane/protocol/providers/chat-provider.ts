/** A provider's protocol for conversations: it writes requests, and reads responses and streams into events. */
import type { ConversionNotes, HeldValue, Meter, RequestPlan } from '../converter.ts';
import type { ConversationEvent } from '../conversation/events.ts';
import type { Conversation } from '../conversation/request.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { ChannelSeal } from '../sealed-values.ts';
import type { SseEvent } from '../sse.ts';

export interface WriteContext {
  readonly plan: RequestPlan;
  readonly stream: boolean;
  readonly dropped: DroppedFields;
}

/** For a request that counts tokens. */
export interface CountContext {
  readonly plan: Pick<RequestPlan, 'upstreamModel' | 'platform' | 'seal'>;
  readonly dropped: DroppedFields;
}

/** For the request whose members a count takes: it sets no limit, which some protocols require. */
export function planOfCount({ plan: { upstreamModel, seal }, dropped }: CountContext): WriteContext {
  const plan = { upstreamModel, seal, maxOutputTokens: 1, outputLimitField: 'max_tokens' } as const;
  return { plan, stream: false, dropped };
}

export interface WrittenRequest {
  /** Below the channel's base URL. */
  readonly path: string;
  readonly body: JsonRecord;
  /** Maps each tool name that was sent to the client's own name for it; undefined if no name was changed. */
  readonly toolNames: ReadonlyMap<string, string> | undefined;
  /** The model wants its readable reasoning back, so that clients which keep only sealed reasoning get it sealed. */
  readonly keepsReasoning?: boolean;
  /** The model is held to an object with what the client asked for; absent or undefined: to nothing, or to just that. */
  readonly heldValue?: HeldValue | undefined;
}

/** What reading a response needs besides its bytes. */
export interface ResponseReadContext {
  /** The gateway's id of the request, for calls to which the provider gives no ids. */
  readonly id: string;
  readonly notes: ConversionNotes | undefined;
  /** Absent: the gateway was given no sealing key. */
  readonly seal?: ChannelSeal | undefined;
  /** The call is for images alone, so that a response without any is a refusal. */
  readonly asksForImages?: boolean | undefined;
}

/** Reads one stream. */
export interface EventReader {
  read(event: SseEvent): readonly ConversationEvent[];
  /** The provider's last event, or its error, has been read. */
  readonly terminal: boolean;
  /** What remains when the stream is over; undefined: it was cut off before the response ended. */
  end(): readonly ConversationEvent[] | undefined;
  readonly meter: Meter;
}

export interface ReadResponse {
  readonly events: readonly ConversationEvent[];
  readonly meter: Meter;
}

export interface ChatProvider {
  /** The name of the protocol in refusals. */
  readonly name: string;
  /** Absent: the protocol has one API for chats, or this is chat completions. */
  readonly api?: 'Responses';
  /** The largest event of its streams. Absent: the default of event-stream.ts. */
  readonly maxEventBytes?: number;
  /** Throws RequestFault for what the protocol cannot express. */
  write(conversation: Conversation, context: WriteContext): WrittenRequest;
  /** The request that counts the input's tokens. Absent: the provider counts none. */
  readonly writeCount?: (conversation: Conversation, context: CountContext) => Pick<WrittenRequest, 'path' | 'body'>;
  /** A whole 2xx response. Throws SyntaxError where it is none of the protocol. */
  read(body: Uint8Array, context: ResponseReadContext): ReadResponse;
  stream(context: ResponseReadContext): EventReader;
}

/** The client's name of a tool that the provider calls. */
export function clientToolName(sent: string, notes: ConversionNotes | undefined): string {
  return notes?.toolNames?.get(sent) ?? sent;
}
