/** The functions of the demo provider that depend on the protocol: openai.ts and anthropic.ts. */
import type { Answer } from './answer.ts';
import type { Json, Prompt } from './prompt.ts';
import type { PromptCache } from './prompt-cache.ts';

/** One event of a stream. `tokens` is how many tokens of the answer it carries; pauses and breaks apply to these. */
export interface StreamEvent {
  readonly text: string;
  readonly tokens: 0 | 1;
}

/** The input's usage by price class. */
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
  /** Counts this prompt's input by class. */
  input(body: Json, prompt: Prompt, cache: PromptCache): InputUsage;
  whole(exchange: Exchange): unknown;
  stream(exchange: Exchange): StreamEvent[];
  error(status: number, message: string, param?: string): unknown;
  /** The headers of every response. */
  headers(id: string): Readonly<Record<string, string>>;
}
