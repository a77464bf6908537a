/**
 * A chat completion request as a messages request.
 */
import { RequestFault } from '../call-facts.ts';
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import { isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parsedLosslessly, writeJson } from '../json-lossless.ts';
import { malformed, refuseUnsupported, unsupported } from '../unsupported.ts';
import type { FieldTable } from '../unsupported.ts';
import { convertMessages } from './messages.ts';
import { convertToolChoice, convertTools } from './tools.ts';

const FIELDS: FieldTable = {
  converted: new Set([
    'model', 'messages', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'stop',
    'tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'reasoning_effort', 'user', 'safety_identifier',
  ]),
  // what OpenAI keeps, where it caches and how it speeds up; seed is a best effort without a promise
  harmless: new Set(['metadata', 'store', 'seed', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options', 'prediction']),
  neutral: new Map<string, readonly unknown[]>([
    ['n', [1]], ['best_of', [1]], ['logprobs', [false]], ['top_logprobs', [0]], ['frequency_penalty', [0]], ['presence_penalty', [0]],
    ['logit_bias', [{}]], ['modalities', [['text']]], ['service_tier', ['auto', 'default']], ['verbosity', ['medium']],
    ['functions', [[]]], ['function_call', ['auto', 'none']],
  ]),
};

/** The API's own range, which is half of OpenAI's. */
const MOST_TEMPERATURE = 1;

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  refuseUnsupported(parsed, FIELDS, 'Anthropic');
  const exact = parsedLosslessly(body, parsed);
  const { system, messages } = convertMessages(exact['messages']);
  const tools = convertTools(exact['tools']);
  const message = {
    model: plan.upstreamModel,
    max_tokens: readLimit(parsed, plan),
    system,
    messages,
    stream: parsed['stream'] === true ? true : undefined,
    temperature: clamp(parsed['temperature'], MOST_TEMPERATURE),
    top_p: clamp(parsed['top_p'], 1),
    stop_sequences: convertStop(parsed['stop']),
    tools,
    tool_choice: tools && convertToolChoice(parsed['tool_choice'], parsed['parallel_tool_calls']),
    output_config: convertOutput(parsed['reasoning_effort'], exact['response_format']),
    metadata: convertUser(parsed),
  };
  return { path: '/v1/messages', body: Buffer.from(writeJson(message)) };
}

/** Anthropic's API asks for a limit. */
function readLimit(parsed: JsonRecord, plan: RequestPlan): number {
  const limit = plan.maxOutputTokens ?? parsed['max_completion_tokens'] ?? parsed['max_tokens'];
  if (typeof limit !== 'number') throw new RequestFault('invalid_request', 'The field "max_tokens" is needed for this model.', 'max_tokens');
  return limit;
}

function clamp(value: unknown, most: number): number | undefined {
  return typeof value === 'number' ? Math.min(Math.max(value, 0), most) : undefined;
}

function convertStop(stop: unknown): readonly unknown[] | undefined {
  if (typeof stop === 'string') return [stop];
  return Array.isArray(stop) && stop.length > 0 ? stop : undefined;
}

function convertUser(parsed: JsonRecord): JsonRecord | undefined {
  const user = textOf(parsed['safety_identifier']) ?? textOf(parsed['user']);
  return user === undefined ? undefined : { user_id: user };
}

/** The effort is told by its name, which the newer models take without a thinking budget; the others say that they do not. */
function convertOutput(effort: unknown, format: unknown): JsonRecord | undefined {
  const config = { effort: convertEffort(effort), format: convertFormat(format) };
  return config.effort === undefined && config.format === undefined ? undefined : config;
}

function convertEffort(effort: unknown): string | undefined {
  const said = textOf(effort);
  if (said === undefined || said === 'none') return undefined;
  return said === 'minimal' ? 'low' : said;
}

function convertFormat(format: unknown): JsonRecord | undefined {
  if (!isRecord(format) || format['type'] === 'text') return undefined;
  if (format['type'] !== 'json_schema') throw unsupported('response_format.type', 'Anthropic');
  const schema = isRecord(format['json_schema']) ? format['json_schema']['schema'] : undefined;
  if (!isRecord(schema)) throw malformed('response_format.json_schema.schema', 'a JSON schema');
  return { type: 'json_schema', schema };
}
