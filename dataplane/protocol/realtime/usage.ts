/** Usage of responses and transcriptions in sessions of OpenAI's realtime API. */
import type { ReportedUsage, ServedMedia } from '../converter.ts';
import { isRecord, recordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { ALL_TOKENS, readTokenCount, UNREPORTED_USAGE } from '../usage.ts';

/** Audio is the dearest class: what no figure tells apart counts as audio. */
const ALL_AUDIO = { audioInput: ALL_TOKENS, audioOutput: ALL_TOKENS };

/** The usage of a response: input without what was read from the cache; undefined where none is reported. */
export function readResponseUsage(value: unknown): ReportedUsage | undefined {
  if (!isRecord(value)) return undefined;
  const output = readTokenCount(value['output_tokens']);
  const input = readTokenCount(value['input_tokens']);
  if (input === undefined || output === undefined) return undefined;
  const of = recordOf(value['input_token_details']);
  const cached = Math.min(input, count(of, 'cached_tokens'));
  return { ...UNREPORTED_USAGE, input: input - cached, cached, output, details: detailsOf(value) };
}

/** Each token of a modality is either new or read from the cache. */
function detailsOf(usage: JsonRecord): NonNullable<ReportedUsage['details']> {
  const input = usage['input_token_details'];
  const output = usage['output_token_details'];
  const ofInput = recordOf(input);
  const cached = recordOf(ofInput['cached_tokens_details']);
  const fresh = (name: string): number => Math.max(0, count(ofInput, name) - count(cached, name));
  return {
    ...ALL_AUDIO,
    ...(isRecord(input) && { audioInput: fresh('audio_tokens'), imageInput: fresh('image_tokens') }),
    ...(isRecord(output) && { audioOutput: count(recordOf(output), 'audio_tokens') }),
  };
}

/** What a transcription has consumed: tokens, or seconds of audio. */
export interface TranscriptionUsage {
  readonly tokens: ReportedUsage | undefined;
  readonly served: ServedMedia | undefined;
}

/** Undefined where none is reported. A fraction of a second counts as a whole one. */
export function readTranscriptionUsage(value: unknown): TranscriptionUsage | undefined {
  if (!isRecord(value)) return undefined;
  const seconds = readTokenCount(value['seconds']);
  if (seconds !== undefined) return { tokens: undefined, served: { seconds } };
  const tokens = readResponseUsage(value);
  return (
    tokens && { tokens: { ...tokens, details: { audioInput: tokens.details?.audioInput ?? 0 } }, served: undefined }
  );
}

function count(object: JsonRecord, name: string): number {
  return readTokenCount(object[name]) ?? 0;
}
