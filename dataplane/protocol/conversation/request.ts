/**
 * A conversation: the neutral form of a request. Every client dialect is read into it and every provider protocol is
 * written from it, so that a conversion is one reader and one writer. Values that a provider may be unable to express
 * carry the path of the client's field, by which errors and the list of dropped fields name them.
 */
import type { JsonRecord } from '../fields.ts';
import type { ReasoningProof } from './reasoning.ts';

/** The path of a field in the client's request: `messages[2].content[0].source`. */
export type Path = string;

/** A value and the client's field that it came from. */
export interface Located<Value> {
  readonly value: Value;
  readonly path: Path;
}

export interface Conversation {
  /** In the client's order. System turns before the first user's or assistant's turn are the system prompt. */
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly settings: Settings;
  /**
   * The client's dialect caches by itself: a provider that caches by marks places its own where the client has none.
   * Absent: what the client does not mark shall not be cached.
   */
  readonly automaticCaching?: boolean;
  /** What the client asks for that this form has no place for, in reading order. */
  readonly unread: readonly Unread[];
}

/** A field without a place in the conversation. */
export interface Unread {
  readonly path: Path;
  /** Refused: the call fails. Omitted: the response names it. */
  readonly handling: 'Refused' | 'Omitted';
  /** The reason that the client's field table gives; undefined if the table does not list the field. */
  readonly why: string | undefined;
}

export type Turn = SystemTurn | UserTurn | AssistantTurn;

export interface SystemTurn {
  readonly role: 'System';
  readonly parts: readonly TextPart[];
  readonly path: Path;
}

export interface UserTurn {
  readonly role: 'User';
  readonly parts: readonly UserPart[];
  readonly path: Path;
}

export interface AssistantTurn {
  readonly role: 'Assistant';
  readonly parts: readonly AssistantPart[];
  readonly path: Path;
}

export type MediaPart = ImagePart | AudioPart | VideoPart;
/** What a user says, and what a tool results in. */
export type ContentPart = TextPart | MediaPart | DocumentPart | SearchResultPart;
export type UserPart = ContentPart | ToolResultPart;
export type AssistantPart = TextPart | RefusalPart | ReasoningPart | ToolCallPart | ImagePart;

interface PartBase {
  /** Of media and documents: of the field with their source. */
  readonly path: Path;
  /** The client asks the provider to cache everything up to the end of this part. */
  readonly cache?: CacheMark | undefined;
}

/** A cache breakpoint and its lifetime; undefined: the provider's default. */
export interface CacheMark {
  readonly ttl: '5m' | '1h' | undefined;
}

export interface TextPart extends PartBase {
  readonly type: 'Text';
  readonly text: string;
  /** The client has it as a message of its own: where texts of a turn are joined, a blank line stands before it. */
  readonly separate?: boolean;
}

/** The assistant's explanation of why it refuses. */
export interface RefusalPart extends PartBase {
  readonly type: 'Refusal';
  readonly text: string;
}

/** `data` is base64. A file is kept at a provider, by its id. */
export type MediaSource =
  | { readonly type: 'Data'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'Url'; readonly url: string; readonly mediaType?: string | undefined }
  | { readonly type: 'File'; readonly id: string; readonly mediaType?: string | undefined };

export interface ImagePart extends PartBase {
  readonly type: 'Image';
  readonly source: MediaSource;
  /** OpenAI's `detail`; undefined: the provider decides. */
  readonly detail?: string | undefined;
}

export interface AudioPart extends PartBase {
  readonly type: 'Audio';
  readonly source: MediaSource;
}

export interface VideoPart extends PartBase {
  readonly type: 'Video';
  readonly source: MediaSource;
}

export interface DocumentPart extends PartBase {
  readonly type: 'Document';
  readonly source: DocumentSource;
  /** Its file name or title. */
  readonly title?: string | undefined;
  /** What the client says about it besides its content. */
  readonly context?: string | undefined;
}

export type DocumentSource =
  | MediaSource
  | { readonly type: 'Text'; readonly text: string }
  | { readonly type: 'Parts'; readonly parts: readonly (TextPart | ImagePart)[] };

export interface SearchResultPart extends PartBase {
  readonly type: 'SearchResult';
  readonly title: string;
  /** Where it was found, usually a URL. */
  readonly source: string;
  readonly texts: readonly string[];
}

export interface ToolResultPart extends PartBase {
  readonly type: 'ToolResult';
  readonly callId: string;
  readonly isError: boolean;
  readonly parts: readonly ContentPart[];
}

