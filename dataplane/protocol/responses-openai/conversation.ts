/**
 * The messages of a chat completion request while input items are added to it.
 *
 * On OpenAI's protocol the items of one turn of the assistant become one message, because many models know only turns
 * that alternate, and tool messages hold text only. For Anthropic's messages each item stays a message of its own: the
 * conversion that follows joins them to one turn, in their order.
 */
import { textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { toToolCallId } from '../tool-ids.ts';
import type { SealedThinking } from '../responses/sealed-thinking.ts';
import { isText, joinTexts, writeParts } from './parts.ts';
import type { Target } from './target.ts';

export interface LocatedMessage {
  readonly message: JsonRecord;
  /** The path of the first item that it was made from. */
  readonly param: string;
}

export interface Call {
  readonly id: string;
  /** As it is sent. */
  readonly name: string;
  /** Its arguments, as JSON. */
  readonly text: string;
}

export interface CallOutput {
  readonly id: string;
  readonly parts: readonly JsonRecord[];
}

/** A message of the assistant while items are added to it. */
interface OpenMessage {
  readonly param: string;
  readonly texts: string[];
  readonly calls: JsonRecord[];
  readonly thinking: SealedThinking[];
}

const ANTHROPIC_FORMAT = 'anthropic-claude-v1';

export class Conversation {
  readonly #target: Target;
  readonly #messages: LocatedMessage[] = [];
  /** System messages at the beginning. */
  readonly #system: string[] = [];
  #open: OpenMessage | undefined;
  /** Reasoning that belongs to the next item of the assistant. */
  #thinking: SealedThinking[] = [];
  /** Images and files of tool messages, for the user message that follows them. */
  #attachments: JsonRecord[] = [];
  /** Where the latest turn begins: reasoning of earlier ones is not wanted back. */
  #turnStart = 0;

  constructor(target: Target) {
    this.#target = target;
  }

  addSystem(text: string, param: string): void {
    if (text === '') return;
    this.#endTurn(param);
    if (this.#messages.length === 0) this.#system.push(text);
    else this.#messages.push({ message: { role: 'system', content: text }, param });
  }

  addUser(parts: readonly JsonRecord[], param: string): void {
    this.#closeMessage();
    this.#thinking = [];
    this.#addUserMessage([...this.#attachments, ...parts], param);
    this.#turnStart = this.#messages.length;
  }

  addThinking(thinking: SealedThinking): void {
    this.#thinking.push(thinking);
  }

  /** A text of the assistant. */
  addText(text: string, param: string): void {
    if (text !== '') this.#openMessage(param).texts.push(text);
  }

  addCall({ id, name, text }: Call, param: string): void {
    this.#openMessage(param).calls.push({ id: this.#idOf(id), type: 'function', function: { name, arguments: text } });
  }

  addOutput({ id, parts }: CallOutput, param: string): void {
    this.#closeMessage();
    this.#thinking = [];
    const takesParts = this.#target.upstream === 'Anthropic';
    if (!takesParts) this.#attachments.push(...parts.filter((part) => !isText(part)));
    const content = takesParts ? writeParts(parts) : joinTexts(parts);
    this.#messages.push({ message: { role: 'tool', tool_call_id: this.#idOf(id), content }, param });
  }

  /** All messages. `paragraphs` end the system message. */
  end(paragraphs: readonly string[]): readonly LocatedMessage[] {
    this.#endTurn('input');
    const system = [...this.#system, ...paragraphs].join('\n\n');
    const first = system === '' ? [] : [{ message: { role: 'system', content: system }, param: 'instructions' }];
    return [
      ...first,
      ...this.#messages.map(({ message, param }, index) => ({
        message: index < this.#turnStart ? withoutReasoning(message) : message,
        param,
      })),
    ];
  }

  #endTurn(param: string): void {
    this.#closeMessage();
    this.#addUserMessage(this.#attachments, param);
  }

  #addUserMessage(parts: readonly JsonRecord[], param: string): void {
    this.#attachments = [];
    if (parts.length > 0) this.#messages.push({ message: { role: 'user', content: writeParts(parts) }, param });
  }

  /** Thinking begins a message of its own where the order of items is kept. */
  #openMessage(param: string): OpenMessage {
    if (this.#target.upstream === 'Anthropic') this.#closeMessage();
    else this.#addUserMessage(this.#attachments, param);
    this.#open ??= { param, texts: [], calls: [], thinking: [] };
    this.#open.thinking.push(...this.#thinking);
    this.#thinking = [];
    return this.#open;
  }

  #closeMessage(): void {
    if (!this.#open) return;
    const { param, texts, calls, thinking } = this.#open;
    this.#open = undefined;
    this.#messages.push({
      message: {
        role: 'assistant',
        content: textOf(texts.join('\n\n')) ?? null,
        ...writeThinking(thinking),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      },
      param,
    });
  }

  #idOf(id: string): string {
    return this.#target.upstream === 'OpenAI' ? toToolCallId(id) : id;
  }
}

function withoutReasoning({ reasoning_content: _reasoning, ...message }: JsonRecord): JsonRecord {
  return message;
}

/** Readable reasoning where compatible providers read it, or details that Anthropic signed. */
function writeThinking(thinking: readonly SealedThinking[]): JsonRecord {
  const text = thinking.map((block) => (block.type === 'reasoning' ? block.text : '')).join('');
  if (text !== '') return { reasoning_content: text };
  const details = thinking.flatMap((block, index) => writeDetail(block, index));
  return details.length > 0 ? { reasoning_details: details } : {};
}

function writeDetail(block: SealedThinking, index: number): readonly JsonRecord[] {
  switch (block.type) {
    case 'thinking':
      return [
        {
          type: 'reasoning.text',
          text: block.thinking,
          signature: block.signature,
          format: ANTHROPIC_FORMAT,
          index,
        },
      ];
    case 'redacted_thinking':
      return [
        {
          type: 'reasoning.encrypted',
          data: block.data,
          format: ANTHROPIC_FORMAT,
          index,
        },
      ];
    case 'reasoning':
      return [];
  }
}
