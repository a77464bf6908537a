/**
 * Writes turns as Gemini's contents: results of tools come first in their turn, and thought signatures return to their
 * parts.
 */
import { argumentsObject } from '../../conversation/arguments.ts';
import { signatureOfText, signaturesOfCalls } from '../../conversation/gemini-signatures.ts';
import type {
  AssistantPart,
  ContentPart,
  DocumentPart,
  MediaSource,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  UserPart,
} from '../../conversation/request.ts';
import type { RequestFault } from '../../call-facts.ts';
import { isStoredFile } from '../../gemini/stored-file.ts';
import { NO_SIGNATURE } from '../../gemini/thought-signature.ts';
import { searchResultText } from '../../conversation/texts.ts';
import type { JsonRecord } from '../../fields.ts';
import { unsupported } from '../../unsupported.ts';
import type { ToolNames } from '../../tool-ids.ts';
import { isGeneratedCallId } from './call-ids.ts';
import { LEVELS_FROM } from './model-version.ts';

export const NAME = 'Gemini';
/** The first generation that checks signatures. */
const CHECKS_FROM = 2.5;
/** Takes the place of an empty turn, because Gemini refuses a turn without parts. */
const NO_WORDS: JsonRecord = { text: '.' };
/** Google fetches the address itself, and needs to know what is there. */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
};

export interface ContentsContext {
  readonly names: ToolNames;
  /** Of the model (geminiVersion). */
  readonly version: number;
}

/** An empty text becomes nothing. */
export function textParts(texts: readonly string[]): readonly JsonRecord[] {
  return texts.filter((text) => text !== '').map((text) => ({ text }));
}

/** Turns alternate, and each result has its call before it (conversation/prepare.ts). */
export function writeContents(turns: readonly Turn[], context: ContentsContext): readonly JsonRecord[] {
  const writer = new ContentsWriter(context, turns);
  return turns.map((turn) => {
    const parts = turn.role === 'Assistant' ? writer.ofModel(turn.parts) : writer.ofUser(turn.parts);
    return { role: turn.role === 'Assistant' ? 'model' : 'user', parts: parts.length > 0 ? parts : [NO_WORDS] };
  });
}

class ContentsWriter {
  readonly #context: ContentsContext;
  readonly #signatures: ReadonlyMap<string, string>;
  /** The sent names of tools, by the ids of their calls: Gemini wants both with a result. */
  readonly #called = new Map<string, unknown>();

  constructor(context: ContentsContext, turns: readonly Turn[]) {
    this.#context = context;
    this.#signatures = signaturesOfCalls(turns);
  }

  ofUser(parts: readonly UserPart[]): readonly JsonRecord[] {
    const written = parts.map((part) => (part.type === 'ToolResult' ? this.#writeResult(part) : writePart(part)));
    const isResult = (part: JsonRecord): boolean => part['functionResponse'] !== undefined;
    const all = written.flat();
    return [...all.filter(isResult), ...all.filter((part) => !isResult(part))];
  }

  ofModel(parts: readonly AssistantPart[]): readonly JsonRecord[] {
    return this.#sign(
      parts.flatMap((part) => this.#writeOfModel(part)),
      signatureOfText(parts),
    );
  }

  #writeOfModel(part: AssistantPart): readonly JsonRecord[] {
    switch (part.type) {
      case 'Text':
      case 'Refusal':
        return textParts([part.text]);
      case 'Image':
        return [writeMedia(part.source, part.path)];
      case 'ToolCall':
        return [this.#writeCall(part)];
      // its signature goes to the part that it belongs to
      case 'Reasoning':
        return [];
    }
  }

  #writeCall(part: ToolCallPart): JsonRecord {
    const name = this.#context.names.send(part.name);
    this.#called.set(part.id, name);
    const thoughtSignature = this.#signatures.get(part.id);
    return {
      functionCall: { ...idOf(part.id), name, args: argumentsObject(part.arguments) },
      ...(thoughtSignature !== undefined && { thoughtSignature }),
    };
  }

  #writeResult({ callId, isError, parts: given }: ToolResultPart): readonly JsonRecord[] {
    const parts = given.flatMap(writePart);
    const text = parts.flatMap((part) => (typeof part['text'] === 'string' ? [part['text']] : [])).join('\n');
    const media = parts.filter((part) => part['text'] === undefined);
    const inside = media.length > 0 && this.#context.version >= LEVELS_FROM;
    const functionResponse = {
      ...idOf(callId),
      name: this.#called.get(callId),
      response: { [isError ? 'error' : 'output']: text },
      ...(inside && { parts: media }),
    };
    return [{ functionResponse }, ...(inside ? [] : media)];
  }

