/**
 * The protocols that are both a client's dialect and a provider's, and the rules by which a conversation changes when it
 * is written in one: what the provider's tables leave out, and the repairs and forms of its own.
 */
import type { Client } from '../../../../../dataplane/protocol/clients/client.ts';
import { anthropicClient } from '../../../../../dataplane/protocol/clients/anthropic/client.ts';
import { geminiClient } from '../../../../../dataplane/protocol/clients/gemini/client.ts';
import { openaiChatClient } from '../../../../../dataplane/protocol/clients/openai-chat/client.ts';
import { responsesClient } from '../../../../../dataplane/protocol/clients/responses/client.ts';
import { argumentsObject } from '../../../../../dataplane/protocol/conversation/arguments.ts';
import { effortOfBudget } from '../../../../../dataplane/protocol/conversation/efforts.ts';
import { joinTurns } from '../../../../../dataplane/protocol/conversation/repairs/join-turns.ts';
import { placeSystem } from '../../../../../dataplane/protocol/conversation/repairs/place-system.ts';
import type {
  AssistantPart,
  ContentPart,
  Conversation,
  ResponseFormat,
  SettingName,
  Settings,
  TextPart,
  Tool,
  ToolResultPart,
  Turn,
  UserPart,
} from '../../../../../dataplane/protocol/conversation/request.ts';
import { searchResultText } from '../../../../../dataplane/protocol/conversation/texts.ts';
import type { SettingsTable } from '../../../../../dataplane/protocol/conversation/take.ts';
import { DroppedFields } from '../../../../../dataplane/protocol/dropped-fields.ts';
import { isRecord } from '../../../../../dataplane/protocol/fields.ts';
import type { KindTable } from '../../../../../dataplane/protocol/field-table.ts';
import { parseObject, writeJson } from '../../../../../dataplane/protocol/json-value.ts';
import type { ChatProvider } from '../../../../../dataplane/protocol/providers/chat-provider.ts';
import { anthropicChat } from '../../../../../dataplane/protocol/providers/anthropic/chat.ts';
import * as anthropic from '../../../../../dataplane/protocol/providers/anthropic/table.ts';
import { geminiChat } from '../../../../../dataplane/protocol/providers/gemini/chat.ts';
import * as gemini from '../../../../../dataplane/protocol/providers/gemini/table.ts';
import { openaiChat } from '../../../../../dataplane/protocol/providers/openai-chat/chat.ts';
import * as chat from '../../../../../dataplane/protocol/providers/openai-chat/table.ts';
import { responsesChat } from '../../../../../dataplane/protocol/providers/responses/chat.ts';
import * as responses from '../../../../../dataplane/protocol/providers/responses/table.ts';

export interface Side {
  readonly name: string;
  readonly client: Client;
  readonly provider: ChatProvider;
  readonly settings: SettingsTable;
  readonly parts: KindTable;
  /** Takes what the protocol has. */
  readonly model: string;
  /** What the protocol changes besides what its tables leave out. */
  readonly rules: Rules;
}

interface Rules {
  readonly systemBetweenTurns: boolean;
  readonly settings: (settings: Settings, turns: readonly Turn[]) => Settings;
  readonly tool: (tool: Tool) => Tool;
  readonly content: (part: ContentPart) => readonly ContentPart[];
  readonly result: (part: ToolResultPart) => readonly UserPart[];
}

const path = '';
const text = (value: string): TextPart => ({ type: 'Text', text: value, path });

/** Only messages have a kind of part for it. */
const found = (part: ContentPart): ContentPart => (part.type === 'SearchResult' ? text(searchResultText(part)) : part);

/** OpenAI has no counterpart of a failed call, nor of reasoning by a budget. Schemas and files have names. */
const OPENAI: Omit<Rules, 'result'> = {
  systemBetweenTurns: true,
  settings: (given) => withSchemaName(byEffort(given)),
  tool: (tool) => tool,
  content: (part) => [part.type === 'Document' ? { ...part, title: part.title ?? 'document.pdf' } : found(part)],
};

const failed = (part: ToolResultPart): ToolResultPart => {
  const [first, ...others] = part.parts;
  if (!part.isError || first?.type !== 'Text') return part;
  return { ...part, isError: false, parts: [text(`Error: ${first.text}`), ...others] };
};

