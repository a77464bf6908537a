/**
 * What the gateway must know of one kind of provider. A kind is a folder with a provider.ts in it (openai/, anthropic/), and a line
 * in providers.ts: how to prove who is calling, which headers it wants, how each client's calls are written for it and its answers
 * read, and what its errors say. docs/adding-a-provider.md goes through it.
 */
import type { Dialect } from './call-facts.ts';
import type { Converter, ProviderError } from './converter.ts';

/** As a channel's `protocol` names it. */
export type ProviderKind = 'OpenAI' | 'Anthropic';

export interface Provider {
  /** Chat, for a client of each dialect. Paths that a converter gives are below the channel's base URL. */
  readonly chat: Readonly<Record<Dialect, Converter>>;
  /** Absent: it has none. */
  readonly embeddings?: Converter;
  readonly images?: Converter;
  /** The header that shows a channel's key, name and value; names in lower case. */
  readonly credential: (apiKey: string) => readonly [string, string];
  /** Headers that it wants on every call, where the client says nothing else. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** Beginnings of clients' headers that are meant for other providers. */
  readonly foreignHeaders: readonly string[];
  /** A refusal in its own words, made fit for a caller's eyes. Never throws. */
  readonly readError: (status: number, body: Uint8Array) => ProviderError;
}
