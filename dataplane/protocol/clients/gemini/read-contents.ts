/**
 * Reads Google's contents into turns. Calls and their results find each other by id, or by name where a client keeps no
 * ids.
 */
import { openReasoning } from '../../conversation/sealed-reasoning.ts';
import type { AssistantPart, TextPart, Turn, UserPart } from '../../conversation/request.ts';
import { readFields } from '../../field-table.ts';
import type { ConvertedFields, UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, readRecords, recordOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { readSignature } from '../../gemini/thought-signature.ts';
import { malformed } from '../../unsupported.ts';
import type { ReadContext } from '../client.ts';
import { readFile, readFunctionResponse, readInline } from './read-parts.ts';
import { CONTENT, FUNCTION_CALL, PART, SYSTEM } from './table.ts';

type Part = ConvertedFields<NonNullable<typeof PART.converted>>;

export interface ContentsContext extends ReadContext {
  readonly unread: UnreadField[];
}

/** The system prompt; none, if there is no instruction. */
export function readSystem(instruction: unknown, { unread }: ContentsContext): readonly Turn[] {
  if (!isGiven(instruction)) return [];
  const param = 'systemInstruction';
  if (!isRecord(instruction)) throw malformed(param, 'an object with parts');
  const { parts } = readFields(SYSTEM, instruction, { param, unread });
  const texts = readRecords(parts, `${param}.parts`).flatMap((part, index): readonly TextPart[] => {
    const path = `${param}.parts[${index}]`;
    const { text } = readFields(PART, part, { param: path, unread });
    if (typeof text === 'string') return [{ type: 'Text', text, path }];
    unread.push({ path, handling: 'Refused', why: 'only text may stand here' });
    return [];
  });
  return [{ role: 'System', parts: texts, path: param }];
}

/** Throws RequestFault where there is no content. */
export function readContents(value: unknown, context: ContentsContext): readonly Turn[] {
  const reader = new ContentsReader(context);
  const turns = readRecords(value, 'contents').map((content, index) => reader.read(content, `contents[${index}]`));
  if (turns.length === 0) throw malformed('contents', 'a list with at least one content of the user');
  return joinPieces(turns);
}

/** Clients keep each piece of a stream as a part, or as a content, of its own. */
function joinPieces(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (turn.role !== 'Assistant') joined.push(turn);
    else if (last?.role !== 'Assistant') joined.push({ ...turn, parts: joinTexts(turn.parts) });
    else joined[joined.length - 1] = { ...last, parts: joinTexts([...last.parts, ...turn.parts]) };
  }
  return joined;
}

/** A call that has no result yet. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
}

class ContentsReader {
  readonly #context: ContentsContext;
  #openCalls: OpenCall[] = [];
  #calls = 0;
  /** The last content was the model's. */
  #goesOn = false;

  constructor(context: ContentsContext) {
    this.#context = context;
  }

  read(content: JsonRecord, path: string): Turn {
    const { role, parts } = readFields(CONTENT, content, { param: path, unread: this.#context.unread });
    const given = readRecords(parts, `${path}.parts`).map((part, index) => ({ part, path: `${path}.parts[${index}]` }));
    const own = given.filter((each) => !this.#isServerStep(each.part, each.path));
    const isModel = role === 'model';
    if (isModel && !this.#goesOn) this.#openCalls = [];
    this.#goesOn = isModel;
    return isModel
      ? { role: 'Assistant', parts: own.flatMap((each) => this.#ofModel(this.#fields(each), each.path)), path }
      : { role: 'User', parts: own.flatMap((each) => this.#ofUser(this.#fields(each), each.path)), path };
  }

  #fields({ part, path }: { readonly part: JsonRecord; readonly path: string }): Part {
    return readFields(PART, part, { param: path, unread: this.#context.unread });
  }

  /** Whether it is a step of a provider's tool, which is listed. */
  #isServerStep(part: JsonRecord, path: string): boolean {
    const step = Object.keys(part).find((name) => isGiven(part[name]) && PART.fields.get(name)?.action === 'Omitted');
    if (step === undefined) return false;
    const handling = this.#context.providerTools === 'Refuse' ? 'Refused' : 'Omitted';
    this.#context.unread.push({ path: `${path}.${step}`, handling, why: 'the provider runs no such tool' });
    return true;
  }

  #refuse(path: string, why: string): readonly never[] {
    this.#context.unread.push({ path, handling: 'Refused', why });
    return [];
  }

  #ofUser(part: Part, path: string): readonly UserPart[] {
    const { unread } = this.#context;
    if (isGiven(part.functionResponse)) {
      const { id, name, result } = readFunctionResponse(part.functionResponse, path, unread);
      return [{ ...result, callId: this.#callOf(id, name) }];
    }
    if (isGiven(part.functionCall)) return this.#refuse(`${path}.functionCall`, 'the model calls');
    if (isGiven(part.inlineData)) return readInline(part.inlineData, `${path}.inlineData`, unread);
    if (isGiven(part.fileData)) return readFile(part.fileData, `${path}.fileData`, unread);
    const text = part.thought === true ? undefined : textOf(part.text);
    return text === undefined ? [] : [{ type: 'Text', text, path }];
  }

  #ofModel(part: Part, path: string): readonly AssistantPart[] {
    for (const name of ['fileData', 'functionResponse'] as const)
      if (isGiven(part[name])) return this.#refuse(`${path}.${name}`, 'a model responds with text, images and calls');
    const reasoning = this.#reasoningIn(part.thoughtSignature, path);
    if (isGiven(part.functionCall)) return [...reasoning, this.#readCall(part.functionCall, path)];
    if (isGiven(part.inlineData)) return [...reasoning, ...this.#imageOf(part.inlineData, `${path}.inlineData`)];
    const text = part.thought === true ? undefined : textOf(part.text);
    return text === undefined ? reasoning : [...reasoning, { type: 'Text', text, path }];
  }

  #imageOf(value: unknown, path: string): readonly AssistantPart[] {
    const [file] = readInline(value, path, this.#context.unread);
    return file?.type === 'Image' ? [file] : this.#refuse(path, 'a model responds with text, images and calls');
  }

  #readCall(value: unknown, path: string): AssistantPart {
    const param = `${path}.functionCall`;
    if (!isRecord(value)) throw malformed(param, 'an object');
    const { id: given, name, args } = readFields(FUNCTION_CALL, value, { param, unread: this.#context.unread });
    const id = textOf(given) ?? `call_${this.#calls}`;
    this.#calls++;
    this.#openCalls.push({ id, name: stringOf(name) });
    return {
      type: 'ToolCall',
      id,
      name: stringOf(name),
      arguments: { value: recordOf(args) },
      path: param,
    };
  }

  /** The id of the open call that this is the result of. */
  #callOf(id: string | undefined, name: string): string {
    const index = this.#openCalls.findIndex((call) => call.id === id);
    const place = index >= 0 ? index : this.#openCalls.findIndex((call) => call.name === name);
    const [call] = place >= 0 ? this.#openCalls.splice(place, 1) : [];
    return call?.id ?? id ?? '';
  }

  #reasoningIn(signature: unknown, path: string): readonly AssistantPart[] {
    return readSignature(signature).flatMap((sealed): readonly AssistantPart[] => {
      const kept = openReasoning(this.#context.seal, sealed);
      return kept ? [{ type: 'Reasoning', ...kept, path }] : [];
    });
  }
}

function joinTexts(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const joined: AssistantPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === 'Text' && last?.type === 'Text')
      joined[joined.length - 1] = { ...last, text: last.text + part.text };
    else joined.push(part);
  }
  return joined;
}
