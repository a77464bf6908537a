/**
 * Converts a request in Google's protocol to a messages request. Errors and the fields that are left out are named as
 * the client wrote them, also those of a second conversion.
 */
import { RequestFault } from '../call-facts.ts';
import { ANTHROPIC_MODELS, capabilitiesOf } from '../capabilities.ts';
import type { ModelCapabilities } from '../capabilities.ts';
import type { ConversionNotes, RequestPlan, UpstreamBody } from '../converter.ts';
import { DroppedFields } from '../dropped-fields.ts';
import { readObject } from '../field-table.ts';
import { isGiven, isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { canonicalNames } from '../gemini/names.ts';
import { reparseLosslessly, writeJson } from '../json-value.ts';
import { placeBreakpoints } from '../openai-anthropic/cache-control.ts';
import type { CachedParts } from '../openai-anthropic/cache-control.ts';
import { repairEnd, toolsOfHistory } from '../openai-anthropic/history.ts';
import { compactContent } from '../openai-anthropic/messages.ts';
import { convertSampling } from '../openai-anthropic/request.ts';
import { forcesTool } from '../openai-anthropic/tools.ts';
import { ToolNames } from '../tool-ids.ts';
import { malformed } from '../unsupported.ts';
import { convertContents, convertSystem } from './contents.ts';
import type { Conversation } from './contents.ts';
import { readFormat, readThinking } from './settings.ts';
import type { Config, SettingsContext } from './settings.ts';
import { GENERATION_CONFIG, REQUEST } from './table.ts';
import { convertTools } from './tools.ts';
import type { ConvertedTools } from './tools.ts';

/** The API's limit. */
const MAX_NAME_LENGTH = 128;

export interface MessagesTarget {
  /** The protocol that the request is converted to in the end. */
  readonly upstream: string;
  readonly capabilities: ModelCapabilities;
  readonly keepsReasoning: boolean;
}

/** A messages request, with the paths of the client's fields that it was made from. */
export interface MessagesRequest {
  readonly message: JsonRecord;
  readonly notes: ConversionNotes;
  /** Named as the client wrote them. */
  readonly dropped: DroppedFields;
  /** The path of the client's field that became this one of the messages request. */
  readonly clientParam: (param: string) => string;
}

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const capabilities = capabilitiesOf(ANTHROPIC_MODELS, plan.upstreamModel, plan.capabilities);
  const target = { upstream: 'Anthropic', capabilities, keepsReasoning: false };
  const { message, notes, dropped } = convertToMessage(reparseLosslessly(body, parsed), plan, target);
  return { path: '/v1/messages', body: Buffer.from(writeJson(message)), notes, dropped: dropped.params };
}

/** Throws RequestFault. */
export function convertToMessage(parsed: JsonRecord, plan: RequestPlan, target: MessagesTarget): MessagesRequest {
  const { upstream, capabilities, keepsReasoning } = target;
  const dropped = new DroppedFields();
  const names = new ToolNames(MAX_NAME_LENGTH);
  const request = readObject(REQUEST, canonicalNames(parsed), { param: '', upstream, dropped });
  const config = readConfig(request.generationConfig, { upstream, capabilities, dropped });
  const context = { upstream, names, dropped, plan, keepsReasoning };
  const system = convertSystem(request.systemInstruction, context);
  const conversation = convertContents(request.contents, context);
  const converted = convertTools(request.tools, request.toolConfig, context);
  const clientParam = (param: string): string => paramOf(param, conversation, converted);
  const { includeThoughts, ...settings } = convertSettings(config, { plan, target, dropped, conversation, converted });
  const parts = {
    tools: converted.tools ?? toolsOfHistory(conversation.messages),
    system: [...system, ...settings.instructions],
    messages: repairEnd(conversation.messages, capabilities.prefill && !settings.thinks),
  };
  const toolNames = names.original;
  return {
    message: {
      model: plan.upstreamModel,
      ...settings.members,
      ...writeConversation(parts, target),
      stream: plan.stream === true ? true : undefined,
      tool_choice: converted.tools ? converted.choice : parts.tools && { type: 'none' },
    },
    notes: { includeThoughts, ...(keepsReasoning && { keepsReasoning }), ...(toolNames && { toolNames }) },
    dropped,
    clientParam,
  };
}

