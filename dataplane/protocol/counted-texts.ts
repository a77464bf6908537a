/** The input of a token count that no provider makes, in every dialect. */
import { writeJson } from './json-value.ts';

export interface CountedTexts {
  readonly texts: readonly string[];
  /** Messages and tools, to which a provider adds tokens of its own. */
  readonly units: number;
  readonly images: number;
  /** Documents that are not text. */
  readonly files: number;
}

/** The same while it is collected. */
export interface Collected {
  readonly texts: string[];
  images: number;
  files: number;
}

/** Adds a value as the JSON that a model reads. */
export function collectJson(collected: Collected, value: unknown): void {
  try {
    collected.texts.push(writeJson(value));
  } catch {
    // it nests too deeply to be written, and a provider would refuse it
  }
}
