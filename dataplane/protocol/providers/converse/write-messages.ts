/** Writes turns as messages of Converse: cache points follow what is cached, and a document is never alone. */
import { argumentsObject } from '../../conversation/arguments.ts';
import type {
  AssistantPart,
  CacheMark,
  ContentPart,
  DocumentPart,
  ImagePart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  UserPart,
} from '../../conversation/request.ts';
import { searchResultText } from '../../conversation/texts.ts';
import { isGiven } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { toBoundedToolUseId } from '../../tool-ids.ts';
import type { ToolNames } from '../../tool-ids.ts';
import { unsupported } from '../../unsupported.ts';
import type { ModelFamily } from './model-family.ts';

export const NAME = 'Converse';
/** Takes the place of an empty turn, and accompanies a document, because Converse requires text there. */
const NO_WORDS: JsonRecord = { text: '.' };
const IMAGE_FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'gif', 'webp']);
const MAX_DOCUMENT_NAME = 180;
const MAX_ID_LENGTH = 64;

/** The client's cache marks. Only some models cache; only Claude caches tools, or for an hour. */
export class CachePoints {
  readonly #caches: boolean;
  readonly #family: ModelFamily;

  constructor(caches: boolean, family: ModelFamily) {
    this.#caches = caches;
    this.#family = family;
  }

  /** The cache point that follows something with this mark; none without one. */
  after(mark: CacheMark | undefined): readonly JsonRecord[] {
    if (!this.#caches || !mark) return [];
    const isLong = mark.ttl === '1h' && this.#family === 'Claude';
    return [{ cachePoint: { type: 'default', ...(isLong && { ttl: '1h' }) } }];
  }

  afterTool(mark: CacheMark | undefined): readonly JsonRecord[] {
    return this.#family === 'Claude' ? this.after(mark) : [];
  }
}

export interface MessagesContext {
  readonly names: ToolNames;
  readonly caches: CachePoints;
  /** At the end of the conversation. */
  readonly cache: CacheMark | undefined;
}

export interface WrittenMessages {
  readonly messages: readonly JsonRecord[];
  /** The names of the tools that the conversation has called, as they are sent. */
  readonly calledTools: ReadonlySet<string>;
}

function toConverseId(id: string): string {
  return toBoundedToolUseId(id, MAX_ID_LENGTH);
}

/** Converse refuses a blank text. */
function textBlocks(text: string): readonly JsonRecord[] {
  return text.trim() === '' ? [] : [{ text }];
}

/** Undefined: it is empty. */
export function writeSystem(system: readonly TextPart[], caches: CachePoints): readonly JsonRecord[] | undefined {
  const blocks = system.flatMap(({ text, cache }) => withCache(textBlocks(text), caches.after(cache)));
  return blocks.length > 0 ? blocks : undefined;
}

/** Nothing is cached of what is left out. */
function withCache(blocks: readonly JsonRecord[], cachePoints: readonly JsonRecord[]): readonly JsonRecord[] {
  return blocks.length > 0 ? [...blocks, ...cachePoints] : [];
}

/** Turns alternate, and each result has its call before it (conversation/prepare.ts). */
export function writeMessages(turns: readonly Turn[], context: MessagesContext): WrittenMessages {
  const writer = new MessagesWriter(context);
  const messages = turns.map((turn, index) => {
    const isAssistant = turn.role === 'Assistant';
    const content = isAssistant ? writer.ofAssistant(turn.parts) : writer.ofUser(turn.parts);
    const ending = index === turns.length - 1 ? context.caches.after(context.cache) : [];
    return withWords(isAssistant ? 'assistant' : 'user', [...content, ...ending]);
  });
  return { messages, calledTools: writer.calledTools };
}

function withWords(role: string, content: readonly JsonRecord[]): JsonRecord {
  const has = (kind: string): boolean => content.some((block) => isGiven(block[kind]));
  const isAlone = has('document') && !has('text');
  return { role, content: content.length === 0 || isAlone ? [...content, NO_WORDS] : content };
}

class MessagesWriter {
  readonly calledTools = new Set<string>();
  readonly #context: MessagesContext;
  readonly #documents = new DocumentNames();

  constructor(context: MessagesContext) {
    this.#context = context;
  }

  ofUser(parts: readonly UserPart[]): readonly JsonRecord[] {
    return parts.flatMap((part) =>
      this.#cached(part.type === 'ToolResult' ? [this.#writeResult(part)] : this.#writePart(part), part.cache),
    );
  }