  /** A turn's first call needs a signature; one that another model made gets the value that skips the check. */
  #sign(parts: readonly JsonRecord[], signature: string | undefined): readonly JsonRecord[] {
    const lastText = parts.findLastIndex(({ text }) => text !== undefined);
    const firstCall = parts.findIndex(({ functionCall }) => functionCall !== undefined);
    const withText = signature === undefined || lastText >= 0 ? parts : [...parts, { text: '' }];
    return withText.map((part, index) => {
      if (signature !== undefined && part['text'] !== undefined && (index === lastText || lastText < 0))
        return { ...part, thoughtSignature: signature };
      const bare = index === firstCall && part['thoughtSignature'] === undefined;
      return bare && this.#context.version >= CHECKS_FROM ? { ...part, thoughtSignature: NO_SIGNATURE } : part;
    });
  }
}

/** Ids that the gateway generated for calls without one are not sent to Gemini. */
function idOf(id: string): JsonRecord {
  return isGeneratedCallId(id) ? {} : { id };
}

function writePart(part: ContentPart): readonly JsonRecord[] {
  switch (part.type) {
    case 'Text':
      return textParts([part.text]);
    case 'Image':
    case 'Audio':
    case 'Video':
      return [writeMedia(part.source, part.path)];
    case 'Document':
      return writeDocument(part);
    case 'SearchResult':
      return textParts([searchResultText(part)]);
  }
}

function writeMedia(source: MediaSource, path: string): JsonRecord {
  switch (source.type) {
    case 'Data':
      return { inlineData: { mimeType: source.mediaType, data: source.data } };
    case 'Url':
      return writeUrl(source.url, source.mediaType ?? typeOfUrl(source.url), path);
    case 'File':
      throw storedFile(path);
  }
}

/** A file of the Gemini API would be read with the gateway's own account, whoever has stored it. */
function writeUrl(fileUri: string, mimeType: string | undefined, path: string): JsonRecord {
  if (isStoredFile(fileUri)) throw storedFile(path);
  return { fileData: { fileUri, mimeType } };
}

function storedFile(path: string): RequestFault {
  return unsupported(path, NAME, 'the file is kept at another provider');
}

/** Undefined: the name does not show what is there. */
function typeOfUrl(url: string): string | undefined {
  const ending = /\.([a-z0-9]{3,4})(?:[?#].*)?$/i.exec(url)?.[1];
  return ending === undefined ? undefined : TYPES[ending.toLowerCase()];
}

function writeDocument({ source, title, context, path }: DocumentPart): readonly JsonRecord[] {
  const about = textParts([title === undefined ? '' : `Title: ${title}`, context ?? '']);
  switch (source.type) {
    case 'Text':
      return [...about, ...textParts([source.text])];
    case 'Parts':
      return [...about, ...source.parts.flatMap(writePart)];
    case 'Url':
      return [...about, writeUrl(source.url, source.mediaType ?? 'application/pdf', path)];
    case 'Data':
    case 'File':
      return [...about, writeMedia(source, path)];
  }
}

/** `instructions`: paragraphs for its end. Undefined: it is empty. */
export function writeSystem(system: readonly TextPart[], instructions: readonly string[]): JsonRecord | undefined {
  const parts = textParts([...system.map(({ text }) => text), ...instructions]);
  return parts.length > 0 ? { parts } : undefined;
}
