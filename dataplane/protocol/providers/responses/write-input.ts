/**
 * Writes turns as input items. Items have no ids, because the provider stores none, and would look for the items that
 * belong to one with an id.
 */
import { argumentsObject, argumentsText } from '../../conversation/arguments.ts';
import type {
  AssistantPart,
  CallArguments,
  ContentPart,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  UserPart,
} from '../../conversation/request.ts';
import type { JsonRecord } from '../../fields.ts';
import type { ChannelSeal } from '../../sealed-values.ts';
import { shortenCallId } from '../../tool-ids.ts';
import type { ToolNames } from '../../tool-ids.ts';
import { openProof } from '../openai-proof.ts';
import { inputText, writePart } from './write-parts.ts';

export interface InputContext {
  readonly names: ToolNames;
  /** The client's names of the tools that take a text. */
  readonly textTools: ReadonlySet<string>;
  /** Messages of the assistant say whether they are the answer, without which a model stops before it has one. */
  readonly phases: boolean;
  /** Absent: the gateway has no key to open sealed reasoning with. */
  readonly seal: ChannelSeal | undefined;
}

/** Each result has its call before it (conversation/prepare.ts). */
export function writeInput(turns: readonly Turn[], context: InputContext): readonly JsonRecord[] {
  const writer = new InputWriter(context);
  return turns.flatMap((turn) => writer.write(turn));
}

/** A system message. */
export function systemMessage(text: string): JsonRecord {
  return message({ role: 'system' }, inputText(text));
}

class InputWriter {
  readonly #context: InputContext;
  /** The ids of calls of tools that take a text. */
  readonly #textCalls = new Set<string>();

  constructor(context: InputContext) {
    this.#context = context;
  }

  write(turn: Turn): readonly JsonRecord[] {
    switch (turn.role) {
      case 'System': {
        const text = turn.parts.map((part) => part.text).join('\n\n');
        return text === '' ? [] : [systemMessage(text)];
      }
      case 'User':
        return this.#writeUser(turn.parts);
      case 'Assistant':
        return this.#writeAssistant(turn.parts);
    }
  }

  #writeUser(parts: readonly UserPart[]): readonly JsonRecord[] {
    return joinMessages(
      parts.flatMap((part) => (part.type === 'ToolResult' ? [this.#writeResult(part)] : writeContent(part))),
    );
  }

  #writeResult({ callId, isError, parts }: ToolResultPart): JsonRecord {
    const content = parts.flatMap(writePart);
    return {
      type: this.#textCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output',
      call_id: shortenCallId(callId),
      output: writeOutput(content, isError ? 'Error: ' : ''),
    };
  }

  #writeAssistant(parts: readonly AssistantPart[]): readonly JsonRecord[] {
    const phase = parts.some(({ type }) => type === 'ToolCall') ? 'commentary' : 'final_answer';
    const head = { role: 'assistant', ...(this.#context.phases && { phase }) };
    return joinMessages(parts.flatMap((part) => this.#ofAssistant(part, head)));
  }

  #ofAssistant(part: AssistantPart, head: JsonRecord): readonly JsonRecord[] {
    switch (part.type) {
      case 'Text':
        return part.text === '' ? [] : [message(head, { type: 'output_text', text: part.text })];
      case 'Refusal':
        return part.text === '' ? [] : [message(head, { type: 'refusal', refusal: part.text })];
      case 'Reasoning':
        return this.#writeReasoning(part);
      case 'ToolCall':
        return [this.#writeCall(part)];
      // images are the user's by now (conversation/prepare.ts)
      case 'Image':
        return [];
    }
  }

  #writeReasoning({ text, proof }: ReasoningPart): readonly JsonRecord[] {
    const encrypted = openProof(proof, this.#context.seal);
    if (encrypted === undefined) return [];
    const summary = text === '' ? [] : [{ type: 'summary_text', text }];
    return [{ type: 'reasoning', summary, encrypted_content: encrypted }];
  }

  #writeCall({ id, name, arguments: given }: ToolCallPart): JsonRecord {
    const call = { call_id: shortenCallId(id), name: this.#context.names.send(name) };
    if (!this.#context.textTools.has(name)) return { type: 'function_call', ...call, arguments: argumentsText(given) };
    this.#textCalls.add(id);
    return { type: 'custom_tool_call', ...call, input: inputOf(given) };
  }
}

/** The text within the arguments of a tool that takes one. */
function inputOf(given: CallArguments): string {
  const { input } = argumentsObject(given);
  return typeof input === 'string' ? input : argumentsText(given);
}

/** Texts alone are one text. */
function writeOutput(content: readonly JsonRecord[], prefix: string): unknown {
  const texts = content.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  if (texts.length === content.length) return prefix + texts.join('\n');
  return prefix === '' ? content : [inputText(prefix.trimEnd()), ...content];
}

function writeContent(part: ContentPart): readonly JsonRecord[] {
  return writePart(part).map((content) => message({ role: 'user' }, content));
}

function message(head: JsonRecord, content: JsonRecord): JsonRecord {
  return { type: 'message', ...head, content: [content] };
}

/** Consecutive messages of one turn are one. */
function joinMessages(items: readonly JsonRecord[]): readonly JsonRecord[] {
  const joined: JsonRecord[] = [];
  for (const item of items) {
    const last = joined.at(-1);
    const [before, content] = [last?.['content'], item['content']];
    if (last && Array.isArray(before) && Array.isArray(content))
      joined[joined.length - 1] = {
        ...last,
        content: [...(before as readonly unknown[]), ...(content as readonly unknown[])],
      };
    else joined.push(item);
  }
  return joined;
}