  ofAssistant(parts: readonly AssistantPart[]): readonly JsonRecord[] {
    return parts.flatMap((part) => this.#cached(this.#writeOfAssistant(part), part.cache));
  }

  #cached(blocks: readonly JsonRecord[], mark: CacheMark | undefined): readonly JsonRecord[] {
    return withCache(blocks, this.#context.caches.after(mark));
  }

  #writeOfAssistant(part: AssistantPart): readonly JsonRecord[] {
    switch (part.type) {
      case 'Text':
      case 'Refusal':
        return textBlocks(part.text);
      // images are the user's by now (conversation/prepare.ts)
      case 'Image':
        return [];
      case 'Reasoning':
        return writeReasoning(part);
      case 'ToolCall':
        return [this.#writeCall(part)];
    }
  }

  #writeCall(part: ToolCallPart): JsonRecord {
    const name = this.#context.names.send(part.name);
    if (typeof name === 'string') this.calledTools.add(name);
    return { toolUse: { toolUseId: toConverseId(part.id), name, input: argumentsObject(part.arguments) } };
  }

  #writeResult({ callId, isError, parts }: ToolResultPart): JsonRecord {
    const content = parts.flatMap((part) => this.#writePart(part));
    return {
      toolResult: {
        toolUseId: toConverseId(callId),
        content: content.length > 0 ? content : [NO_WORDS],
        ...(isError && { status: 'error' }),
      },
    };
  }

  #writePart(part: ContentPart): readonly JsonRecord[] {
    switch (part.type) {
      case 'Text':
        return textBlocks(part.text);
      case 'Image':
        return writeImage(part);
      case 'Document':
        return this.#writeDocument(part);
      case 'SearchResult':
        return textBlocks(searchResultText(part));
      case 'Audio':
      case 'Video':
        throw unsupported(part.path, NAME, 'there is no such part');
    }
  }

  #writeDocument({ source, title, context = '', path }: DocumentPart): readonly JsonRecord[] {
    const about = textBlocks(context);
    const name = title ?? '';
    switch (source.type) {
      case 'Data':
        if (source.mediaType !== 'application/pdf') throw unsupported(path, NAME, 'a document is a PDF or text');
        return [...about, this.#document('pdf', name, source.data)];
      case 'Text':
        return [...about, this.#document('txt', name, Buffer.from(source.text).toString('base64'))];
      case 'Parts':
        return [
          ...textBlocks(title === undefined ? '' : `Title: ${title}`),
          ...about,
          ...source.parts.flatMap((part) => this.#writePart(part)),
        ];
      case 'Url':
        throw unsupported(path, NAME, 'Bedrock fetches nothing: send the data');
      case 'File':
        throw unsupported(path, NAME, 'the file is kept at another provider');
    }
  }

  #document(format: string, title: string, bytes: string): JsonRecord {
    return { document: { format, name: this.#documents.next(title), source: { bytes } } };
  }
}

/** Names a request's documents; Converse requires unique names. */
class DocumentNames {
  readonly #used = new Set<string>();

  /** The next unique name, reduced to characters that Converse accepts. */
  next(title: string): string {
    const words = title
      .replace(/[^A-Za-z0-9()[\]-]+/g, ' ')
      .trim()
      .slice(0, MAX_DOCUMENT_NAME);
    const name = words === '' ? 'document' : words;
    let unique = name;
    for (let count = 2; this.#used.has(unique); count++) unique = `${name} (${count})`;
    this.#used.add(unique);
    return unique;
  }
}

function writeImage({ source, path }: ImagePart): readonly JsonRecord[] {
  if (source.type === 'Url') throw unsupported(path, NAME, 'Bedrock fetches nothing: send the data');
  const format = source.type === 'Data' ? source.mediaType.replace(/^image\//, '') : '';
  if (source.type !== 'Data' || !IMAGE_FORMATS.has(format))
    throw unsupported(path, NAME, 'an image is the data of a png, jpeg, gif or webp');
  return [{ image: { format, source: { bytes: source.data } } }];
}

/** The data of redacted reasoning must be base64 here, which it need not be elsewhere. */
function writeReasoning({ text, proof }: ReasoningPart): readonly JsonRecord[] {
  if (proof?.maker !== 'Anthropic') return [];
  if ('signature' in proof) return [{ reasoningContent: { reasoningText: { text, signature: proof.signature } } }];
  const { redacted: data } = proof;
  const isBase64 = data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
  return isBase64 ? [{ reasoningContent: { redactedContent: data } }] : [];
}
