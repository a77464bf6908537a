/**
 * The facts about a request that routing, the price bound and policy need, in one form for all dialects. The gateway
 * reads no other fields, so that they pass through unchanged.
 */

/** The dialect of errors, decided by the path. */
export type Dialect = 'OpenAI' | 'Anthropic' | 'Gemini';

/** The dialects in which every chat model answers. Errors of Responses are OpenAI's. */
export type ChatDialect = Dialect | 'Responses';

/** Features whose price cannot be bounded; a call may use one only if the model's `allow` names it. */
export type UnboundedFeature = 'ServerTools' | 'ServiceTiers' | 'FileReferences' | 'PromptTemplates' | 'Audio';

export interface UnboundedUse {
  readonly feature: UnboundedFeature;
  /** Path of the field that asks for it: `tools[1].type`. */
  readonly param: string;
  /** What it asks for, where the feature's name does not say it. */
  readonly what?: string;
  /** What bounds its price, where the model's price has it; absent: nothing does. */
  readonly needs?: PricedWay;
  /** The field that would bound a tool with a price per use, and is missing. */
  readonly boundBy?: ToolLimit;
  /** A tool of ServerTools, which the call can do without. */
  readonly droppable?: true;
}

/** The field that limits the uses of a tool that the provider runs. */
export interface ToolLimit {
  readonly use: PricedUse;
  readonly field: 'max_uses' | 'max_tool_calls';
}

/** What becomes of tools that the provider runs, by the model's route. */
export type ProviderTools = 'Refuse' | 'Drop' | 'Allow';

/** A part of a price without which a call cannot be billed: a service tier, or a class of tokens. */
export type PricedWay =
  | { readonly serviceTier: string }
  | { readonly region: string }
  | { readonly tokens: 'audioInput' | 'audioOutput' }
  /** A tool that the provider runs, at most so often. */
  | { readonly use: PricedUse; readonly most: number };

/** Tools that providers run and charge by use. */
export type PricedUse = 'webSearch' | 'webFetch' | 'fileSearch';

export interface ChatFacts {
  readonly model: string;
  readonly stream: boolean;
  /** OpenAI: the client itself asked for stream_options.include_usage. */
  readonly wantsStreamUsage: boolean;
  /** The client's limit for each answer, from whichever field holds it; undefined: none. */
  readonly maxOutputTokens: number | undefined;
  /** Answers asked for (OpenAI `n`), at least 1. */
  readonly answers: number;
  /** Bytes of the body without base64 data of images: an upper bound on text tokens. */
  readonly textBytes: number;
  /** Messages, tools and similar units that a provider wraps with tokens of its own. */
  readonly units: number;
  readonly images: number;
  /** Path of the first image; undefined: none. */
  readonly imageParam: string | undefined;
  /** Documents by reference or whose tokens their bytes do not bound (PDF): each may fill the context. */
  readonly files: number;
  /** OpenAI `prediction`: its rejected tokens are billed as output beyond the limit. Upper bound in tokens. */
  readonly predictionTokens: number;
  /** Thinking budget, when the call sets one: the output limit cannot go below it. */
  readonly thinkingBudget: number | undefined;
  /** The call sets tools or an output schema, or compacts: its output limit is never lowered. */
  readonly fixedOutput: boolean;
  /** Responses: the id of a response that the gateway keeps, and that the call continues. */
  readonly continues?: string | undefined;
  /** Responses: the id of a conversation that the gateway keeps, and that the call is a turn of. */
  readonly conversation?: string | undefined;
  /** Responses: the client asks that the response is stored nowhere. */
  readonly unstored?: boolean;
  /** Responses: the provider goes on with the answer after the call. */
  readonly background?: boolean;
  /** Responses: the provider summarises the conversation, and bills what that takes, as for POST /v1/responses/compact. */
  readonly compacts?: boolean;
  /** It asks for one-hour cache writes. */
  readonly oneHourCache: boolean;
  /** The service tier that it asks for, `standard` among them; undefined: whichever the provider chooses. */
  readonly serviceTier?: string | undefined;
  /** The region that it asks for; undefined: none. */
  readonly region?: string | undefined;
  readonly unbounded: readonly UnboundedUse[];
}

/** A field that is missing or wrong: `param` is its path. */
export class RequestFault extends Error {
  override readonly name = 'RequestFault';
  readonly param: string | undefined;
  /** Which of the error table's 400 rows. */
  readonly code: 'invalid_json' | 'invalid_request' | 'unsupported_parameter';
  constructor(code: RequestFault['code'], message: string, param?: string) {
    super(message);
    this.code = code;
    this.param = param;
  }
}
