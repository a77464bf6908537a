/** Speech, which passes through: OpenAI client, OpenAI provider. The response is the audio itself, or events with it. */
import { Buffer } from 'node:buffer';
import type { Converter, Meter, ReportedUsage, StreamConverter, StreamEnd } from '../converter.ts';
import { base64Bytes } from '../fields.ts';
import { parseObject } from '../json-value.ts';
import { isEventStream } from '../sse.ts';
import { ALL_TOKENS, meterOf, UNREPORTED_USAGE } from '../usage.ts';
import { openAudioEvents } from './audio-events.ts';
import type { AudioEventForm } from './audio-events.ts';
import { throwIfError } from './failures.ts';
import { renameModel } from './rename-model.ts';
import type { SpeechFacts } from './speech-facts.ts';
import { readUsage, toReportedUsage } from './usage.ts';

/** What the request says of its response. */
export type SpeechForm = Pick<SpeechFacts, 'events' | 'format'>;

export function speechConverter({ events, format }: SpeechForm): Converter {
  return {
    client: 'OpenAI',
    upstream: 'OpenAI',
    request: renameModel('/audio/speech'),
    // only what is no audio comes here
    response: (body) => {
      throwIfError(parseObject(body));
      throw new SyntaxError('the answer is no audio');
    },
    stream: (request) =>
      isOfEvents(request.contentType, events)
        ? openAudioEvents(request, new SpeechEvents(format))
        : new AudioBytes(format),
  };
}

/** Some models send the audio itself, whatever the request says. */
function isOfEvents(contentType: string | undefined, asked: boolean): boolean {
  return contentType === undefined ? asked : isEventStream(contentType);
}

/** Bytes of a second of audio as OpenAI makes it, by format; the default is its MP3 of 128 kbit/s. */
const BYTES_PER_SECOND: Readonly<Record<string, number>> = {
  opus: 6_000,
  aac: 12_000,
  flac: 26_000,
  wav: 48_000,
  pcm: 48_000,
};
const MP3_BYTES_PER_SECOND = 16_000;
/** OpenAI's models make about 1250 tokens a minute. */
const TOKENS_PER_SECOND = 21;
/** The size of a text that is taken for a token where usage is missing. */
const BYTES_PER_TOKEN = 4;

const ALL_IS_AUDIO = { audioOutput: ALL_TOKENS };

/** Audio so far counts as a text that has as many tokens. */
function meterAudio(bytes: number, format: string, reported: ReportedUsage, final: boolean): Meter {
  const seconds = bytes / (BYTES_PER_SECOND[format] ?? MP3_BYTES_PER_SECOND);
  const outputBytes = Math.ceil(seconds * TOKENS_PER_SECOND * BYTES_PER_TOKEN);
  return meterOf({ ...reported, details: ALL_IS_AUDIO }, outputBytes, final);
}

class SpeechEvents implements AudioEventForm {
  readonly done = 'speech.audio.done';
  readonly #format: string;
  #bytes = 0;

  constructor(format: string) {
    this.#format = format;
  }

  /** Audio is in base64. */
  add(data: Readonly<Record<string, unknown>>): void {
    this.#bytes += base64Bytes(data['audio']);
  }

  addOther(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
  }

  meter(usage: Readonly<Record<string, unknown>> | undefined, final: boolean): Meter {
    const reported = usage ? toReportedUsage(readUsage(usage)) : UNREPORTED_USAGE;
    return meterAudio(this.#bytes, this.#format, reported, final);
  }
}

/** The end of the audio waits for the settlement. */
const HELD_BYTES = 256;

class AudioBytes implements StreamConverter {
  readonly terminal = false;
  readonly passesBytes = true;
  readonly #format: string;
  #held: Uint8Array = Buffer.alloc(0);
  #bytes = 0;

  constructor(format: string) {
    this.#format = format;
  }

  get meter(): Meter {
    return meterAudio(this.#bytes, this.#format, UNREPORTED_USAGE, false);
  }

  push(chunk: Uint8Array): Uint8Array {
    this.#bytes += chunk.length;
    const all = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const cut = Math.max(0, all.length - HELD_BYTES);
    this.#held = Buffer.from(all.subarray(cut));
    return all.subarray(0, cut);
  }

  end(): StreamEnd {
    return this.#bytes === 0 ? { outcome: 'Cut' } : { outcome: 'Complete', last: this.#held };
  }
}