/** A budget becomes the effort that comes near to it, and an effort is all that is said. */
function byEffort(settings: Settings): Settings {
  const { effort, reasoning } = settings;
  const budget = reasoning?.value.budgetTokens;
  const value = effort?.value ?? (budget === undefined ? undefined : effortOfBudget(budget));
  if (value === undefined) return settings;
  const adaptive = { mode: 'Adaptive', budgetTokens: undefined, display: undefined } as const;
  return { ...settings, effort: { value, path }, reasoning: { value: adaptive, path } };
}

type Schema = Extract<ResponseFormat, { readonly type: 'Schema' }>;

function withSchema(settings: Settings, change: (schema: Schema) => Schema): Settings {
  const { responseFormat } = settings;
  if (responseFormat?.value.type !== 'Schema') return settings;
  return { ...settings, responseFormat: { value: change(responseFormat.value), path } };
}

const withSchemaName = (settings: Settings): Settings =>
  withSchema(settings, (schema) => ({ ...schema, name: schema.name ?? 'answer', strict: schema.strict ?? true }));

/** A schema of the response has no name, and is always strict. */
const withoutSchemaName = (settings: Settings): Settings =>
  withSchema(settings, (schema) => ({ ...schema, name: undefined, strict: undefined }));

/**
 * A model that thinks takes neither temperature nor top_k. With a budget it does not think where a call is forced, nor
 * where the results of calls follow that it has not signed.
 */
function asClaude(given: Settings, turns: readonly Turn[]): Settings {
  const settings = withoutSchemaName(given);
  const { reasoning, toolChoice } = settings;
  if (!reasoning) return settings;
  const isLast = turns.at(-1)?.parts.some(({ type }) => type === 'ToolResult') === true;
  const cannot = toolChoice?.value.mode === 'Required' || isLast;
  if (reasoning.value.mode === 'Enabled' && cannot) return { ...settings, reasoning: undefined };
  return { ...settings, temperature: undefined, topK: undefined };
}

export const SIDES: readonly Side[] = [
  {
    name: 'chat completions',
    client: openaiChatClient,
    provider: openaiChat,
    settings: chat.SETTINGS,
    parts: chat.PARTS,
    model: 'gpt-5.1',
    rules: {
      ...OPENAI,
      // messages of tools hold text: what else there is follows as the user's
      result: (given) => {
        const part = failed(given);
        const isText = (each: ContentPart): boolean => each.type === 'Text';
        return [{ ...part, parts: part.parts.filter(isText) }, ...part.parts.filter((each) => !isText(each))];
      },
    },
  },
  {
    name: 'Responses',
    client: responsesClient,
    provider: responsesChat,
    settings: responses.SETTINGS,
    parts: responses.PARTS,
    model: 'gpt-5.1',
    rules: {
      ...OPENAI,
      tool: (tool) => (tool.strict?.value === false ? { ...tool, strict: undefined } : tool),
      result: (part) => [asResponses(part)],
    },
  },
  {
    name: 'messages',
    client: anthropicClient,
    provider: anthropicChat,
    settings: anthropic.SETTINGS,
    parts: anthropic.PARTS,
    model: 'm',
    rules: {
      systemBetweenTurns: false,
      settings: asClaude,
      tool: (tool) => tool,
      content: (part) => [part],
      result: (part) => [part],
    },
  },
  {
    name: "Google's protocol",
    client: geminiClient,
    provider: geminiChat,
    settings: gemini.SETTINGS,
    parts: gemini.PARTS,
    model: 'gemini-3-flash-preview',
    rules: {
      systemBetweenTurns: false,
      settings: (given) => withoutSchemaName(byEffort(given)),
      // whether arguments must match is a mode of the whole call
      tool: (tool) => ({ ...tool, strict: undefined }),
      content: (part) =>
        part.type === 'Document' && part.title !== undefined
          ? [text(`Title: ${part.title}`), { ...part, title: undefined }]
          : [found(part)],
      result: (part) => [part],
    },
  },
];

/** A failed call's word stands alone before a list of parts. */
function asResponses(part: ToolResultPart): ToolResultPart {
  if (!part.isError || part.parts.length === 1) return failed(part);
  return { ...part, isError: false, parts: [text('Error:'), ...part.parts] };
}

