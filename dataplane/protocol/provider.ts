/**
 * What the gateway must know of one kind of provider. A kind is a folder with a provider.ts in it (openai/, anthropic/), and a line
 * in providers.ts: how to prove who is calling, which headers it wants, how each client's calls are written for it and its answers
 * read, and what its errors say. docs/adding-a-provider.md goes through it.
 */
import type { Dialect } from './call-facts.ts';
import type { ConvertedJob, Converter, ProviderError, RequestPlan, UpstreamBody } from './converter.ts';

/** As a channel's `protocol` names it. */
export type ProviderKind = 'OpenAI' | 'Anthropic';

/** Videos: a call makes a job, about which more is asked later. */
export interface VideoJobs {
  /** `contentType`: of a request that is a form; undefined: JSON. */
  create(contentType: string | undefined): Converter;
  /** Where a job is, below the channel's base URL; its content is at /content below that. */
  path(jobId: string): string;
  /** What the provider says of a job. Throws SyntaxError where it is not about one. */
  read(body: Uint8Array): ConvertedJob;
}

/** Counts what a message in Anthropic's dialect would have as input. */
export interface TokenCounter {
  request(body: Uint8Array, parsed: Readonly<Record<string, unknown>>, plan: Pick<RequestPlan, 'upstreamModel'>): UpstreamBody;
  /** Undefined: it is no count. */
  read(body: Uint8Array): number | undefined;
}

export interface Provider {
  /** Chat, for a client of each dialect. Paths that a converter gives are below the channel's base URL. */
  readonly chat: Readonly<Record<Dialect, Converter>>;
  /** Endpoints of OpenAI's beside chat. Absent: it has none. */
  readonly embeddings?: Converter;
  readonly images?: Converter;
  readonly responses?: Converter;
  readonly videos?: VideoJobs;
  /** Absent: it does not count; the gateway estimates. */
  readonly tokenCounter?: TokenCounter;
  /** The header that shows a channel's key, name and value; names in lower case. */
  readonly credential: (apiKey: string) => readonly [string, string];
  /** Headers that it wants on every call, where the client says nothing else. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** Beginnings of clients' headers that are meant for other providers. */
  readonly foreignHeaders: readonly string[];
  /** A refusal in its own words, made fit for a caller's eyes. Never throws. */
  readonly readError: (status: number, body: Uint8Array) => ProviderError;
}
