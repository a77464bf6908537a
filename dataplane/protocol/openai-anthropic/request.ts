/**
 * Converts a chat completion request to a messages request.
 */
import { RequestFault } from '../call-facts.ts';
import { ANTHROPIC_MODELS, capabilitiesOf } from '../capabilities.ts';
import type { ModelCapabilities } from '../capabilities.ts';
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import { DroppedFields } from '../dropped-fields.ts';
import { readKind, readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { isGiven, isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { anthropicSchema, askForJson } from '../json-schemas.ts';
import { SEARCH_OPTIONS } from '../openai/facts.ts';
import { reparseLosslessly, writeJson } from '../json-value.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { convertMessages, compactContent } from './messages.ts';
import { cacheOf, limitBreakpoints, placeBreakpoints } from './cache-control.ts';
import type { CachedParts } from './cache-control.ts';
import { repairEnd, toolsOfHistory } from './history.ts';
import { location } from './parts.ts';
import { FORMAT, FORMATS, JSON_SCHEMA, REQUEST, STREAM_OPTIONS } from './table.ts';
import { convertThinking } from './thinking.ts';
import type { ThinkingRequest } from './thinking.ts';
import { forcesTool, RequestTools } from './tools.ts';

type Request = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

/** The API's limit, half of OpenAI's. */
const MAX_TEMPERATURE = 1;
/** OpenAI's tiers that cost more than the default. */
const FASTER_TIERS: ReadonlySet<unknown> = new Set(['priority', 'fast', 'ultrafast']);
/** The API's minimum of top_p while a model thinks. */
const MIN_THINKING_TOP_P = 0.95;

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  return convertCompletion(reparseLosslessly(body, parsed), plan);
}

/** A request as a value, such as another conversion makes. Throws RequestFault. */
export function convertCompletion(completion: JsonRecord, plan: RequestPlan): UpstreamBody {
  const dropped = new DroppedFields();
  const request = readObject(REQUEST, withoutSearch(completion, plan, dropped), location(''));
  checkStreamOptions(request.stream_options);
  const capabilities = capabilitiesOf(ANTHROPIC_MODELS, plan.upstreamModel, plan.capabilities);
  const requestTools = new RequestTools({ dropped, capabilities, providerTools: plan.providerTools });
  const declared = requestTools.convertTools(request.tools, request.functions, request.tool_choice);
  const { system, messages } = convertMessages(request.messages, requestTools);
  const tools = declared ?? toolsOfHistory(messages);
  const choice = declared
    ? requestTools.convertChoice(request.tool_choice, request.function_call, request.parallel_tool_calls)
    : tools && { type: 'none' };
  const maxTokens = readLimit(completion, plan);
  const { thinking, effort, thinks } = convertThinking({
    ...keepReasoning(request, capabilities, dropped),
    model: plan.upstreamModel,
    maxTokens,
    forcesTool: forcesTool(choice),
    messages,
  });
  const format = convertFormat(request.response_format, capabilities);
  const parts = {
    tools,
    system: [...system, ...format.instructions],
    messages: repairEnd(messages, capabilities.prefill && !thinks),
  };
  const { tools: sentTools, ...conversation } = writeConversation(parts, {
    automatic: request.cache_control,
    capabilities,
    dropped,
  });
  const message = {
    model: plan.upstreamModel,
    max_tokens: maxTokens,
    ...conversation,
    stream: completion['stream'] === true ? true : undefined,
    ...convertSampling(request, { thinks, capabilities, dropped }),
    stop_sequences: dropped.keepIf(capabilities.stopSequences, 'stop', convertStop(request.stop)),
    tools: sentTools,
    tool_choice: choice,
    thinking,
    output_config: effort === undefined && format.schema === undefined ? undefined : { effort, format: format.schema },
    metadata: convertUser(request),
    service_tier: convertTier(request.service_tier, dropped),
    ...cacheOf(request.cache_control),
  };
  const { notes } = requestTools;
  return {
    path: '/v1/messages',
    body: Buffer.from(writeJson(message)),
    dropped: dropped.params,
    ...(notes ? { notes } : {}),
  };
}

function checkStreamOptions(options: unknown): void {
  if (isRecord(options)) readObject(STREAM_OPTIONS, options, location('stream_options'));
}

/** Removes chat's own search, which is not among the tools; the table would refuse it. */
function withoutSearch(completion: JsonRecord, { providerTools }: RequestPlan, dropped: DroppedFields): JsonRecord {
  if (providerTools !== 'Drop' || !isGiven(completion[SEARCH_OPTIONS])) return completion;
  dropped.add(SEARCH_OPTIONS);
  return { ...completion, [SEARCH_OPTIONS]: undefined };
}

function keepReasoning(
  request: Request,
  { reasoning }: ModelCapabilities,
  dropped: DroppedFields,
): Pick<ThinkingRequest, 'effort' | 'thinking'> {
  return {
    effort: dropped.keepIf(reasoning, 'reasoning_effort', textOf(request.reasoning_effort), 'none'),
    thinking: dropped.keepIf(reasoning, 'thinking', isRecord(request.thinking) ? request.thinking : undefined),
  };
}

interface CacheOptions {
  /** The request's own breakpoint, which the API places itself. */
  readonly automatic: unknown;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

function writeConversation(
  given: CachedParts,
  { automatic, capabilities: { promptCaching }, dropped }: CacheOptions,
): Readonly<Record<'system' | 'messages' | 'tools', unknown>> {
  const parts = promptCaching && !isGiven(automatic) ? placeBreakpoints(given) : given;
  // a breakpoint that the API places itself counts too
  const { tools, system, messages, removed } = limitBreakpoints(parts, isRecord(automatic) ? 1 : 0);
  if (removed) dropped.add('cache_control');
  return {
    system: system.length === 0 ? undefined : compactContent(system),
    messages: messages.map(({ role, content }) => ({
      role,
      content: Array.isArray(content) ? compactContent(content.filter(isRecord)) : content,
    })),
    tools,
  };
}

/** Anthropic's API requires a limit. */
function readLimit(completion: JsonRecord, plan: RequestPlan): number {
  const limit = plan.maxOutputTokens ?? completion['max_completion_tokens'] ?? completion['max_tokens'];
  if (typeof limit !== 'number')
    throw new RequestFault('invalid_request', 'The field "max_tokens" is needed for this model.', 'max_tokens');
  return limit;
}

type Sampling = Pick<Request, 'temperature' | 'top_p' | 'top_k'>;

export interface SamplingContext {
  readonly thinks: boolean;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

/** 1 is OpenAI's default of temperature and top_p. A model that thinks takes only a top_p close to it. */
export function convertSampling(request: Sampling, { thinks, capabilities, dropped }: SamplingContext): JsonRecord {
  const { temperature: takesTemperature, temperatureWithTopP } = capabilities;
  const given = clamp(request.temperature, MAX_TEMPERATURE);
  const temperature = dropped.keepIf(takesTemperature && !thinks, 'temperature', given, 1);
  const topP = clamp(request.top_p, 1);
  const takesTopP =
    takesTemperature && (thinks ? (topP ?? 0) >= MIN_THINKING_TOP_P : temperatureWithTopP || temperature === undefined);
  return {
    temperature,
    top_p: dropped.keepIf(takesTopP, 'top_p', topP, 1),
    top_k: dropped.keepIf(takesTemperature && !thinks, 'top_k', numberOf(request.top_k)),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function clamp(value: unknown, max: number): number | undefined {
  return typeof value === 'number' ? Math.min(Math.max(value, 0), max) : undefined;
}

function convertStop(stop: unknown): readonly unknown[] | undefined {
  if (typeof stop === 'string') return [stop];
  return Array.isArray(stop) && stop.length > 0 ? stop : undefined;
}

function convertUser(request: Request): JsonRecord | undefined {
  const user = textOf(request.safety_identifier) ?? textOf(request.user);
  return user === undefined ? undefined : { user_id: user };
}

/** Agents ask for a faster tier in all of their calls, and can do without it; a cheaper one cannot be left out. */
function convertTier(tier: unknown, dropped: DroppedFields): 'standard_only' | undefined {
  if (!isGiven(tier) || tier === 'auto') return undefined;
  if (tier === 'default') return 'standard_only';
  if (!FASTER_TIERS.has(tier)) throw unsupported('service_tier', 'Anthropic', 'its tiers are others');
  dropped.add('service_tier');
  return undefined;
}

interface Format {
  readonly schema?: JsonRecord;
  /** Blocks of the system message that ask for JSON, where the model cannot be held to it. */
  readonly instructions: readonly JsonRecord[];
}

function convertFormat(format: unknown, { strictSchemas }: ModelCapabilities): Format {
  if (!isGiven(format)) return { instructions: [] };
  if (!isRecord(format)) throw malformed('response_format', 'an object');
  const kind = readKind(FORMATS, format['type'], location('response_format.type'));
  const { json_schema: definition } = readObject(FORMAT, format, location('response_format'));
  if (kind === 'text') return { instructions: [] };
  const schema = kind === 'json_schema' ? readSchema(definition) : undefined;
  return schema && strictSchemas
    ? { schema: { type: 'json_schema', schema: anthropicSchema(schema) }, instructions: [] }
    : { instructions: [{ type: 'text', text: askForJson(schema) }] };
}

function readSchema(definition: unknown): JsonRecord {
  const schema = isRecord(definition)
    ? readObject(JSON_SCHEMA, definition, location('response_format.json_schema')).schema
    : undefined;
  if (!isRecord(schema)) throw malformed('response_format.json_schema.schema', 'a JSON schema');
  return schema;
}
