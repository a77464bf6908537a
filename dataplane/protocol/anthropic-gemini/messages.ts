/**
 * Converts Anthropic's messages to Gemini's contents: turns of one side are joined, results of tools come first in
 * theirs, and thought signatures return to their parts.
 */
import type { ModelCapabilities } from '../capabilities.ts';
import type { RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { isOmittedKind, readKind, readObject, readType } from '../field-table.ts';
import { isGiven, isRecord, readMessages, readRecords, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { toolParam } from '../provider-tools.ts';
import type { ToolNames } from '../tool-ids.ts';
import { malformed } from '../unsupported.ts';
import { convertBlock, location, textPart } from './blocks.ts';
import { LEVELS_FROM } from './model-version.ts';
import { isGeneratedCallId } from './response.ts';
import { NO_SIGNATURE, readSignature, signaturesOfCalls } from './signatures.ts';
import {
  ASSISTANT_BLOCKS,
  MESSAGE,
  ROLES,
  SYSTEM_BLOCKS,
  TEXT_BLOCK,
  THINKING_BLOCK,
  TOOL_RESULT_BLOCK,
  TOOL_USE_BLOCK,
  USER_BLOCKS,
} from './table.ts';

export interface ConversionContext {
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly capabilities: ModelCapabilities;
  readonly providerTools: RequestPlan['providerTools'];
  /** Of the model (geminiVersion). */
  readonly version: number;
}

interface Turn {
  readonly role: 'user' | 'model';
  readonly parts: JsonRecord[];
  /** The signature of the turn's text. */
  signature?: string;
}

/** Takes the place of an empty turn, because Gemini refuses a turn without parts. */
const NO_WORDS: JsonRecord = { text: '.' };

export function convertMessages(messages: unknown, context: ConversionContext): readonly JsonRecord[] {
  const given = readMessages({ messages });
  const converter = new MessageConverter(context, signaturesOfCalls(given));
  const turns: Turn[] = [];
  for (const [index, message] of given.entries()) {
    const turn = converter.convert(message, `messages[${index}]`);
    const last = turns.at(-1);
    if (last?.role !== turn.role) {
      turns.push(turn);
      continue;
    }
    last.parts.push(...turn.parts);
    if (turn.signature !== undefined) last.signature = turn.signature;
  }
  return turns.map((turn) => ({ role: turn.role, parts: partsOf(turn, context.version) }));
}

function partsOf(turn: Turn, version: number): readonly JsonRecord[] {
  const parts = turn.role === 'user' ? resultsFirst(turn.parts) : signed(turn, version);
  return parts.length > 0 ? parts : [NO_WORDS];
}

function resultsFirst(parts: readonly JsonRecord[]): readonly JsonRecord[] {
  const isResult = (part: JsonRecord): boolean => isGiven(part['functionResponse']);
  return [...parts.filter(isResult), ...parts.filter((part) => !isResult(part))];
}

/** A turn's first call needs a signature; one that another model made gets the value that skips the check. */
function signed({ parts, signature }: Turn, version: number): readonly JsonRecord[] {
  const lastText = parts.findLastIndex(({ text }) => text !== undefined);
  const firstCall = parts.findIndex(({ functionCall }) => functionCall !== undefined);
  const withText = signature === undefined || lastText >= 0 ? parts : [...parts, { text: '' }];
  return withText.map((part, index) => {
    if (signature !== undefined && part['text'] !== undefined && (index === lastText || lastText < 0))
      return { ...part, thoughtSignature: signature };
    const bare = index === firstCall && part['thoughtSignature'] === undefined;
    return bare && version >= LEVELS_FROM ? { ...part, thoughtSignature: NO_SIGNATURE } : part;
  });
}

/** `instructions`: paragraphs for its end. Undefined: it is empty. */
export function convertSystem(system: unknown, instructions: readonly string[]): JsonRecord | undefined {
  const parts = [...systemParts(system, 'system'), ...instructions.flatMap((text) => textPart(text))];
  return parts.length > 0 ? { parts } : undefined;
}

function systemParts(system: unknown, param: string): readonly JsonRecord[] {
  if (!isGiven(system) || typeof system === 'string') return textPart(system);
  return readRecords(system, param).flatMap((block, index) => {
    const blockParam = `${param}[${index}]`;
    readType(SYSTEM_BLOCKS, block, location(blockParam));
    return textPart(readObject(TEXT_BLOCK, block, location(blockParam)).text);
  });
}

class MessageConverter {
  readonly #context: ConversionContext;
  readonly #signatures: ReadonlyMap<string, string>;
  /** The sent names of tools, by the ids of their calls: Gemini wants both with a result. */
  readonly #called = new Map<string, unknown>();

  constructor(context: ConversionContext, signatures: ReadonlyMap<string, string>) {
    this.#context = context;
    this.#signatures = signatures;
  }

  convert(message: JsonRecord, param: string): Turn {
    if (!ROLES.kinds.has(stringOf(message['role'])))
      throw malformed(`${param}.role`, 'one of user, assistant and system');
    const role = readKind(ROLES, message['role'], location(`${param}.role`));
    const { content } = readObject(MESSAGE, message, location(param));
    if (role === 'system') return { role: 'user', parts: [...systemParts(content, `${param}.content`)] };
    const side = role === 'user' ? 'user' : 'model';
    if (typeof content === 'string') return { role: side, parts: [...textPart(content)] };
    const blocks = readRecords(content, `${param}.content`);
    const convertOne = role === 'user' ? this.#convertUser.bind(this) : this.#convertAssistant.bind(this);
    const turn: Turn = {
      role: side,
      parts: blocks.flatMap((block, index) => convertOne(block, `${param}.content[${index}]`)),
    };
    for (const block of role === 'assistant' ? blocks : []) {
      const signature = readSignature(block);
      if (signature && signature.callId === undefined) turn.signature = signature.signature;
    }
    return turn;
  }

  #convertUser(block: JsonRecord, param: string): readonly JsonRecord[] {
    if (readType(USER_BLOCKS, block, location(param)) !== 'tool_result') return convertBlock(block, param);
    const { tool_use_id: id, content, is_error: isError } = readObject(TOOL_RESULT_BLOCK, block, location(param));
    const name = this.#called.get(stringOf(id));
    if (name === undefined) throw malformed(`${param}.tool_use_id`, 'the id of an earlier tool_use block');
    const parts =
      typeof content === 'string'
        ? textPart(content)
        : readRecords(content, `${param}.content`).flatMap((inner, index) =>
            convertBlock(inner, `${param}.content[${index}]`),
          );
    const text = parts.map((part) => stringOf(part['text'])).join('');
    const media = parts.filter((part) => part['text'] === undefined);
    const inside = media.length > 0 && this.#context.version >= LEVELS_FROM;
    const result = {
      ...idOf(stringOf(id)),
      name,
      response: { [isError === true ? 'error' : 'output']: text },
      ...(inside && { parts: media }),
    };
    return [{ functionResponse: result }, ...(inside ? [] : media)];
  }

  #convertAssistant(block: JsonRecord, param: string): readonly JsonRecord[] {
    const { dropped, providerTools } = this.#context;
    // a step of a tool that Anthropic ran: the text after it contains the outcome
    if (providerTools !== 'Refuse' && isOmittedKind(ASSISTANT_BLOCKS, block['type'])) {
      dropped.add(toolParam(param, block));
      return [];
    }
    switch (readType(ASSISTANT_BLOCKS, block, location(param))) {
      case 'text':
        return textPart(readObject(TEXT_BLOCK, block, location(param)).text);
      case 'thinking':
        readObject(THINKING_BLOCK, block, location(param));
        return [];
      case 'redacted_thinking':
        return [];
      case 'tool_use':
        return [this.#convertCall(block, param)];
    }
  }

  #convertCall(block: JsonRecord, param: string): JsonRecord {
    const { id, name: given, input } = readObject(TOOL_USE_BLOCK, block, location(param));
    const name = this.#context.names.send(given);
    this.#called.set(stringOf(id), name);
    const signature = this.#signatures.get(stringOf(id));
    return {
      functionCall: { ...idOf(stringOf(id)), name, args: isRecord(input) ? input : {} },
      ...(signature !== undefined && { thoughtSignature: signature }),
    };
  }
}

/** Ids that the gateway generated for calls without one are not sent to Gemini. */
function idOf(id: string): JsonRecord {
  return isGeneratedCallId(id) ? {} : { id };
}
