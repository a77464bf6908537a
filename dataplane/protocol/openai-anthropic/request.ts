/**
 * Converts a chat completion request to a messages request.
 */
import { RequestFault } from '../call-facts.ts';
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import { readKind, readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { isGiven, isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { reparseLosslessly, writeJson } from '../json-value.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { convertMessages, compactContent } from './messages.ts';
import { location, cacheOf } from './parts.ts';
import { FORMAT, FORMATS, JSON_SCHEMA, REQUEST, STREAM_OPTIONS } from './table.ts';
import { convertThinking } from './thinking.ts';
import { forcesTool, RequestTools } from './tools.ts';

type Request = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

/** The API's limit, half of OpenAI's. */
const MAX_TEMPERATURE = 1;
/** The API's minimum of top_p while a model thinks. */
const MIN_THINKING_TOP_P = 0.95;
/** Replaces OpenAI's JSON mode. */
const JSON_ONLY = 'Answer with one valid JSON object and nothing else: no explanation, no code fence.';

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const request = readObject(REQUEST, reparseLosslessly(body, parsed), location(''));
  if (isRecord(request.stream_options)) readObject(STREAM_OPTIONS, request.stream_options, location('stream_options'));
  const requestTools = new RequestTools();
  const tools = requestTools.convertTools(request.tools, request.functions, request.tool_choice);
  const choice = tools
    && requestTools.convertChoice(request.tool_choice, request.function_call, request.parallel_tool_calls);
  const { system, messages } = convertMessages(request.messages, requestTools);
  const maxTokens = readLimit(parsed, plan);
  const { thinking, effort, thinks } = convertThinking({
    effort: request.reasoning_effort, thinking: request.thinking, model: plan.upstreamModel, maxTokens,
    forcesTool: forcesTool(choice), messages,
  });
  const format = convertFormat(request.response_format);
  const message = {
    model: plan.upstreamModel,
    max_tokens: maxTokens,
    system: writeSystem(format.promptOnly ? [...system, { type: 'text', text: JSON_ONLY }] : system),
    messages,
    stream: parsed['stream'] === true ? true : undefined,
    ...convertSampling(request, thinks),
    stop_sequences: convertStop(request.stop),
    tools,
    tool_choice: choice,
    thinking,
    output_config: effort === undefined && format.schema === undefined ? undefined : { effort, format: format.schema },
    metadata: convertUser(request),
    service_tier: convertTier(request.service_tier),
    ...cacheOf(request.cache_control),
  };
  const { notes } = requestTools;
  return { path: '/v1/messages', body: Buffer.from(writeJson(message)), ...(notes ? { notes } : {}) };
}

function writeSystem(blocks: readonly JsonRecord[]): string | readonly JsonRecord[] | undefined {
  return blocks.length === 0 ? undefined : compactContent(blocks);
}

/** Anthropic's API requires a limit. */
function readLimit(parsed: JsonRecord, plan: RequestPlan): number {
  const limit = plan.maxOutputTokens ?? parsed['max_completion_tokens'] ?? parsed['max_tokens'];
  if (typeof limit !== 'number')
    throw new RequestFault('invalid_request', 'The field "max_tokens" is needed for this model.', 'max_tokens');
  return limit;
}

function convertSampling(request: Request, thinks: boolean): JsonRecord {
  const topP = clamp(request.top_p, 1);
  if (thinks) return { top_p: topP !== undefined && topP >= MIN_THINKING_TOP_P ? topP : undefined };
  return {
    temperature: clamp(request.temperature, MAX_TEMPERATURE), top_p: topP,
    top_k: typeof request.top_k === 'number' ? request.top_k : undefined,
  };
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

function convertTier(tier: unknown): string | undefined {
  if (!isGiven(tier) || tier === 'auto') return undefined;
  if (tier === 'default') return 'standard_only';
  throw unsupported('service_tier', 'Anthropic', 'its tiers are others');
}

/** `promptOnly`: JSON is only asked for, in the system prompt. */
function convertFormat(format: unknown): { schema?: JsonRecord; promptOnly?: boolean } {
  if (!isGiven(format)) return {};
  if (!isRecord(format)) throw malformed('response_format', 'an object');
  const kind = readKind(FORMATS, format['type'], location('response_format.type'));
  const { json_schema: definition } = readObject(FORMAT, format, location('response_format'));
  if (kind !== 'json_schema') return { promptOnly: kind === 'json_object' };
  const schema = isRecord(definition)
    ? readObject(JSON_SCHEMA, definition, location('response_format.json_schema')).schema
    : undefined;
  if (!isRecord(schema)) throw malformed('response_format.json_schema.schema', 'a JSON schema');
  return { schema: { type: 'json_schema', schema } };
}
