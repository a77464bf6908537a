/**
 * Passes transcriptions and translations of audio through to providers of OpenAI's protocol. Usage is in seconds or
 * tokens; plain texts and subtitles report none.
 */
import { decodeUtf8 } from '../bytes.ts';
import type { Converter, LargeMeter, Meter, ReportedUsage, ServedMedia } from '../converter.ts';
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseObject } from '../json-value.ts';
import { OutputTally } from '../output-tally.ts';
import { TopMembers } from '../top-members.ts';
import { ALL_TOKENS, meterOf, readTokenCount, UNREPORTED_USAGE } from '../usage.ts';
import { openAudioEvents } from './audio-events.ts';
import type { AudioEventForm } from './audio-events.ts';
import { throwIfError } from './failures.ts';
import { renameModelIn } from './form-fields.ts';
import type { BodyForm } from './form-fields.ts';
import type { TranscriptionFacts } from './transcription-facts.ts';
import { readUsage, toReportedUsage } from './usage.ts';

/** What the request says of itself and of its response. */
export interface TranscriptionForm extends Pick<TranscriptionFacts, 'isJson'> {
  readonly form: BodyForm;
}

export function transcriptionsConverter(asked: TranscriptionForm): Converter {
  return converter('/audio/transcriptions', asked);
}

export function translationsConverter(asked: TranscriptionForm): Converter {
  return converter('/audio/translations', asked);
}

function converter(path: string, { form, isJson }: TranscriptionForm): Converter {
  return {
    client: 'OpenAI',
    upstream: 'OpenAI',
    request: renameModelIn(path, form),
    response: (body, context) => ({ body, meter: isJson ? meterJson(body, context?.contentType) : meterText(body) }),
    large: meterLarge,
    stream: (request) => openAudioEvents(request, new TranscriptEvents()),
  };
}

const JSON_TYPE = 'application/json';
const JSON_TYPES = /^application\/(?:[\w.-]+\+)?json\b/i;

/** Some providers send a text, whatever the request says. */
function meterJson(body: Uint8Array, contentType = JSON_TYPE): Meter {
  const isJson = JSON_TYPES.test(contentType);
  const response = isJson ? parseObject(body) : objectIn(body);
  throwIfError(response);
  const text = response['text'];
  if (typeof text !== 'string' && !Array.isArray(response['segments'])) {
    if (isJson) throw new SyntaxError('the answer is no transcript');
    return meterText(body);
  }
  const output = new OutputTally();
  output.add(text);
  return meterTranscript(response, output);
}

/** An error is JSON also where a text was asked for, and a page is no transcript. */
function meterText(body: Uint8Array): Meter {
  const text = decodeUtf8(body);
  const start = text.slice(0, 64).trimStart().toLowerCase();
  if (start.startsWith('<!doctype') || start.startsWith('<html')) throw new SyntaxError('the answer is a page');
  if (start.startsWith('{')) throwIfError(objectIn(body));
  return { reported: UNREPORTED_AUDIO, final: false, outputBytes: Math.max(1, body.length) };
}

/** A transcript may begin with a brace, too. */
function objectIn(body: Uint8Array): JsonRecord {
  try {
    return parseObject(body);
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

/** Without details all input is audio. */
const ALL_IS_AUDIO = { audioInput: ALL_TOKENS };
const UNREPORTED_AUDIO: ReportedUsage = { ...UNREPORTED_USAGE, details: ALL_IS_AUDIO };

const USAGE_MEMBERS: ReadonlySet<string> = new Set(['usage', 'duration']);

/** A transcript of hours with each word's time. */
function meterLarge(): LargeMeter {
  const members = new TopMembers(USAGE_MEMBERS);
  let bytes = 0;
  return {
    add: (piece) => {
      bytes += piece.length;
      members.add(piece);
    },
    get meter() {
      return meterTranscript(members.found, bytes);
    },
  };
}

/** `output`: the text, or how many bytes have come. */
function meterTranscript(response: JsonRecord, output: OutputTally | number, complete = true): Meter {
  const usage = response['usage'];
  const reported = isRecord(usage) ? reportedTokens(usage) : UNREPORTED_AUDIO;
  return { ...meterOf(reported, output, complete), served: servedSeconds(usage, response['duration']) };
}

function reportedTokens(usage: JsonRecord): ReportedUsage {
  const details = usage['input_token_details'] ?? usage['input_tokens_details'];
  const reported = toReportedUsage(readUsage({ ...usage, input_tokens_details: details }));
  return isRecord(details) ? reported : { ...reported, details: ALL_IS_AUDIO };
}

/** A fraction counts as a whole second, and none as not reported. */
function servedSeconds(usage: unknown, duration: unknown): ServedMedia | undefined {
  const stated = isRecord(usage) ? usage['seconds'] : undefined;
  const seconds = readTokenCount(stated) ?? readTokenCount(typeof duration === 'string' ? Number(duration) : duration);
  return seconds === undefined || seconds === 0 ? undefined : { seconds };
}

class TranscriptEvents implements AudioEventForm {
  readonly done = 'transcript.text.done';
  readonly #output = new OutputTally();
  /** The same text again, or all of it. */
  readonly #segments = new OutputTally();

  add(data: JsonRecord): void {
    if (data['type'] === 'transcript.text.delta') this.#output.add(data['delta']);
    if (data['type'] === 'transcript.text.segment') this.#segments.add(data['text']);
    // a stream may have no deltas
    if (data['type'] === this.done && this.#output.bytes === 0) this.#output.add(data['text']);
  }

  addOther(bytes: Uint8Array): void {
    this.#output.add(decodeUtf8(bytes));
  }

  meter(usage: JsonRecord | undefined, final: boolean): Meter {
    const output = this.#segments.bytes > this.#output.bytes ? this.#segments : this.#output;
    return meterTranscript({ usage }, output, final);
  }
}
