/**
 * Converts a messages request to a chat completion request.
 */
import { createHash } from 'node:crypto';
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import { readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { reparseLosslessly, writeJson } from '../json-value.ts';
import { takesEffort, wantsReasoningBack } from '../openai/model-features.ts';
import { ToolNames } from '../tool-ids.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { location } from './blocks.ts';
import { convertMessages } from './messages.ts';
import { EFFORTS, FORMAT, METADATA, OUTPUT_CONFIG, REQUEST } from './table.ts';
import { convertTools } from './tools.ts';

type Request = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

/** The API's limits. */
const MAX_USER_LENGTH = 64;
const MAX_STOPS = 4;
const MAX_NAME_LENGTH = 64;
/** Thinking budgets below these limits become this effort; larger ones become high. */
const BUDGETS = [[4096, 'low'], [16_384, 'medium']] as const;

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const request = readObject(REQUEST, reparseLosslessly(body, parsed), location(''));
  refuseContextEdits(request.context_management);
  const names = new ToolNames(MAX_NAME_LENGTH);
  const tools = convertTools(request.tools, request.tool_choice, names);
  const { effort, format } = readOutput(request);
  const streams = parsed['stream'] === true;
  const completion = {
    model: plan.upstreamModel,
    messages: convertMessages(request.system, request.messages, {
      names, reasoning: wantsReasoningBack(plan.upstreamModel),
    }),
    [plan.outputLimitField]: plan.maxOutputTokens ?? parsed['max_tokens'],
    stream: streams ? true : undefined,
    stream_options: streams ? { include_usage: true } : undefined,
    temperature: numberOf(request.temperature),
    top_p: numberOf(request.top_p),
    stop: convertStop(request.stop_sequences),
    ...tools,
    reasoning_effort: effort ?? effortOfBudget(request.thinking, plan.upstreamModel),
    response_format: format,
    user: convertUser(request.metadata),
    service_tier: convertTier(request.service_tier),
  };
  const toolNames = names.original;
  return {
    path: '/chat/completions', body: Buffer.from(writeJson(completion)), ...(toolNames ? { notes: { toolNames } } : {}),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** OpenAI refuses long ids; a digest still tells users apart. */
function convertUser(metadata: unknown): string | undefined {
  const user = isRecord(metadata) ? textOf(readObject(METADATA, metadata, location('metadata')).user_id) : undefined;
  return user === undefined || user.length <= MAX_USER_LENGTH ? user : createHash('sha256').update(user).digest('hex');
}

function convertStop(value: unknown): readonly unknown[] | undefined {
  const stops = itemsOf(value);
  if (stops.length > MAX_STOPS) throw malformed('stop_sequences', `a list of at most ${MAX_STOPS} for this model`);
  return stops.length > 0 ? stops : undefined;
}

function convertTier(tier: unknown): string | undefined {
  if (!isGiven(tier) || tier === 'auto') return undefined;
  if (tier === 'standard_only') return 'default';
  throw unsupported('service_tier', 'OpenAI', 'its tiers are others');
}

function readOutput({
  output_config: config, output_format: format,
}: Request): { effort: string | undefined; format: JsonRecord | undefined } {
  const output = isRecord(config) ? readObject(OUTPUT_CONFIG, config, location('output_config')) : undefined;
  return { effort: EFFORTS.values.get(stringOf(output?.effort)), format: convertFormat(format ?? output?.format) };
}

function effortOfBudget(thinking: unknown, model: string): string | undefined {
  if (!isRecord(thinking) || thinking['type'] !== 'enabled' || !takesEffort(model)) return undefined;
  const budget = Number(thinking['budget_tokens'] ?? 0);
  return BUDGETS.find(([below]) => budget < below)?.[1] ?? 'high';
}

/** Strict, as in Anthropic's API. */
function convertFormat(format: unknown): JsonRecord | undefined {
  if (!isGiven(format)) return undefined;
  if (!isRecord(format) || format['type'] !== 'json_schema' || !isRecord(format['schema']))
    throw unsupported('output_config.format', 'OpenAI');
  const { schema } = readObject(FORMAT, format, location('output_config.format'));
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
}

/** Allows only edits that clear thinking, because a converted conversation contains none. */
function refuseContextEdits(management: unknown): void {
  for (const [index, edit] of itemsOf(isRecord(management) ? management['edits'] : undefined).entries())
    if (!isRecord(edit) || !stringOf(edit['type']).startsWith('clear_thinking_'))
      throw unsupported(`context_management.edits[${index}]`, 'OpenAI');
}
