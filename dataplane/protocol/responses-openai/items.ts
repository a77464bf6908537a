/**
 * Converts input items of the Responses dialect to messages of chat completions: items of one turn of the assistant
 * become one message, and system messages at the beginning become one with the instructions.
 */
import { isOmittedKind, readKind, readObject } from '../field-table.ts';
import { isGiven, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { malformed } from '../unsupported.ts';
import { Conversation } from './conversation.ts';
import { convertParts, convertTexts } from './parts.ts';
import { convertReasoning } from './reasoning.ts';
import {
  ADDITIONAL_TOOLS,
  CALL_OUTPUT,
  CUSTOM_CALL,
  FUNCTION_CALL,
  ITEMS,
  MESSAGE,
  ROLES,
  TOOL_SEARCH_CALL,
  TOOL_SEARCH_OUTPUT,
} from './table.ts';
import { location } from './target.ts';
import type { Target } from './target.ts';
import { searchName } from './tools.ts';
import type { RequestTools } from './tools.ts';

interface Item {
  readonly item: JsonRecord;
  readonly param: string;
}

interface ItemContext {
  readonly conversation: Conversation;
  readonly tools: RequestTools;
  readonly target: Target;
}

type ItemType = NonNullable<typeof ITEMS.converted>;

const CONVERTERS: Readonly<Record<ItemType, (item: Item, context: ItemContext) => void>> = {
  message: addMessage,
  reasoning: addReasoning,
  function_call: addFunctionCall,
  function_call_output: addOutput,
  custom_tool_call: addCustomCall,
  custom_tool_call_output: addOutput,
  tool_search_call: addSearch,
  tool_search_output: addSearchOutput,
  additional_tools: ({ item, param }, { tools, target }) => {
    tools.declare(readObject(ADDITIONAL_TOOLS, item, location(target, param)).tools, `${param}.tools`);
  },
};

/** `instructions` begin the system message. Throws RequestFault. */
export function convertInput(
  { input, instructions }: { input: unknown; instructions: unknown },
  tools: RequestTools,
  target: Target,
): Conversation {
  const conversation = new Conversation(target);
  const given = textOf(instructions);
  if (given !== undefined) conversation.addSystem(given, 'instructions');
  if (typeof input === 'string') conversation.addUser([{ type: 'text', text: input }], 'input');
  else {
    const context = { conversation, tools, target };
    for (const [index, item] of readRecords(input, 'input').entries())
      addItem({ item, param: `input[${index}]` }, context);
  }
  return conversation;
}

/** The type of a message is optional. */
function addItem({ item, param }: Item, context: ItemContext): void {
  const { target } = context;
  const type = item['type'] ?? (isGiven(item['role']) ? 'message' : undefined);
  if (isOmittedKind(ITEMS, type)) return omit({ item, param }, target);
  CONVERTERS[readKind(ITEMS, type, location(target, `${param}.type`))]({ item, param }, context);
}

/** Names an item that is left out; its type is one of the table's. */
function omit({ item, param }: Item, { dropped }: Target): void {
  dropped.add(`${param} (${stringOf(item['type'])})`);
}

function addMessage({ item, param }: Item, { conversation, target }: ItemContext): void {
  const { role: given, content } = readObject(MESSAGE, item, location(target, param));
  if (!ROLES.kinds.has(stringOf(given)))
    throw malformed(`${param}.role`, 'one of user, assistant, system and developer');
  const role = readKind(ROLES, given, location(target, `${param}.role`));
  const at = `${param}.content`;
  if (role === 'user') conversation.addUser(convertParts(content, at, target), param);
  else if (role === 'assistant')
    conversation.addText(convertTexts(content, { param: at, separator: '' }, target), param);
  else conversation.addSystem(convertTexts(content, { param: at, separator: '\n' }, target), param);
}

function addReasoning({ item, param }: Item, { conversation, target }: ItemContext): void {
  const thinking = convertReasoning(item, param, target);
  if (thinking) conversation.addThinking(thinking);
}

function addFunctionCall({ item, param }: Item, { conversation, tools, target }: ItemContext): void {
  const { call_id: id, name, namespace, arguments: text } = readObject(FUNCTION_CALL, item, location(target, param));
  conversation.addCall(
    {
      id: callId(id, param),
      name: tools.names.send(toolOf('Function', name, namespace)),
      text: stringOf(text),
    },
    param,
  );
}

function addCustomCall({ item, param }: Item, { conversation, tools, target }: ItemContext): void {
  const { call_id: id, name, namespace, input } = readObject(CUSTOM_CALL, item, location(target, param));
  conversation.addCall(
    {
      id: callId(id, param),
      name: tools.names.send(toolOf('Custom', name, namespace)),
      text: writeJson({ input: stringOf(input) }),
    },
    param,
  );
}

function addOutput({ item, param }: Item, { conversation, target }: ItemContext): void {
  const { call_id: id, output } = readObject(CALL_OUTPUT, item, location(target, param));
  conversation.addOutput({ id: callId(id, param), parts: convertParts(output, `${param}.output`, target) }, param);
}

function addSearch({ item, param }: Item, { conversation, tools, target }: ItemContext): void {
  const { call_id: id, execution, arguments: given } = readObject(TOOL_SEARCH_CALL, item, location(target, param));
  if (execution !== 'client') return omit({ item, param }, target);
  conversation.addCall(
    {
      id: callId(id, param),
      name: searchName(tools.names),
      text: typeof given === 'string' ? given : writeJson(given ?? {}),
    },
    param,
  );
}

/** The tools that were found join the request's, whoever searched. */
function addSearchOutput({ item, param }: Item, { conversation, tools, target }: ItemContext): void {
  const { call_id: id, execution, tools: found } = readObject(TOOL_SEARCH_OUTPUT, item, location(target, param));
  const before = new Set(tools.sent.map(({ name }) => name));
  tools.declare(found, `${param}.tools`);
  if (execution !== 'client') return omit({ item, param }, target);
  const names = tools.sent.map(({ name }) => name).filter((name) => !before.has(name));
  const text = names.length > 0 ? `Tools that can be called now: ${names.join(', ')}` : 'No further tools were found.';
  conversation.addOutput({ id: callId(id, param), parts: [{ type: 'text', text }] }, param);
}

function toolOf(
  kind: 'Function' | 'Custom',
  name: unknown,
  namespace: unknown,
): { kind: 'Function' | 'Custom'; name: string; namespace?: string } {
  const text = textOf(namespace);
  return { kind, name: stringOf(name), ...(text === undefined ? {} : { namespace: text }) };
}

function callId(id: unknown, param: string): string {
  const text = textOf(id);
  if (text === undefined) throw malformed(`${param}.call_id`, 'the id of a call');
  return text;
}