/** What a side says of a conversation. */
export function expected({ turns, tools, settings, unread }: Conversation, side: Side): Conversation {
  const { systemBetweenTurns, content, result, tool } = side.rules;
  const { system, turns: placed } = placeSystem(turns, systemBetweenTurns ? 'InPlace' : 'AsUserText');
  const prompt: readonly Turn[] = system.length > 0 ? [{ role: 'System', parts: system, path }] : [];
  const ofUser = (part: UserPart): readonly UserPart[] =>
    part.type === 'ToolResult' ? result({ ...part, parts: part.parts.flatMap(content) }) : content(part);
  // results come first
  const resultsFirst = (parts: readonly UserPart[]): readonly UserPart[] => [
    ...parts.filter(({ type }) => type === 'ToolResult'),
    ...parts.filter(({ type }) => type !== 'ToolResult'),
  ];
  const changed = placed.map((turn): Turn =>
    turn.role === 'User' ? { ...turn, parts: resultsFirst(turn.parts.flatMap(ofUser)) } : turn,
  );
  return {
    turns: [...prompt, ...joinTurns(changed)],
    tools: tools.map(tool),
    settings: side.rules.settings(takenSettings(settings, side), turns),
    unread,
  };
}

/** Those that the side's table converts. */
function takenSettings(settings: Settings, side: Side): Settings {
  return Object.fromEntries(
    Object.entries(settings).filter(([name]) => side.settings[name as SettingName].action === 'Converted'),
  );
}

/** Written for the side's provider, and read as the side's client. */
export function through(
  conversation: Conversation,
  { client, provider, model }: Side,
): { readonly conversation: Conversation; readonly dropped: readonly string[] } {
  const dropped = new DroppedFields();
  const capabilities = { temperature: true, stopSequences: true, systemTurns: true, promptCaching: false };
  const plan = {
    upstreamModel: model,
    maxOutputTokens: undefined,
    outputLimitField: 'max_completion_tokens' as const,
    capabilities,
  };
  const { body } = provider.write(conversation, { plan, stream: false, dropped });
  const request = parseObject(Buffer.from(writeJson(body)));
  const read = client.read(request, { providerTools: undefined, seal: undefined });
  return { conversation: read.conversation, dropped: dropped.params ?? [] };
}

/** What a conversation says, without the paths of one client, and with one form for what has several. */
export function plain({ turns, tools, settings, unread }: Conversation): unknown {
  const all = {
    turns: joinTurns(turns).map(plainTurn),
    tools: tools.map(plainTool),
    settings: plainSettings(settings),
    unread,
  };
  return withoutPaths(JSON.parse(writeJson(all)));
}

function plainTurn(turn: Turn): Turn {
  if (turn.role === 'User') return { ...turn, parts: turn.parts.map(plainResult) };
  return turn.role === 'Assistant' ? { ...turn, parts: turn.parts.map(plainPart) } : turn;
}

/** The texts of a result are lines of one. */
function plainResult(part: UserPart): UserPart {
  if (part.type !== 'ToolResult') return part;
  const texts = part.parts.flatMap((each) => (each.type === 'Text' ? [each.text] : []));
  return { ...part, parts: [text(texts.join('\n')), ...part.parts.filter(({ type }) => type !== 'Text')] };
}

function plainPart(part: AssistantPart): AssistantPart {
  return part.type === 'ToolCall' ? { ...part, arguments: { value: argumentsObject(part.arguments) } } : part;
}

/** That the model chooses is the default. */
function plainSettings(settings: Settings): Settings {
  const { toolChoice, ...others } = settings;
  return toolChoice?.value.mode === 'Auto' && !toolChoice.value.names ? others : settings;
}

/** No schema is that of an object without properties. */
function plainTool(tool: Tool): Tool {
  return { ...tool, schema: tool.schema ?? { type: 'object', properties: {} } };
}

/** The media type of an address and the detail of an image are each provider's guess. */
const GUESSED = new Set(['path', 'detail']);

function withoutPaths(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPaths);
  if (!isRecord(value)) return value;
  const { type, ...rest } = value;
  const kept = Object.entries(rest)
    .filter(([name]) => !GUESSED.has(name) && !(type === 'Url' && name === 'mediaType'))
    .map(([name, inner]): [string, unknown] => [name, withoutPaths(inner)]);
  return Object.fromEntries(type === undefined ? kept : [['type', type], ...kept]);
}
