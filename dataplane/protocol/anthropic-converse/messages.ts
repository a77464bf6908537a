/**
 * Converts Anthropic's messages to those of Converse: cache points follow what is cached, turns of one side are joined,
 * and a document is never alone in its message.
 */
import type { ModelCapabilities } from '../capabilities.ts';
import type { RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { isOmittedKind, readKind, readObject, readType } from '../field-table.ts';
import { isGiven, isRecord, readMessages, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { toolParam } from '../provider-tools.ts';
import { toConverseId } from '../tool-ids.ts';
import type { ToolNames } from '../tool-ids.ts';
import { malformed } from '../unsupported.ts';
import { convertBlock, DocumentNames, location, textBlock } from './blocks.ts';
import type { CachePoints } from './blocks.ts';
import {
  ASSISTANT_BLOCKS,
  MESSAGE,
  REDACTED_BLOCK,
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
  readonly caches: CachePoints;
}

export interface ConvertedMessages {
  readonly messages: readonly JsonRecord[];
  /** The names of the tools that the conversation has called, as they are sent. */
  readonly calledTools: ReadonlySet<string>;
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: JsonRecord[];
}

/** Takes the place of an empty turn, and accompanies a document, because Converse requires text there. */
const NO_WORDS: JsonRecord = { text: '.' };

/** `cache_control` is the request's own, for its end. */
export function convertMessages(
  { messages, cache_control: control }: { readonly messages: unknown; readonly cache_control: unknown },
  context: ConversionContext,
): ConvertedMessages {
  const called = new Set<string>();
  const converter = new MessageConverter(context, called);
  const turns: Turn[] = [];
  for (const [index, message] of readMessages({ messages }).entries()) {
    const turn = converter.convert(message, `messages[${index}]`);
    const last = turns.at(-1);
    if (last?.role === turn.role) last.content.push(...turn.content);
    else turns.push(turn);
  }
  turns.at(-1)?.content.push(...context.caches.after(control));
  return { messages: turns.map(withWords), calledTools: called };
}

function withWords({ role, content }: Turn): JsonRecord {
  const has = (kind: string): boolean => content.some((block) => isGiven(block[kind]));
  const isAlone = has('document') && !has('text');
  return { role, content: content.length === 0 || isAlone ? [...content, NO_WORDS] : content };
}

/** `instructions`: paragraphs for its end. Undefined: it is empty. */
export function convertSystem(
  system: unknown,
  instructions: readonly string[],
  { caches }: ConversionContext,
): readonly JsonRecord[] | undefined {
  const blocks = [...systemBlocks(system, 'system', caches), ...instructions.flatMap((text) => textBlock(text))];
  return blocks.length > 0 ? blocks : undefined;
}

function systemBlocks(system: unknown, param: string, caches: CachePoints): readonly JsonRecord[] {
  if (!isGiven(system) || typeof system === 'string') return textBlock(system);
  return readRecords(system, param).flatMap((block, index) => {
    const blockParam = `${param}[${index}]`;
    readType(SYSTEM_BLOCKS, block, location(blockParam));
    const { text, cache_control: control } = readObject(TEXT_BLOCK, block, location(blockParam));
    const said = textBlock(text);
    return said.length > 0 ? [...said, ...caches.after(control)] : [];
  });
}

class MessageConverter {
  readonly #context: ConversionContext;
  readonly #called: Set<string>;
  readonly #documents = new DocumentNames();

  constructor(context: ConversionContext, called: Set<string>) {
    this.#context = context;
    this.#called = called;
  }

  convert(message: JsonRecord, param: string): Turn {
    if (!ROLES.kinds.has(stringOf(message['role'])))
      throw malformed(`${param}.role`, 'one of user, assistant and system');
    const role = readKind(ROLES, message['role'], location(`${param}.role`));
    const { content } = readObject(MESSAGE, message, location(param));
    if (role === 'system')
      return { role: 'user', content: [...systemBlocks(content, `${param}.content`, this.#context.caches)] };
    if (typeof content === 'string') return { role, content: [...textBlock(content)] };
    const blocks = readRecords(content, `${param}.content`);
    const convertOne = role === 'user' ? this.#convertUser.bind(this) : this.#convertAssistant.bind(this);
    return {
      role,
      content: blocks.flatMap((block, index) => {
        const converted = convertOne(block, `${param}.content[${index}]`);
        return converted.length > 0 ? [...converted, ...this.#context.caches.after(block['cache_control'])] : [];
      }),
    };
  }

  #convertUser(block: JsonRecord, param: string): readonly JsonRecord[] {
    if (readType(USER_BLOCKS, block, location(param)) !== 'tool_result')
      return convertBlock(block, param, this.#documents);
    const { tool_use_id: id, content, is_error: isError } = readObject(TOOL_RESULT_BLOCK, block, location(param));
    const parts =
      typeof content === 'string'
        ? textBlock(content)
        : readRecords(content, `${param}.content`).flatMap((inner, index) =>
            convertBlock(inner, `${param}.content[${index}]`, this.#documents),
          );
    return [
      {
        toolResult: {
          toolUseId: toConverseId(stringOf(id)),
          content: parts.length > 0 ? parts : [NO_WORDS],
          ...(isError === true && { status: 'error' }),
        },
      },
    ];
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
        return textBlock(readObject(TEXT_BLOCK, block, location(param)).text);
      case 'thinking':
        return convertThinking(block, param);
      case 'redacted_thinking':
        return convertRedacted(block, param);
      case 'tool_use':
        return [this.#convertCall(block, param)];
    }
  }

  #convertCall(block: JsonRecord, param: string): JsonRecord {
    const { id, name: given, input } = readObject(TOOL_USE_BLOCK, block, location(param));
    const name = this.#context.names.send(given);
    if (typeof name === 'string') this.#called.add(name);
    return { toolUse: { toolUseId: toConverseId(stringOf(id)), name, input: isRecord(input) ? input : {} } };
  }
}

/** Models refuse unsigned reasoning. */
function convertThinking(block: JsonRecord, param: string): readonly JsonRecord[] {
  const { thinking, signature } = readObject(THINKING_BLOCK, block, location(param));
  if (textOf(signature) === undefined) return [];
  return [{ reasoningContent: { reasoningText: { text: stringOf(thinking), signature } } }];
}

/** The data must be base64 here, which other providers' data need not be. */
function convertRedacted(block: JsonRecord, param: string): readonly JsonRecord[] {
  const data = stringOf(readObject(REDACTED_BLOCK, block, location(param)).data);
  const isBase64 = data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
  return isBase64 ? [{ reasoningContent: { redactedContent: data } }] : [];
}
