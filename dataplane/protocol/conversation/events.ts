/**
 * A response as it comes: the events that every provider's stream is read into, and that every client's stream is
 * written from. Content belongs to a candidate; all but the first occur only where the client asked for several.
 */
import type { ProviderError } from '../converter.ts';
import type { ReasoningProof } from './reasoning.ts';

export type ConversationEvent =
  | StartEvent
  | TextDelta
  | ReasoningDelta
  | ReasoningEnd
  | RefusalDelta
  | CallStart
  | CallDelta
  | CallEnd
  | ImageEvent
  | CitationEvent
  | LogProbabilitiesEvent
  | PingEvent
  | FinishEvent
  | ErrorEvent;

/** The first event. */
export interface StartEvent {
  readonly type: 'start';
  /** The model as the provider names it; undefined: it does not. */
  readonly model: string | undefined;
}

interface CandidateEvent {
  /** Absent: the first. */
  readonly candidate?: number;
}

/** Consecutive pieces are one text. */
export interface TextDelta extends CandidateEvent {
  readonly type: 'text-delta';
  readonly text: string;
}

export interface ReasoningDelta extends CandidateEvent {
  readonly type: 'reasoning-delta';
  readonly text: string;
}

/** Ends the open reasoning; with a proof and no open reasoning it is a piece of reasoning without text. */
export interface ReasoningEnd extends CandidateEvent {
  readonly type: 'reasoning-end';
  readonly proof: ReasoningProof | undefined;
}

export interface RefusalDelta extends CandidateEvent {
  readonly type: 'refusal-delta';
  readonly text: string;
}

/** Calls come one after the other: each ends before the next begins (sequence.ts puts interleaved ones in order). */
export interface CallStart extends CandidateEvent {
  readonly type: 'call-start';
  readonly id: string;
  /** As the client named the tool. */
  readonly name: string;
}

/** A piece of the open call's arguments, which are JSON. */
export interface CallDelta extends CandidateEvent {
  readonly type: 'call-delta';
  readonly text: string;
}

export interface CallEnd extends CandidateEvent {
  readonly type: 'call-end';
}

/** A picture that the model made; `data` is base64. */
export interface ImageEvent extends CandidateEvent {
  readonly type: 'image';
  readonly mediaType: string;
  readonly data: string;
}

/** A source of the text before it. Offsets count UTF-16 units from the start of the candidate's text. */
export interface CitationEvent extends CandidateEvent {
  readonly type: 'citation';
  readonly url: string;
  readonly title: string | undefined;
  readonly start: number;
  readonly end: number;
}

/** Of the text that follows, as OpenAI writes them. */
export interface LogProbabilitiesEvent extends CandidateEvent {
  readonly type: 'log-probabilities';
  readonly tokens: readonly TokenProbability[];
}

export interface TokenProbability {
  readonly token: string;
  /** Natural logarithm. */
  readonly logProbability: number;
  readonly alternatives: readonly { readonly token: string; readonly logProbability: number }[];
}

/** The provider keeps the connection alive. */
export interface PingEvent {
  readonly type: 'ping';
}

/** Why a candidate has ended. Refusal: by the model or by a filter. Paused: the provider asks to be called again. */
export type FinishReason = 'Stop' | 'Length' | 'StopSequence' | 'ToolCalls' | 'Refusal' | 'ContextWindow' | 'Paused';

export interface FinishEvent extends CandidateEvent {
  readonly type: 'finish';
  readonly reason: FinishReason;
  /** Of a refusal: the explanation, where there is one. Of a stop sequence: the sequence. */
  readonly detail: string | undefined;
}

/** The provider's error; no event follows. */
export interface ErrorEvent {
  readonly type: 'error';
  readonly error: ProviderError;
}
