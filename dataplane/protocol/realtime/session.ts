/** Reads the settings of a session, as its client asks for them and as its provider confirms them. */
import { Buffer } from 'node:buffer';
import type { UnboundedUse } from '../call-facts.ts';
import { isGiven, isRecord, recordOf, stringOf, textOf, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { malformed } from '../unsupported.ts';
import { readTools } from './session-tools.ts';

/** Settings by which a session's responses cost more or less; undefined: not said, so that they stay. */
export interface SessionChange {
  /** Infinity: as many as the model can. */
  readonly maxOutputTokens: number | undefined;
  /** Whether the provider begins responses itself, when it hears that a turn has ended. */
  readonly beginsResponses: boolean | undefined;
  /** Of all settings as text, instructions and tools among them. */
  readonly bytes: number;
  readonly model: string | undefined;
  /** Whether the user's audio is of 8,000 bytes a second, rather than of 48,000. */
  readonly compactInput: boolean;
  /** The same of the model's audio; undefined: not said, so that it stays. */
  readonly compactOutput: boolean | undefined;
  /** The model that transcribes the audio; null: transcription is turned off. */
  readonly transcriber: string | null | undefined;
  /** Of what the transcriber is told with each piece of audio. */
  readonly promptBytes: number;
}

export interface ReadSession {
  readonly change: SessionChange;
  readonly unbounded: readonly UnboundedUse[];
  /** Paths of fields that the gateway does not know. */
  readonly unknown: readonly string[];
}

const PCM_RATE = 24_000;
const FIELDS: ReadonlySet<string> = new Set([
  'type',
  'audio',
  'include',
  'instructions',
  'max_output_tokens',
  'model',
  'output_modalities',
  'parallel_tool_calls',
  'prompt',
  'reasoning',
  'tool_choice',
  'tools',
  'tracing',
  'truncation',
]);
const AUDIO_FIELDS: ReadonlySet<string> = new Set(['input', 'output']);
const INPUT_FIELDS: ReadonlySet<string> = new Set(['format', 'noise_reduction', 'transcription', 'turn_detection']);
const TRANSCRIPTION_FIELDS: ReadonlySet<string> = new Set(['model', 'language', 'prompt', 'delay']);

/** What a client asks for. Throws RequestFault. */
export function readSession(session: JsonRecord): ReadSession {
  const type = session['type'];
  if (type !== 'realtime') throw malformed('session.type', '"realtime"');
  const audio = objectAt(session, 'audio', 'session.audio');
  const input = objectAt(audio, 'input', 'session.audio.input');
  const transcription = objectAt(input, 'transcription', 'session.audio.input.transcription');
  return {
    change: changeOf(session),
    unbounded: readTools(session, 'session'),
    unknown: [
      ...unknownOf(session, FIELDS, 'session'),
      ...unknownOf(audio, AUDIO_FIELDS, 'session.audio'),
      ...unknownOf(input, INPUT_FIELDS, 'session.audio.input'),
      ...unknownOf(transcription, TRANSCRIPTION_FIELDS, 'session.audio.input.transcription'),
    ],
  };
}

/** The settings in a client's or a provider's session. Throws RequestFault. */
export function changeOf(session: JsonRecord): SessionChange {
  const audio = recordOf(session['audio']);
  const input = recordOf(audio['input']);
  const spoken = recordOf(audio['output'])['format'];
  return {
    maxOutputTokens: readLimit(session['max_output_tokens'], 'session.max_output_tokens'),
    beginsResponses: readTurns(input),
    bytes: Buffer.byteLength(JSON.stringify(session)),
    model: textOf(session['model']),
    compactInput: isCompact(input['format']),
    compactOutput: isGiven(spoken) ? isCompact(spoken) : undefined,
    transcriber: readTranscriber(input),
    promptBytes: utf8Bytes(recordOf(input['transcription'])['prompt']),
  };
}

/** A limit of output tokens; Infinity for "inf", undefined if it is absent. */
export function readLimit(value: unknown, param: string): number | undefined {
  if (!isGiven(value)) return undefined;
  if (value === 'inf') return Infinity;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw malformed(param, 'a whole number of at least 1, or "inf"');
}

/** null turns detection off. With it the provider begins responses, unless it may begin none, and none after silence. */
function readTurns(input: JsonRecord): boolean | undefined {
  const turns = input['turn_detection'];
  if (turns === undefined) return undefined;
  if (turns === null) return false;
  return !isRecord(turns) || turns['create_response'] !== false || isGiven(turns['idle_timeout_ms']);
}

function readTranscriber(input: JsonRecord): string | null | undefined {
  const transcription = input['transcription'];
  if (transcription === undefined) return undefined;
  return isRecord(transcription) ? stringOf(transcription['model']) : null;
}

/** Every format but PCM at 24,000 samples a second has a byte for each of 8,000 samples, at least. */
function isCompact(format: unknown): boolean {
  if (!isRecord(format)) return isGiven(format);
  const isPcm = !isGiven(format['type']) || format['type'] === 'audio/pcm';
  return !isPcm || (isGiven(format['rate']) && format['rate'] !== PCM_RATE);
}

function objectAt(parent: JsonRecord, name: string, path: string): JsonRecord {
  const value = parent[name];
  if (!isGiven(value)) return {};
  if (!isRecord(value)) throw malformed(path, 'an object');
  return value;
}

function unknownOf(object: JsonRecord, known: ReadonlySet<string>, path: string): string[] {
  return Object.keys(object)
    .filter((name) => !known.has(name))
    .map((name) => `${path}.${name}`);
}
