/**
 * Writes turns as messages: tool results become messages of their own, and a turn of the assistant one message with its
 * calls.
 */
import { argumentsText } from '../../conversation/arguments.ts';
import { signatureOfText, signaturesOfCalls } from '../../conversation/gemini-signatures.ts';
import type {
  AssistantPart,
  AssistantTurn,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  UserPart,
} from '../../conversation/request.ts';
import { NO_SIGNATURE } from '../../gemini/thought-signature.ts';
import { textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeExtraSignature } from '../../openai/google-signature.ts';
import type { ChannelSeal } from '../../sealed-values.ts';
import { shortenCallId } from '../../tool-ids.ts';
import type { ToolNames } from '../../tool-ids.ts';
import { writeDetails } from './reasoning-details.ts';
import { isText, joinTexts, writeContent, writePart } from './write-parts.ts';

export interface MessagesContext {
  readonly names: ToolNames;
  /** Stands for the reasoning of calls that have none, for models that refuse them without; undefined: for others. */
  readonly placeholder: string | undefined;
  /** The model signs its calls as Gemini does. */
  readonly signed: boolean;
  /** The provider keeps reasoning with its proof in `reasoning_details`. */
  readonly keepsDetails: boolean;
  /** Absent: the gateway has no key to open sealed reasoning with. */
  readonly seal: ChannelSeal | undefined;
}

/** `paragraphs` end the system message. Undefined: it is empty. */
export function writeSystem(parts: readonly TextPart[], paragraphs: readonly string[]): JsonRecord | undefined {
  // one text, because not all providers accept a list of parts here
  const content = [...parts.map(({ text }) => text), ...paragraphs].filter((text) => text !== '').join('\n\n');
  return content === '' ? undefined : { role: 'system', content };
}

/** Each result has its call before it (conversation/prepare.ts). */
export function writeMessages(turns: readonly Turn[], context: MessagesContext): readonly JsonRecord[] {
  const writer = new MessagesWriter(context, turns);
  for (const turn of turns) writer.add(turn);
  return writer.end();
}

class MessagesWriter {
  readonly #context: MessagesContext;
  readonly #signatures: ReadonlyMap<string, string>;
  readonly #messages: JsonRecord[] = [];
  /** Images and files of results, for the user message that follows: tool messages hold text. */
  #attachments: readonly JsonRecord[] = [];

  constructor(context: MessagesContext, turns: readonly Turn[]) {
    this.#context = context;
    this.#signatures = context.signed ? signaturesOfCalls(turns) : new Map();
  }

  add(turn: Turn): void {
    switch (turn.role) {
      case 'System':
        this.#addUser([]);
        return this.#push(writeSystem(turn.parts, []));
      case 'User':
        return this.#addUserTurn(turn.parts);
      case 'Assistant':
        this.#addUser([]);
        return this.#push(this.#ofAssistant(turn));
    }
  }

  end(): readonly JsonRecord[] {
    this.#addUser([]);
    return this.#messages;
  }

  #push(message: JsonRecord | undefined): void {
    if (message) this.#messages.push(message);
  }

  #addUserTurn(parts: readonly UserPart[]): void {
    const results = parts.filter((part) => part.type === 'ToolResult');
    const others = parts.flatMap((part) => (part.type === 'ToolResult' ? [] : writePart(part)));
    if (results.length > 0) this.#addUser([]);
    for (const result of results) this.#addResult(result);
    if (results.length === 0 || others.length > 0) this.#addUser(others);
  }

  #addResult({ callId, isError, parts }: ToolResultPart): void {
    const written = parts.flatMap(writePart);
    const text = joinTexts(written);
    const content = isError ? `Error: ${text}` : text;
    this.#messages.push({ role: 'tool', tool_call_id: shortenCallId(callId), content });
    this.#attachments = [...this.#attachments, ...written.filter((part) => !isText(part))];
  }

  #addUser(parts: readonly JsonRecord[]): void {
    const all = [...this.#attachments, ...parts];
    this.#attachments = [];
    if (all.length > 0) this.#messages.push({ role: 'user', content: writeContent(all) });
  }

  /** Undefined: the model has said nothing that can be sent. */
  #ofAssistant({ parts }: AssistantTurn): JsonRecord | undefined {
    const content = textOf(parts.map(textOfPart).join(''));
    const calls = parts.filter((part) => part.type === 'ToolCall');
    if (content === undefined && calls.length === 0) return undefined;
    const { keepsDetails, seal } = this.#context;
    const details = keepsDetails ? writeDetails(reasoningParts(parts), seal) : [];
    return {
      role: 'assistant',
      content: content ?? null,
      ...(details.length > 0
        ? { reasoning_details: details }
        : { reasoning_content: this.#reasoningOf(keepsDetails ? parts.filter(isUnsigned) : parts, calls.length > 0) }),
      ...(calls.length === 0 && this.#signatureOf(parts)),
      ...(calls.length > 0 && { tool_calls: calls.map((call, index) => this.#writeCall(call, index === 0)) }),
    };
  }

  #reasoningOf(parts: readonly AssistantPart[], calls: boolean): string | undefined {
    const text = textOf(
      reasoningParts(parts)
        .map((part) => part.text)
        .join(''),
    );
    return text ?? (calls ? this.#context.placeholder : undefined);
  }

  #signatureOf(parts: readonly AssistantPart[]): JsonRecord {
    const signature = this.#context.signed ? signatureOfText(parts) : undefined;
    return signature === undefined ? {} : writeExtraSignature(signature);
  }

  #writeCall({ id, name, arguments: given }: ToolCallPart, isFirst: boolean): JsonRecord {
    const signature = this.#signatures.get(id) ?? (isFirst && this.#context.signed ? NO_SIGNATURE : undefined);
    return {
      id: shortenCallId(id),
      type: 'function',
      function: { name: this.#context.names.send(name), arguments: argumentsText(given) },
      ...(signature !== undefined && writeExtraSignature(signature)),
    };
  }
}

/** Everything but reasoning that only its maker can read. */
function isUnsigned(part: AssistantPart): boolean {
  return part.type !== 'Reasoning' || !part.proof;
}

function reasoningParts(parts: readonly AssistantPart[]): readonly ReasoningPart[] {
  return parts.filter((part) => part.type === 'Reasoning');
}

function textOfPart(part: AssistantPart): string {
  switch (part.type) {
    case 'Text':
      return part.separate === true ? `\n\n${part.text}` : part.text;
    case 'Refusal':
      return part.text;
    // images are the user's by now (conversation/prepare.ts)
    case 'Image':
    case 'Reasoning':
    case 'ToolCall':
      return '';
  }
}
