/**
 * How long an audio file can be, by which a call with it is held, and how long it likely is. What a file says of its own
 * length is not believed: what a decoder plays of it is counted. A file of another kind is bounded by its size.
 */
import { asBuffer } from '../bytes.ts';
import { flacSeconds } from './flac.ts';
import { mp3Length } from './mp3.ts';
import { mp4Seconds } from './mp4.ts';
import { oggSeconds } from './ogg.ts';
import { wavSeconds } from './wav.ts';
import { webmSeconds } from './webm.ts';

/** Whole seconds, at least one. */
export interface AudioLength {
  readonly most: number;
  /** At most `most`. */
  readonly likely: number;
}

/** The lowest bit rate of speech that the bound by size takes for possible: 4 kbit/s. */
const LEAST_BYTES_PER_SECOND = 500;
/** Of speech in a lossy format: 32 kbit/s. */
const LIKELY_BYTES_PER_SECOND = 4_000;

/** Each returns undefined for a file of another kind, and for one whose sound it cannot count. */
const READERS: readonly ((file: Buffer) => number | undefined)[] = [
  wavSeconds,
  flacSeconds,
  oggSeconds,
  mp4Seconds,
  webmSeconds,
];

export function audioLength(bytes: Uint8Array): AudioLength {
  const file = asBuffer(bytes);
  for (const read of READERS) {
    const seconds = read(file);
    if (seconds !== undefined) return wholeSeconds(seconds, seconds);
  }
  const mp3 = mp3Length(file);
  // no bytes mark a file as an MP3, so that another decoder may find something else between its frames
  if (mp3) return plusBytes(mp3.seconds, mp3.otherBytes);
  return plusBytes(0, file.length);
}

/** Seconds that were counted, and bytes of sound that cannot be. */
function plusBytes(seconds: number, bytes: number): AudioLength {
  return wholeSeconds(seconds + bytes / LEAST_BYTES_PER_SECOND, seconds + bytes / LIKELY_BYTES_PER_SECOND);
}

function wholeSeconds(most: number, likely: number): AudioLength {
  return { most: whole(most), likely: whole(likely) };
}

/** Longer ones have no price that fits. */
const MOST_SECONDS = 10 ** 9;

function whole(seconds: number): number {
  return Math.min(MOST_SECONDS, Math.max(1, Math.ceil(seconds)));
}