/** The model's own reasoning of an earlier response. */
export interface ReasoningPart extends PartBase {
  readonly type: 'Reasoning';
  /** Readable text; empty: none. */
  readonly text: string;
  /** Shows its maker that it is unchanged; undefined: it is not signed, and no provider that checks may get it. */
  readonly proof: ReasoningProof | undefined;
}

export interface ToolCallPart extends PartBase {
  readonly type: 'ToolCall';
  readonly id: string;
  /** The name as the client has it. */
  readonly name: string;
  readonly arguments: CallArguments;
}

/** A call's arguments in the form that the client sent: JSON text, which a model may have cut off, or an object. */
export type CallArguments = { readonly text: string } | { readonly value: JsonRecord };

/** A tool that the client runs. */
export interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  /** The JSON schema of its arguments; undefined: none are declared. */
  readonly schema: JsonRecord | undefined;
  /** Whether calls must match the schema; undefined: not stated. */
  readonly strict: Located<boolean> | undefined;
  /** Examples of arguments. */
  readonly examples: readonly unknown[];
  readonly cache: CacheMark | undefined;
  /** The tool takes one text. Its schema is then an object with the text as `input`. */
  readonly takesText: boolean;
  readonly path: Path;
}

export interface ToolChoice {
  readonly mode: 'Auto' | 'None' | 'Required';
  /** The tools that may be called; undefined: all. */
  readonly names: readonly string[] | undefined;
}

export type ResponseFormat =
  | { readonly type: 'Json' }
  /** One of these words. */
  | { readonly type: 'Words'; readonly words: readonly string[] }
  | {
      readonly type: 'Schema';
      readonly schema: JsonRecord;
      readonly name: string | undefined;
      readonly description: string | undefined;
      readonly strict: boolean | undefined;
    };

/** How much the model reasons, and what the client sees of it. */
export interface ReasoningSettings {
  readonly mode: 'Enabled' | 'Adaptive' | 'Disabled';
  /** In tokens; undefined: the model decides. */
  readonly budgetTokens: number | undefined;
  /** How much of it the client wants to see; undefined: not stated. */
  readonly display: 'Summarized' | 'Omitted' | undefined;
}

/** Absent: the model chooses. */
export interface ImageConfig {
  /** The ratio of width to height: `16:9`. */
  readonly shape?: string | undefined;
  /** `1K`, `2K` or `4K`. */
  readonly resolution?: string | undefined;
}

/** Settings of the whole call. Absent: the client leaves them to the provider. */
export interface Settings {
  readonly maxOutputTokens?: Located<number> | undefined;
  readonly temperature?: Located<number> | undefined;
  readonly topP?: Located<number> | undefined;
  readonly topK?: Located<number> | undefined;
  readonly seed?: Located<number> | undefined;
  readonly frequencyPenalty?: Located<number> | undefined;
  readonly presencePenalty?: Located<number> | undefined;
  readonly stop?: Located<readonly string[]> | undefined;
  /** Responses asked for. */
  readonly candidates?: Located<number> | undefined;
  /** What the response consists of: text, image, audio. Absent: text. */
  readonly modalities?: Located<readonly string[]> | undefined;
  /** How pictures are to be that the model makes. */
  readonly imageConfig?: Located<ImageConfig> | undefined;
  /** Log probabilities of the output, with this many alternatives for each token. */
  readonly logProbabilities?: Located<number> | undefined;
  /** OpenAI's effort: none, minimal, low, medium, high, xhigh or max; other words are for the provider to judge. */
  readonly effort?: Located<string> | undefined;
  readonly reasoning?: Located<ReasoningSettings> | undefined;
  /** low, medium or high. */
  readonly verbosity?: Located<string> | undefined;
  readonly responseFormat?: Located<ResponseFormat> | undefined;
  readonly toolChoice?: Located<ToolChoice> | undefined;
  readonly parallelToolCalls?: Located<boolean> | undefined;
  /** The client's id of its user, for abuse monitoring. */
  readonly user?: Located<string> | undefined;
  /** Calls with the same key are likely to share a prefix that the provider can cache. */
  readonly promptCacheKey?: Located<string> | undefined;
  /** The provider places a cache breakpoint at the end of the conversation. */
  readonly cache?: Located<CacheMark> | undefined;
  /** `standard` is the provider's default tier. */
  readonly serviceTier?: Located<string> | undefined;
}

export type SettingName = keyof Settings;
