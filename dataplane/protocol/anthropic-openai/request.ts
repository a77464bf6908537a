/**
 * A messages request as a chat completion request.
 */
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import { isGiven, isRecord, itemsOf, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parsedLosslessly, writeJson } from '../json-lossless.ts';
import { malformed, refuseUnsupported, unsupported } from '../unsupported.ts';
import type { FieldTable } from '../unsupported.ts';
import { convertMessages } from './messages.ts';
import { convertToolChoice, convertTools, parallelToolCalls } from './tools.ts';

const FIELDS: FieldTable = {
  converted: new Set([
    'model', 'messages', 'system', 'max_tokens', 'stream', 'temperature', 'top_p', 'stop_sequences', 'tools', 'tool_choice', 'metadata',
    'output_config', 'output_format', 'context_management',
  ]),
  // top_k has no counterpart and only narrows sampling; thinking is how a model works, not what it says; caching is automatic
  harmless: new Set(['top_k', 'thinking', 'cache_control', 'diagnostics']),
  neutral: new Map<string, readonly unknown[]>([
    ['service_tier', ['auto', 'standard_only']], ['speed', ['standard']], ['inference_geo', ['global']], ['mcp_servers', [[]]],
  ]),
};

const MOST_USER_LENGTH = 64;
/** The reference's bound of `stop`. */
const MOST_STOPS = 4;
/** The efforts that all reasoning models know, and the nearest for the others. */
const EFFORTS: ReadonlyMap<string, string> = new Map([['low', 'low'], ['medium', 'medium'], ['high', 'high'], ['xhigh', 'high'], ['max', 'high']]);

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  refuseUnsupported(parsed, FIELDS, 'OpenAI');
  refuseContextEdits(parsed['context_management']);
  const exact = parsedLosslessly(body, parsed);
  const tools = convertTools(exact['tools']);
  const streams = parsed['stream'] === true;
  const completion = {
    model: plan.upstreamModel,
    messages: convertMessages(exact['system'], exact['messages']),
    [plan.outputLimitField]: plan.maxOutputTokens ?? parsed['max_tokens'],
    stream: streams ? true : undefined,
    stream_options: streams ? { include_usage: true } : undefined,
    temperature: numberOf(parsed['temperature']),
    top_p: numberOf(parsed['top_p']),
    stop: convertStop(parsed['stop_sequences']),
    tools,
    tool_choice: tools && convertToolChoice(parsed['tool_choice']),
    parallel_tool_calls: tools && parallelToolCalls(parsed['tool_choice']),
    reasoning_effort: convertEffort(parsed['output_config']),
    response_format: convertFormat(exact),
    user: convertUser(parsed['metadata']),
  };
  return { path: '/chat/completions', body: Buffer.from(writeJson(completion)) };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** OpenAI refuses longer ones, and an id that is cut identifies nobody. */
function convertUser(metadata: unknown): string | undefined {
  const user = isRecord(metadata) ? textOf(metadata['user_id']) : undefined;
  return user !== undefined && user.length <= MOST_USER_LENGTH ? user : undefined;
}

function convertStop(value: unknown): readonly unknown[] | undefined {
  const stops = itemsOf(value);
  if (stops.length > MOST_STOPS) throw malformed('stop_sequences', `a list of at most ${MOST_STOPS} for this model`);
  return stops.length > 0 ? stops : undefined;
}

function convertEffort(config: unknown): string | undefined {
  return isRecord(config) ? EFFORTS.get(wordOf(config['effort'])) : undefined;
}

/** The schema is the client's word on the answer's shape: strict, as Anthropic has it. */
function convertFormat(parsed: JsonRecord): JsonRecord | undefined {
  const config = parsed['output_config'];
  const format = parsed['output_format'] ?? (isRecord(config) ? config['format'] : undefined);
  if (!isGiven(format)) return undefined;
  if (!isRecord(format) || format['type'] !== 'json_schema' || !isRecord(format['schema'])) throw unsupported('output_config.format', 'OpenAI');
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format['schema'], strict: true } };
}

/** Thinking is left out of a converted conversation anyway; edits that would leave out more cannot be told. */
function refuseContextEdits(management: unknown): void {
  for (const [index, edit] of itemsOf(isRecord(management) ? management['edits'] : undefined).entries())
    if (!isRecord(edit) || !wordOf(edit['type']).startsWith('clear_thinking_')) throw unsupported(`context_management.edits[${index}]`, 'OpenAI');
}