/** Providers of OpenAI's protocol cache by themselves. */
function writeConversation(parts: CachedParts, { upstream, capabilities }: MessagesTarget): JsonRecord {
  const places = capabilities.promptCaching && upstream !== 'OpenAI';
  const { tools, system, messages } = places ? placeBreakpoints(parts) : parts;
  return {
    system: system.length === 0 ? undefined : compactContent(system),
    messages: messages.map(({ role, content }) => ({
      role,
      content: Array.isArray(content) ? compactContent(content.filter(isRecord)) : content,
    })),
    tools,
  };
}

function readConfig(value: unknown, { upstream, dropped }: SettingsContext): Config {
  if (isGiven(value) && !isRecord(value)) throw malformed('generationConfig', 'an object');
  return readObject(GENERATION_CONFIG, isRecord(value) ? value : {}, { param: 'generationConfig', upstream, dropped });
}

interface Converted {
  readonly plan: RequestPlan;
  readonly target: MessagesTarget;
  readonly dropped: DroppedFields;
  readonly conversation: Conversation;
  readonly converted: ConvertedTools;
}

interface Settings {
  readonly members: JsonRecord;
  readonly instructions: readonly JsonRecord[];
  readonly thinks: boolean;
  readonly includeThoughts: boolean;
}

function convertSettings(config: Config, { plan, target, dropped, conversation, converted }: Converted): Settings {
  const { upstream, capabilities } = target;
  const maxTokens = plan.maxOutputTokens ?? config.maxOutputTokens;
  if (typeof maxTokens !== 'number')
    throw new RequestFault(
      'invalid_request',
      'The field "generationConfig.maxOutputTokens" is needed for this model.',
      'generationConfig.maxOutputTokens',
    );
  const { thinking, effort, thinks, includeThoughts } = readThinking(
    config.thinkingConfig,
    {
      model: plan.upstreamModel,
      maxTokens,
      forcesTool: forcesTool(converted.choice),
      messages: conversation.messages,
    },
    { upstream, capabilities, dropped },
  );
  const format = readFormat(config, { upstream, capabilities, dropped });
  const asMessage = new DroppedFields();
  const sampling = { temperature: config.temperature, top_p: config.topP, top_k: config.topK };
  const stops = itemsOf(config.stopSequences);
  const members = {
    max_tokens: maxTokens,
    ...(upstream === 'OpenAI'
      ? numbersOf(sampling)
      : convertSampling(sampling, { thinks, capabilities, dropped: asMessage })),
    stop_sequences: asMessage.keepIf(
      upstream === 'OpenAI' || capabilities.stopSequences,
      'stop_sequences',
      stops.length > 0 ? stops : undefined,
    ),
    thinking,
    output_config: effort === undefined && format.schema === undefined ? undefined : { effort, format: format.schema },
  };
  for (const param of asMessage.params ?? []) dropped.add(paramOf(param, conversation, converted));
  return { members, instructions: format.instructions, thinks, includeThoughts };
}

/** The second conversion leaves out what the model does not take. */
function numbersOf(values: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === 'number'));
}

/** The client's fields, by the fields of a messages request that are made from them. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'generationConfig.maxOutputTokens'],
  ['temperature', 'generationConfig.temperature'],
  ['top_p', 'generationConfig.topP'],
  ['top_k', 'generationConfig.topK'],
  ['stop_sequences', 'generationConfig.stopSequences'],
  ['thinking', 'generationConfig.thinkingConfig'],
  ['output_config.effort', 'generationConfig.thinkingConfig'],
  ['output_config.format', 'generationConfig.responseSchema'],
  ['system', 'systemInstruction'],
]);
const BLOCK = /^messages\[(\d+)\](?:\.content\[(\d+)\])?/;
const DECLARATION = /^tools\[(\d+)\]/;

function paramOf(param: string, { paramOf: partOf }: Conversation, { params }: ConvertedTools): string {
  const [inMessages, message, block = '0'] = BLOCK.exec(param) ?? [];
  if (inMessages !== undefined) return partOf(Number(message), Number(block)) ?? 'contents';
  const [inTools, tool] = DECLARATION.exec(param) ?? [];
  if (inTools !== undefined) return params[Number(tool)] ?? 'tools';
  return param.startsWith('tool_choice') ? 'toolConfig.functionCallingConfig' : (FIELDS.get(param) ?? param);
}
