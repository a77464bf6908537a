/** What a protocol does for the demo provider: openai.ts and anthropic.ts. */
import type { Answer } from './answer.ts';
import type { Json, Prompt } from './prompt.ts';
import type { PromptCache } from './prompt-cache.ts';

/** One event of a stream. Tokens: how many tokens of the answer it carries, which is where pauses and breaks apply. */
export interface StreamEvent {
  readonly text: string;
  readonly tokens: 0 | 1;
}

/** The input side of usage, by price class. */
export interface InputUsage {
  readonly uncached: number;
  readonly cached: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
}

export interface Exchange {
  readonly id: string;
  readonly body: Json;
  readonly prompt: Prompt;
  readonly answer: Answer;
  readonly input: InputUsage;
}

export interface Dialect {
  /** @throws BadRequest */
  parse(body: Json): Prompt;
  /** What this prompt's input counts as. */
  input(body: Json, prompt: Prompt, cache: PromptCache): InputUsage;
  whole(exchange: Exchange): unknown;
  stream(exchange: Exchange): StreamEvent[];
  error(status: number, message: string, param?: string): unknown;
  /** Headers of every answer. */
  headers(id: string): Readonly<Record<string, string>>;
}
