/** The demo provider's audio: it speaks in tones, one for each letter, and writes down how long it has listened. */
import { BadRequest, requiredText, textIn } from './prompt.ts';
import type { Json } from './prompt.ts';
import { countTokens, tokensOf } from './tokens.ts';

const SAMPLE_RATE = 24_000;
const HEADER_BYTES = 44;
/** How long a letter sounds. */
const LETTER_SAMPLES = 1_440;
const LOUDNESS = 6_000;
const LOWEST_HERTZ = 220;
const TOKENS_PER_SECOND = 20;
const EVENTS = 4;

/** POST /v1/audio/speech: WAVE, or its samples alone for `pcm`. */
export function speech(body: Json): { readonly type: string; readonly bytes: Buffer } {
  const samples = tones(requiredText(body, 'input'));
  if (body['response_format'] === 'pcm') return { type: 'audio/pcm', bytes: samples };
  return { type: 'audio/wav', bytes: Buffer.concat([header(samples.length), samples]) };
}

/** The same as a stream of events. */
export function speechEvents(body: Json): readonly string[] {
  const { bytes } = speech(body);
  const size = Math.ceil(bytes.length / EVENTS);
  const input = countTokens([requiredText(body, 'input'), textIn(body['instructions'])]);
  const output = Math.ceil((bytes.length / 2 / SAMPLE_RATE) * TOKENS_PER_SECOND);
  return [
    ...Array.from({ length: EVENTS }, (_, index) =>
      event({
        type: 'speech.audio.delta',
        audio: bytes.subarray(index * size, (index + 1) * size).toString('base64'),
      }),
    ),
    event({
      type: 'speech.audio.done',
      usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    }),
  ];
}

function tones(text: string): Buffer {
  const letters = Array.from(text);
  const samples = Buffer.alloc(letters.length * LETTER_SAMPLES * 2);
  letters.forEach((letter, at) => {
    const hertz = LOWEST_HERTZ * 2 ** (((letter.codePointAt(0) ?? 0) % 24) / 12);
    for (let index = 0; index < LETTER_SAMPLES; index++) {
      const value = LOUDNESS * Math.sin((2 * Math.PI * hertz * index) / SAMPLE_RATE);
      samples.writeInt16LE(Math.round(value), (at * LETTER_SAMPLES + index) * 2);
    }
  });
  return samples;
}

function header(bytes: number): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  head.write('RIFF');
  head.writeUInt32LE(HEADER_BYTES - 8 + bytes, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(SAMPLE_RATE, 24);
  head.writeUInt32LE(SAMPLE_RATE * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(bytes, 40);
  return head;
}

/** A form with audio. */
export interface Listened {
  readonly fields: Json;
  readonly file: Buffer;
}

/** Bytes of a second of what is not WAVE. */
const LIKELY_BYTES_PER_SECOND = 4_000;

/** Reads a form. Throws BadRequest if it has no file. */
export async function listen(form: FormData): Promise<Listened> {
  const file = form.get('file');
  if (file === null || typeof file === 'string') throw new BadRequest('file', 'file is required: an audio file');
  return { fields: Object.fromEntries(form), file: Buffer.from(await file.arrayBuffer()) };
}

/** POST /v1/audio/transcriptions and /v1/audio/translations: JSON, or a text. */
export function transcript(task: 'transcribe' | 'translate', listened: Listened): unknown {
  const { text, seconds, usage } = heard(listened);
  const segment = { id: 0, start: 0, end: seconds, text };
  switch (listened.fields['response_format']) {
    case 'text':
      return `${text}\n`;
    case 'srt':
      return `1\n00:00:00,000 --> ${clock(seconds)},000\n${text}\n\n`;
    case 'vtt':
      return `WEBVTT\n\n00:00:00.000 --> ${clock(seconds)}.000\n${text}\n\n`;
    case 'verbose_json':
      return { task, language: 'english', duration: seconds, text, segments: [segment], usage };
    case 'diarized_json':
      return { task, duration: seconds, text, segments: [{ ...segment, id: 'seg_0', speaker: 'A' }], usage };
    default:
      return { text, usage };
  }
}

/** The same as a stream of events; undefined: the model does not stream. */
export function transcriptEvents(listened: Listened): readonly string[] | undefined {
  const { text, usage, isByTokens } = heard(listened);
  if (listened.fields['stream'] !== 'true' || !isByTokens) return undefined;
  return [
    ...tokensOf(text).map((delta) => event({ type: 'transcript.text.delta', delta })),
    event({ type: 'transcript.text.done', text, usage }),
  ];
}

interface Heard {
  readonly text: string;
  readonly seconds: number;
  readonly usage: Json;
  readonly isByTokens: boolean;
}

/** Models with `transcribe` in their names count tokens, and others, as Whisper does, seconds. */
function heard({ fields, file }: Listened): Heard {
  const seconds = Math.max(1, Math.ceil(secondsOf(file)));
  const text = `You sent ${seconds} ${seconds === 1 ? 'second' : 'seconds'} of audio.`;
  const isByTokens = /transcribe/i.test(requiredText(fields, 'model'));
  const audio = seconds * 10;
  const prompt = fields['prompt'] === undefined ? 0 : countTokens([textIn(fields['prompt'])]);
  const output = tokensOf(text).length;
  const usage = isByTokens
    ? {
        type: 'tokens',
        input_tokens: audio + prompt,
        input_token_details: { text_tokens: prompt, audio_tokens: audio },
        output_tokens: output,
        total_tokens: audio + prompt + output,
      }
    : { type: 'duration', seconds };
  return { text, seconds, usage, isByTokens };
}

function secondsOf(file: Buffer): number {
  const rate = file.toString('latin1', 0, 4) === 'RIFF' && file.length >= HEADER_BYTES ? file.readUInt32LE(28) : 0;
  return rate > 0 ? (file.length - HEADER_BYTES) / rate : file.length / LIKELY_BYTES_PER_SECOND;
}

function clock(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(11, 19);
}

function event(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
