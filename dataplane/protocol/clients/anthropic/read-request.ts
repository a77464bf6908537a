/** Reads a messages request into a conversation. */
import type { Conversation, ReasoningSettings, ResponseFormat, Settings, Turn } from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { ConvertedFields, UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, readMessages, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { malformed } from '../../unsupported.ts';
import { cacheMark } from '../cache-mark.ts';
import type { ReadContext, ReadRequest } from '../client.ts';
import { located, numberOf } from '../settings.ts';
import { readAssistantParts, readSystemParts, readUserParts } from './read-parts.ts';
import type { BlockContext } from './read-parts.ts';
import { readTools } from './read-tools.ts';
import { FORMAT, MESSAGE, METADATA, OUTPUT_CONFIG, REQUEST, ROLES, THINKING } from './table.ts';

type Request = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

/** Throws RequestFault for a field that is missing or malformed. */
export function readRequest(given: JsonRecord, { providerTools }: ReadContext): ReadRequest {
  const unread: UnreadField[] = [];
  const context: BlockContext = { providerTools, unread };
  const request = readFields(REQUEST, given, { param: '', unread });
  listContextEdits(request.context_management, unread);
  const { tools, choice } = readTools(request.tools, request.tool_choice, context);
  const conversation: Conversation = {
    turns: [...readSystem(request.system, context), ...readTurns(request.messages, context)],
    tools,
    settings: { ...readSettings(request, unread), ...choice },
    unread,
  };
  const { reasoning } = conversation.settings;
  const asks = reasoning !== undefined && reasoning.value.mode !== 'Disabled';
  return { conversation, notes: asks ? undefined : { hidesProofs: true } };
}

/** A converted conversation carries no thinking that an edit would clear; other edits have no place. */
function listContextEdits(management: unknown, unread: UnreadField[]): void {
  for (const [index, edit] of itemsOf(isRecord(management) ? management['edits'] : undefined).entries())
    if (!isRecord(edit) || !stringOf(edit['type']).startsWith('clear_thinking_'))
      unread.push({ path: `context_management.edits[${index}]`, handling: 'Refused', why: undefined });
}

function readSystem(system: unknown, context: BlockContext): readonly Turn[] {
  if (!isGiven(system)) return [];
  return [{ role: 'System', parts: readSystemParts(system, 'system', context), path: 'system' }];
}

function readTurns(messages: unknown, context: BlockContext): readonly Turn[] {
  return readMessages({ messages }).flatMap((message, index) => readTurn(message, `messages[${index}]`, context));
}

function readTurn(message: JsonRecord, path: string, context: BlockContext): readonly Turn[] {
  const { unread } = context;
  if (!ROLES.kinds.has(stringOf(message['role']))) throw malformed(`${path}.role`, 'one of user, assistant and system');
  const role = kindOf(ROLES, message['role'], { param: `${path}.role`, unread });
  const { content } = readFields(MESSAGE, message, { param: path, unread });
  const param = `${path}.content`;
  switch (role) {
    case 'system':
      return [{ role: 'System', parts: readSystemParts(content, param, context), path }];
    case 'user':
      return [{ role: 'User', parts: readUserParts(content, param, context), path }];
    case 'assistant':
      return [{ role: 'Assistant', parts: readAssistantParts(content, param, context), path }];
    case undefined:
      return [];
  }
}

function readSettings(request: Request, unread: UnreadField[]): Settings {
  const { output_config: config, metadata } = request;
  const output = isRecord(config) ? readFields(OUTPUT_CONFIG, config, { param: 'output_config', unread }) : undefined;
  const user = isRecord(metadata) ? readFields(METADATA, metadata, { param: 'metadata', unread }).user_id : undefined;
  const stops = itemsOf(request.stop_sequences).filter((stop) => typeof stop === 'string');
  const cache = cacheMark(request.cache_control);
  return {
    maxOutputTokens: located(numberOf(request.max_tokens), 'max_tokens'),
    temperature: located(numberOf(request.temperature), 'temperature'),
    topP: located(numberOf(request.top_p), 'top_p'),
    topK: located(numberOf(request.top_k), 'top_k'),
    stop: located(stops.length > 0 ? stops : undefined, 'stop_sequences'),
    effort: located(textOf(output?.effort), 'output_config.effort'),
    reasoning: located(readReasoning(request.thinking, unread), 'thinking'),
    responseFormat: located(readFormat(request.output_format ?? output?.format, unread), FORMAT_PATH),
    user: located(textOf(user), 'metadata.user_id'),
    cache: located(cache, 'cache_control'),
    serviceTier: located(readTier(request.service_tier, unread), 'service_tier'),
  };
}

const MODES: Readonly<Record<string, ReasoningSettings['mode']>> = {
  enabled: 'Enabled',
  adaptive: 'Adaptive',
  disabled: 'Disabled',
};
const DISPLAYS: Readonly<Record<string, ReasoningSettings['display']>> = {
  summarized: 'Summarized',
  omitted: 'Omitted',
};

function readReasoning(thinking: unknown, unread: UnreadField[]): ReasoningSettings | undefined {
  if (!isRecord(thinking)) return undefined;
  const { type, budget_tokens: budget, display } = readFields(THINKING, thinking, { param: 'thinking', unread });
  return {
    mode: MODES[stringOf(type)] ?? 'Adaptive',
    budgetTokens: numberOf(budget),
    display: DISPLAYS[stringOf(display)],
  };
}

const FORMAT_PATH = 'output_config.format';

function readFormat(format: unknown, unread: UnreadField[]): ResponseFormat | undefined {
  if (!isGiven(format)) return undefined;
  if (!isRecord(format) || format['type'] !== 'json_schema' || !isRecord(format['schema'])) {
    unread.push({ path: FORMAT_PATH, handling: 'Refused', why: undefined });
    return undefined;
  }
  const { schema } = readFields(FORMAT, format, { param: FORMAT_PATH, unread });
  if (!isRecord(schema)) return undefined;
  return { type: 'Schema', schema, name: undefined, description: undefined, strict: undefined };
}

/** Undefined: the provider's default. */
function readTier(tier: unknown, unread: UnreadField[]): string | undefined {
  if (!isGiven(tier) || tier === 'auto') return undefined;
  if (tier === 'standard_only') return 'standard';
  unread.push({ path: 'service_tier', handling: 'Refused', why: 'its tiers are others' });
  return undefined;
}
