/**
 * How long an audio file can be, by which a call with it is held, and how long it likely is. What a file says of its own
 * length is not believed: its samples, frames or packets are counted. A file whose sound is not counted is taken by its
 * size, at a low bit rate; it may be longer.
 */
import { asBuffer } from '../bytes.ts';
import { flacSeconds } from './flac.ts';
import { mp3Length } from './mp3.ts';
import { mp4Seconds } from './mp4.ts';
import { oggLength } from './ogg.ts';
import { afterZeros, withoutTags } from './tags.ts';
import { wavSeconds } from './wav.ts';
import { webmSeconds } from './webm.ts';

/** Whole seconds, at least one. */
export interface AudioLength {
  readonly most: number;
  /** At most `most`. */
  readonly likely: number;
}

/** A low bit rate of speech, by which sound that is not counted is held: 4 kbit/s. */
export const LEAST_BYTES_PER_SECOND = 500;
/** Of speech in a lossy format: 32 kbit/s. */
const LIKELY_BYTES_PER_SECOND = 4_000;

/**
 * Each returns undefined for a file of another kind, and for one whose codec it does not count. It throws RequestFault
 * where a decoder may play more than it finds.
 */
const READERS: readonly ((file: Buffer) => number | undefined)[] = [wavSeconds, flacSeconds, mp4Seconds, webmSeconds];

/** Throws RequestFault for a file that cannot be counted though its format can. */
export function audioLength(bytes: Uint8Array): AudioLength {
  const file = withoutTags(asBuffer(bytes));
  for (const read of READERS) {
    const seconds = read(file);
    if (seconds !== undefined) return wholeSeconds(seconds, seconds);
  }
  const ogg = oggLength(file);
  if (ogg) return plusBytes(ogg.seconds, ogg.isOther ? file.length : 0);
  const mp3 = mp3Length(file.subarray(afterZeros(file)));
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

/** By which a sum of many fractions may be too high. */
const ROUNDING = 1e-6;

function whole(seconds: number): number {
  return Math.min(MOST_SECONDS, Math.max(1, Math.ceil(seconds - ROUNDING)));
}
