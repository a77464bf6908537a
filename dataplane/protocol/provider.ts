/**
 * Describes one kind of provider: credentials, headers, converters and errors. A kind is a folder
 * with a provider.ts (openai/, anthropic/) and a line in providers.ts. docs/contributing/adding-a-provider.md explains
 * how to add one.
 */
import type { ChatDialect, Dialect } from './call-facts.ts';
import type { CostFields } from './cost-fields.ts';
import type { Converter, ProviderError, RequestPlan, UpstreamBody } from './converter.ts';
import type { OpenAIEndpoints } from './openai/endpoints.ts';
import type { PlatformPlan } from './platforms/platform-request.ts';

/** The value of a channel's `protocol`. */
export type ProviderKind = 'OpenAI' | 'Anthropic' | 'BedrockConverse' | 'Gemini';

/** The dialects that have an endpoint for counting tokens. */
export type CountedDialect = Extract<ChatDialect, 'Anthropic' | 'Responses' | 'Gemini'>;

/** Counts the input tokens of a request in the provider's own dialect. */
export interface TokenCounter {
  request(
    body: Uint8Array,
    parsed: Readonly<Record<string, unknown>>,
    plan: Pick<RequestPlan, 'upstreamModel' | 'seal' | 'platform'>,
  ): UpstreamBody;
  /** Undefined: the response holds no count. */
  read(body: Uint8Array): number | undefined;
}

/** Google's methods of models besides those of conversations. */
export interface GeminiEndpoints {
  readonly embedContent: Converter;
  readonly batchEmbedContents: Converter;
  readonly predict: Converter;
}

export interface Provider {
  /** For chat, by the client's dialect. */
  readonly chat: Readonly<Record<ChatDialect, Converter>>;
  /** The same for models that Responses serve instead of chat completions. Absent: the protocol has one API. */
  readonly chatByResponses?: Readonly<Record<Dialect, Converter>>;
  /** Those that it serves of OpenAI's endpoints besides chat. Absent: none. */
  readonly endpoints?: Partial<OpenAIEndpoints>;
  /** OpenAI's generations of images at Imagen, which has an API of its own. Absent: the provider has no Imagen. */
  readonly imagen?: Converter;
  /** Those that it serves. Absent: none. */
  readonly geminiEndpoints?: Partial<GeminiEndpoints>;
  /**
   * By dialect; absent: the provider does not count its tokens, and the gateway estimates them. Where the protocol has
   * two APIs, Responses count what they serve.
   */
  readonly tokenCounters?: Readonly<Partial<Record<CountedDialect, TokenCounter>>>;
  /** The header for a channel's API key: name in lower case, and value. */
  readonly credential: (apiKey: string) => readonly [string, string];
  /** Headers for every call, unless the client sends its own. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /**
   * The client's headers that are forwarded besides those of every protocol (upstream/headers.ts), in lower case; a '*'
   * at the end of a name stands for any rest.
   */
  readonly clientHeaders: readonly string[];
  /** Fields that change the price of a request in the provider's own dialect, which passes through; absent: none. */
  readonly costFields?: CostFields;
  /** Reads an error response, redacted for callers. Never throws. `platform`: absent: the provider's own. */
  readonly readError: (status: number, body: Uint8Array, platform?: PlatformPlan['platform']) => ProviderError;
}
