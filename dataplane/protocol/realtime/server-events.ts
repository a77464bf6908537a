/** Reads events of providers in a session of OpenAI's realtime API, as far as they say what it costs. Never throws. */
import { decodeUtf8 } from '../bytes.ts';
import type { ReportedUsage } from '../converter.ts';
import { base64Bytes, isRecord, recordOf, stringOf, textOf, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { changeOf } from './session.ts';
import type { SessionChange } from './session.ts';
import { readResponseUsage, readTranscriptionUsage } from './usage.ts';
import type { TranscriptionUsage } from './usage.ts';

/** Other: what says nothing of costs. */
export type ServerEvent =
  | { readonly kind: 'Session'; readonly updated: boolean; readonly session: SessionChange | undefined }
  | { readonly kind: 'ResponseBegun'; readonly responseId: string }
  | {
      readonly kind: 'ResponseEnded';
      readonly responseId: string;
      readonly usage: ReportedUsage | undefined;
      /** Whether the provider could not make it, which costs nothing if nothing has come of it. */
      readonly failed: boolean;
    }
  /** What a response has brought: bytes of text, and of audio without its Base64. */
  | {
      readonly kind: 'Output';
      readonly responseId: string;
      readonly textBytes: number;
      readonly audioBytes: number;
    }
  | { readonly kind: 'AudioCommitted'; readonly itemId: string }
  | { readonly kind: 'AudioCleared' }
  /** A part of a transcription's text. */
  | { readonly kind: 'Transcribing'; readonly itemId: string; readonly textBytes: number }
  /** A failed transcription costs nothing. */
  | {
      readonly kind: 'Transcribed';
      readonly itemId: string;
      readonly failed: boolean;
      readonly usage: TranscriptionUsage | undefined;
      /** Of the text. */
      readonly textBytes: number;
    }
  | { readonly kind: 'Error'; readonly eventId: string | undefined; readonly error: JsonRecord }
  | { readonly kind: 'Other' };

const OTHER: ServerEvent = { kind: 'Other' };

const TEXTS: ReadonlySet<string> = new Set([
  'response.output_text.delta',
  'response.output_audio_transcript.delta',
  'response.function_call_arguments.delta',
]);

export function readServerEvent(bytes: Uint8Array): ServerEvent {
  const event = parseEventData(decodeUtf8(bytes));
  if (!event) return OTHER;
  const type = stringOf(event['type']);
  const responseId = stringOf(event['response_id']);
  if (TEXTS.has(type)) return { kind: 'Output', responseId, textBytes: utf8Bytes(event['delta']), audioBytes: 0 };
  if (type === 'response.output_audio.delta')
    return { kind: 'Output', responseId, textBytes: 0, audioBytes: base64Bytes(event['delta']) };
  return readRare(type, event);
}

function readRare(type: string, event: JsonRecord): ServerEvent {
  const itemId = stringOf(event['item_id']);
  switch (type) {
    case 'session.created':
    case 'session.updated':
      return { kind: 'Session', updated: type === 'session.updated', session: readSettings(event['session']) };
    case 'response.created':
      return { kind: 'ResponseBegun', responseId: idOf(event['response']) };
    case 'response.done':
      return readEnd(event['response']);
    case 'input_audio_buffer.committed':
      return { kind: 'AudioCommitted', itemId };
    case 'input_audio_buffer.cleared':
      return { kind: 'AudioCleared' };
    case 'error':
      return readError(event['error']);
    default:
      return type.startsWith(TRANSCRIPTION) ? readTranscription(type.slice(TRANSCRIPTION.length), event) : OTHER;
  }
}

const TRANSCRIPTION = 'conversation.item.input_audio_transcription.';

function readTranscription(step: string, event: JsonRecord): ServerEvent {
  const itemId = stringOf(event['item_id']);
  switch (step) {
    case 'delta':
      return { kind: 'Transcribing', itemId, textBytes: utf8Bytes(event['delta']) };
    case 'completed':
      return {
        kind: 'Transcribed',
        itemId,
        failed: false,
        usage: readTranscriptionUsage(event['usage']),
        textBytes: utf8Bytes(event['transcript']),
      };
    case 'failed':
      return { kind: 'Transcribed', itemId, failed: true, usage: undefined, textBytes: 0 };
    default:
      return OTHER;
  }
}

function readEnd(response: unknown): ServerEvent {
  const usage = isRecord(response) ? readResponseUsage(response['usage']) : undefined;
  const failed = isRecord(response) && response['status'] === 'failed';
  return { kind: 'ResponseEnded', responseId: idOf(response), usage, failed };
}

function readError(value: unknown): ServerEvent {
  const error = recordOf(value);
  return { kind: 'Error', eventId: textOf(error['event_id']), error };
}

/** Settings that the gateway cannot read leave those that are known. */
function readSettings(session: unknown): SessionChange | undefined {
  if (!isRecord(session)) return undefined;
  try {
    return changeOf(session);
  } catch {
    return undefined;
  }
}

function idOf(response: unknown): string {
  return isRecord(response) ? stringOf(response['id']) : '';
}
