/**
 * Converts Google's contents to the turns of a messages request. Calls and their results find each other by id, or by
 * name where a client keeps no ids.
 */
import type { DroppedFields } from '../dropped-fields.ts';
import { readObject } from '../field-table.ts';
import type { ConvertedFields, FieldLocation } from '../field-table.ts';
import { isGiven, isRecord, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { readSignature } from '../gemini/thought-signature.ts';
import { repairTurns } from '../openai-anthropic/history.ts';
import type { RequestPlan } from '../converter.ts';
import { openThinking } from '../responses/sealed-thinking.ts';
import { toToolUseId } from '../tool-ids.ts';
import type { ToolNames } from '../tool-ids.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { convertFile, convertInline, convertResponse, textBlock } from './parts.ts';
import { CONTENT, FUNCTION_CALL, PART, SYSTEM } from './table.ts';

type Part = ConvertedFields<NonNullable<typeof PART.converted>>;

export interface ContentsContext {
  /** The protocol that the request is converted to in the end. */
  readonly upstream: string;
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly plan: Pick<RequestPlan, 'providerTools' | 'seal'>;
  /** The provider needs its readable reasoning back. */
  readonly keepsReasoning: boolean;
}

export interface Conversation {
  /** The content of each is a list of blocks. */
  readonly messages: readonly JsonRecord[];
  /** The path of the client's part that became a block. */
  readonly paramOf: (message: number, block: number) => string | undefined;
}

interface OpenTurn {
  readonly role: 'user' | 'assistant';
  readonly results: JsonRecord[];
  readonly others: JsonRecord[];
}

/** A call of the latest turn of the model that has no result yet. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
}

/** Throws RequestFault for a part without a counterpart. */
export function convertContents(value: unknown, context: ContentsContext): Conversation {
  const builder = new TurnBuilder(context);
  for (const [index, content] of readRecords(value, 'contents').entries()) builder.add(content, `contents[${index}]`);
  const turns = builder.turns.map(withoutBlanks).filter(({ results, others }) => results.length + others.length > 0);
  if (turns.length === 0) throw malformed('contents', 'a list with at least one content of the user');
  const messages = repairTurns(turns).map(({ role, results, others }) => ({ role, content: [...results, ...others] }));
  return {
    messages,
    paramOf: (message, block) => {
      const found = messages[message]?.content[block];
      return found && builder.params.get(found);
    },
  };
}

/** Texts without any words, which the API refuses. */
function withoutBlanks({ role, results, others }: OpenTurn): OpenTurn {
  return { role, results, others: others.filter((block) => block['type'] !== 'text' || textBlock(block['text'])) };
}

/** Blocks of `system`. Throws RequestFault for anything but text. */
export function convertSystem(instruction: unknown, context: ContentsContext): readonly JsonRecord[] {
  if (!isGiven(instruction)) return [];
  const { upstream, dropped } = context;
  const param = 'systemInstruction';
  if (!isRecord(instruction)) throw malformed(param, 'an object with parts');
  const { parts } = readObject(SYSTEM, instruction, { param, upstream });
  return readRecords(parts, `${param}.parts`).flatMap((part, index) => {
    const partParam = `${param}.parts[${index}]`;
    const { text } = readObject(PART, part, { param: partParam, upstream, dropped });
    if (typeof text !== 'string') throw unsupported(partParam, upstream, 'only text may stand here');
    const block = textBlock(text);
    return block ? [block] : [];
  });
}

class TurnBuilder {
  readonly turns: OpenTurn[] = [];
  readonly params = new Map<JsonRecord, string>();
  readonly #context: ContentsContext;
  #openCalls: OpenCall[] = [];
  #calls = 0;

  constructor(context: ContentsContext) {
    this.#context = context;
  }

  add(content: JsonRecord, param: string): void {
    const { role, parts } = readObject(CONTENT, content, { param, upstream: this.#context.upstream });
    const isModel = role === 'model';
    for (const [index, part] of readRecords(parts, `${param}.parts`).entries()) {
      const location = this.#locate(`${param}.parts[${index}]`);
      if (this.#isServerStep(part, location)) continue;
      const view = readObject(PART, part, location);
      if (isModel) this.#addOfModel(view, location);
      else this.#addOfUser(view, location);
    }
  }

  #locate(param: string): FieldLocation {
    const { upstream, dropped } = this.#context;
    return { param, upstream, dropped };
  }

  /** True for a step of a provider's tool, which is left out. Throws RequestFault if it is refused. */
  #isServerStep(part: JsonRecord, location: FieldLocation): boolean {
    const step = Object.keys(part).find((name) => isGiven(part[name]) && PART.fields.get(name)?.action === 'Omitted');
    if (step === undefined) return false;
    const { param, upstream } = location;
    if (this.#context.plan.providerTools === 'Refuse')
      throw unsupported(`${param}.${step}`, upstream, 'the provider runs no such tool');
    location.dropped?.add(`${param}.${step}`);
    return true;
  }

  #addOfUser(part: Part, location: FieldLocation): void {
    const { param } = location;
    if (isGiven(part.functionResponse)) return this.#addResult(part.functionResponse, location);
    if (isGiven(part.functionCall)) throw unsupported(`${param}.functionCall`, location.upstream, 'the model calls');
    if (isGiven(part.inlineData))
      return this.#push('user', convertInline(part.inlineData, { ...location, param: `${param}.inlineData` }), param);
    if (isGiven(part.fileData))
      return this.#push('user', convertFile(part.fileData, { ...location, param: `${param}.fileData` }), param);
    const block = part.thought === true ? undefined : textBlock(part.text);
    if (block) this.#push('user', block, param);
  }

  #addOfModel(part: Part, location: FieldLocation): void {
    const { param, upstream } = location;
    for (const name of ['inlineData', 'fileData', 'functionResponse'] as const)
      if (isGiven(part[name])) throw unsupported(`${param}.${name}`, upstream, 'a model answers with text and calls');
    for (const block of this.#thinkingIn(part.thoughtSignature)) this.#push('assistant', block, param);
    if (isGiven(part.functionCall))
      return this.#addCall(part.functionCall, { ...location, param: `${param}.functionCall` });
    if (part.thought !== true && textOf(part.text) !== undefined) this.#addText(stringOf(part.text), param);
  }

  /** Joins texts: clients keep each piece of a stream as a part of its own. */
  #addText(text: string, param: string): void {
    const { others } = this.#turn('assistant');
    const last = others.at(-1);
    if (last?.['type'] !== 'text') return this.#push('assistant', { type: 'text', text }, param);
    const joined = { type: 'text', text: stringOf(last['text']) + text };
    others.splice(-1, 1, joined);
    this.params.set(joined, this.params.get(last) ?? param);
  }

  #addCall(value: unknown, location: FieldLocation): void {
    if (!isRecord(value)) throw malformed(location.param, 'an object');
    const { id: given, name, args } = readObject(FUNCTION_CALL, value, location);
    const id = toToolUseId(textOf(given) ?? `call_${this.#calls}`);
    this.#calls++;
    const input = isRecord(args) ? args : {};
    this.#push('assistant', { type: 'tool_use', id, name: this.#context.names.send(name), input }, location.param);
    this.#openCalls.push({ id, name: stringOf(name) });
  }

  #addResult(value: unknown, location: FieldLocation): void {
    const { param } = location;
    const { id, name, result } = convertResponse(value, { ...location, param: `${param}.functionResponse` });
    const block = { type: 'tool_result', tool_use_id: this.#answeredCall(id, name), ...result };
    this.#turn('user').results.push(block);
    this.params.set(block, param);
  }

  /** The id of the open call that this is the result of. */
  #answeredCall(given: string | undefined, name: string): string {
    const id = given === undefined ? undefined : toToolUseId(given);
    const index = this.#openCalls.findIndex((call) => call.id === id);
    const place = index >= 0 ? index : this.#openCalls.findIndex((call) => call.name === name);
    const [call] = place >= 0 ? this.#openCalls.splice(place, 1) : [];
    return call?.id ?? id ?? '';
  }

  #thinkingIn(signature: unknown): readonly JsonRecord[] {
    const {
      plan: { seal },
      keepsReasoning,
    } = this.#context;
    return readSignature(signature).flatMap((sealed): JsonRecord[] => {
      const thinking = openThinking(seal, sealed);
      if (thinking?.type !== 'reasoning') return thinking ? [{ ...thinking }] : [];
      return keepsReasoning ? [{ type: 'thinking', thinking: thinking.text, signature: '' }] : [];
    });
  }

  #push(role: OpenTurn['role'], block: JsonRecord, param: string): void {
    this.#turn(role).others.push(block);
    this.params.set(block, param);
  }

  #turn(role: OpenTurn['role']): OpenTurn {
    const last = this.turns.at(-1);
    if (last?.role === role) return last;
    if (role === 'assistant') this.#openCalls = [];
    const turn: OpenTurn = { role, results: [], others: [] };
    this.turns.push(turn);
    return turn;
  }
}
