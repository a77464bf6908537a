/** Reads the input, which is a text or a list of items, into turns. Items may declare tools. */
import type { Turn } from '../../conversation/request.ts';
import { isOmittedKind, kindOf, readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, readRecords, recordOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { checkSize } from '../../json-scan.ts';
import { imageTypeOf, mediaTypeOf } from '../../media-types.ts';
import { malformed } from '../../unsupported.ts';
import type { ReadContext } from '../client.ts';
import { readContent, readTexts } from './read-parts.ts';
import { readReasoning } from './read-reasoning.ts';
import type { RequestTools } from './read-tools.ts';
import {
  ADDITIONAL_TOOLS,
  CALL_OUTPUT,
  CUSTOM_CALL,
  FUNCTION_CALL,
  IMAGE_CALL,
  ITEMS,
  MESSAGE,
  ROLES,
  TOOL_SEARCH_CALL,
  TOOL_SEARCH_OUTPUT,
} from './table.ts';
import type { ResponsesRequest } from './table.ts';
import { toolIdentity } from './tool-names.ts';
import { TurnList } from './turn-list.ts';

export interface ItemsContext extends Pick<ReadContext, 'seal'> {
  readonly tools: RequestTools;
  readonly unread: UnreadField[];
}

type ItemType = NonNullable<typeof ITEMS.converted>;

/** Throws RequestFault for an item that is malformed. */
export function readTurns(
  { input, instructions }: Pick<ResponsesRequest, 'input' | 'instructions'>,
  context: ItemsContext,
): readonly Turn[] {
  const reader = new ItemReader(context);
  reader.turns.addSystem(stringOf(instructions), 'instructions');
  if (typeof input === 'string') reader.turns.addUser(readContent(input, 'input', context.unread), 'input');
  else for (const [index, item] of readRecords(input, 'input').entries()) reader.read(item, `input[${index}]`);
  return reader.turns.end(context.tools.paragraphs);
}

class ItemReader {
  readonly turns = new TurnList();
  readonly #context: ItemsContext;
  readonly #readers: Readonly<Record<ItemType, (item: JsonRecord, path: string) => void>> = {
    message: (item, path) => this.#readMessage(item, path),
    reasoning: (item, path) => this.#readReasoning(item, path),
    function_call: (item, path) => this.#readCall(item, path),
    function_call_output: (item, path) => this.#readOutput(item, path),
    custom_tool_call: (item, path) => this.#readCustomCall(item, path),
    custom_tool_call_output: (item, path) => this.#readOutput(item, path),
    image_generation_call: (item, path) => this.#readImage(item, path),
    tool_search_call: (item, path) => this.#readSearch(item, path),
    tool_search_output: (item, path) => this.#readFound(item, path),
    additional_tools: (item, path) => {
      const { tools } = readFields(ADDITIONAL_TOOLS, item, { param: path, unread: this.#context.unread });
      this.#context.tools.declare(tools, `${path}.tools`);
    },
  };

  constructor(context: ItemsContext) {
    this.#context = context;
  }

  /** The type of a message is optional. */
  read(item: JsonRecord, path: string): void {
    const type = item['type'] ?? (isGiven(item['role']) ? 'message' : undefined);
    if (isOmittedKind(ITEMS, type)) return this.#omit(item, path);
    const kind = kindOf(ITEMS, type, { param: `${path}.type`, unread: this.#context.unread });
    if (kind) this.#readers[kind](item, path);
  }

  #omit({ type }: JsonRecord, path: string): void {
    this.#context.unread.push({ path: `${path} (${stringOf(type)})`, handling: 'Omitted', why: undefined });
  }

  #readMessage(item: JsonRecord, path: string): void {
    const { unread } = this.#context;
    const { role: given, content } = readFields(MESSAGE, item, { param: path, unread });
    if (!ROLES.kinds.has(stringOf(given)))
      throw malformed(`${path}.role`, 'one of user, assistant, system and developer');
    const param = `${path}.content`;
    switch (kindOf(ROLES, given, { param: `${path}.role`, unread })) {
      case 'user':
        return this.turns.addUser(readContent(content, param, unread), path);
      case 'assistant':
        return this.turns.addTexts(readTexts(content, { param, separator: '' }, unread), path);
      default: {
        const texts = readTexts(content, { param, separator: '\n' }, unread);
        return this.turns.addSystem(texts.map(({ text }) => text).join('\n'), path);
      }
    }
  }

  #readReasoning(item: JsonRecord, path: string): void {
    const part = readReasoning(item, path, this.#context);
    if (part) this.turns.addPart(part);
  }

  /** The arguments are parsed later. Throws RequestFault where they hold more values than a body may. */
  #readCall(item: JsonRecord, path: string): void {
    const { tools, unread } = this.#context;
    const fields = readFields(FUNCTION_CALL, item, { param: path, unread });
    const { call_id: id, name, namespace, arguments: given } = fields;
    const text = stringOf(given);
    // to the scan of the body it was a single value
    checkSize(Buffer.from(text));
    this.turns.addPart({
      type: 'ToolCall',
      id: callId(id, path),
      name: tools.names.send(toolIdentity('Function', name, namespace)),
      arguments: isRecord(given) ? { value: given } : { text },
      path,
    });
  }

  #readCustomCall(item: JsonRecord, path: string): void {
    const { tools, unread } = this.#context;
    const { call_id: id, name, namespace, input } = readFields(CUSTOM_CALL, item, { param: path, unread });
    this.turns.addPart({
      type: 'ToolCall',
      id: callId(id, path),
      name: tools.names.send(toolIdentity('Custom', name, namespace)),
      arguments: { value: { input: stringOf(input) } },
      path,
    });
  }

  #readOutput(item: JsonRecord, path: string): void {
    const { unread } = this.#context;
    const { call_id: id, output } = readFields(CALL_OUTPUT, item, { param: path, unread });
    const parts = readContent(output, `${path}.output`, unread);
    this.turns.addResult({ type: 'ToolResult', callId: callId(id, path), isError: false, parts, path });
  }

  /** An id alone names an image that its provider keeps. */
  #readImage(item: JsonRecord, path: string): void {
    const { unread } = this.#context;
    const { result, output_format: format } = readFields(IMAGE_CALL, item, { param: path, unread });
    const data = textOf(result);
    if (data === undefined) return this.#omit(item, path);
    const mediaType = imageTypeOf(data) ?? mediaTypeOf(`image/${textOf(format) ?? 'png'}`);
    this.turns.addPart({ type: 'Image', source: { type: 'Data', mediaType, data }, path: `${path}.result` });
  }

  #readSearch(item: JsonRecord, path: string): void {
    const { tools, unread } = this.#context;
    const fields = readFields(TOOL_SEARCH_CALL, item, { param: path, unread });
    const { call_id: id, execution, arguments: given } = fields;
    if (execution !== 'client') return this.#omit(item, path);
    this.turns.addPart({
      type: 'ToolCall',
      id: callId(id, path),
      name: tools.searchName,
      arguments: typeof given === 'string' ? { text: given } : { value: recordOf(given) },
      path,
    });
  }

  /** The tools that were found join the request's, whoever searched. */
  #readFound(item: JsonRecord, path: string): void {
    const { tools, unread } = this.#context;
    const fields = readFields(TOOL_SEARCH_OUTPUT, item, { param: path, unread });
    const { call_id: id, execution, tools: found } = fields;
    const before = tools.declared.length;
    tools.declare(found, `${path}.tools`);
    if (execution !== 'client') return this.#omit(item, path);
    const names = tools.declared.slice(before).map(({ name }) => name);
    const text =
      names.length > 0 ? `Tools that can be called now: ${names.join(', ')}` : 'No further tools were found.';
    const parts = [{ type: 'Text' as const, text, path }];
    this.turns.addResult({ type: 'ToolResult', callId: callId(id, path), isError: false, parts, path });
  }
}

function callId(id: unknown, path: string): string {
  const text = textOf(id);
  if (text === undefined) throw malformed(`${path}.call_id`, 'the id of a call');
  return text;
}
