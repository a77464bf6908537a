/**
 * Converts a messages request to a chat completion request.
 */
import { createHash } from 'node:crypto';
import { readAnswerSchema, refuseContextEdits } from '../anthropic/converted-settings.ts';
import { capabilitiesOf, OPENAI_MODELS } from '../capabilities.ts';
import type { ModelCapabilities } from '../capabilities.ts';
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import { DroppedFields } from '../dropped-fields.ts';
import { readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { reparseLosslessly, writeJson } from '../json-value.ts';
import { askForJson, openAiStrictSchema } from '../json-schemas.ts';
import { wantsReasoningBack } from '../openai/model-features.ts';
import { ToolNames } from '../tool-ids.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { location, UPSTREAM } from './blocks.ts';
import { convertMessages } from './messages.ts';
import { EFFORTS, FORMAT, METADATA, OUTPUT_CONFIG, REQUEST } from './table.ts';
import { convertTools } from './tools.ts';

type Request = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

/** The API's limits. */
const MAX_USER_LENGTH = 64;
const MAX_STOPS = 4;
const MAX_NAME_LENGTH = 64;
/** Thinking budgets below these limits become this effort; larger ones become high. */
const BUDGETS = [
  [4096, 'low'],
  [16_384, 'medium'],
] as const;

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const request = readObject(REQUEST, reparseLosslessly(body, parsed), location(''));
  refuseContextEdits(request.context_management, UPSTREAM);
  const names = new ToolNames(MAX_NAME_LENGTH);
  const dropped = new DroppedFields();
  const { providerTools } = plan;
  const capabilities = capabilitiesOf(OPENAI_MODELS, plan.upstreamModel, plan.capabilities);
  const { overflow, ...tools } = convertTools(request, { names, dropped, capabilities, providerTools });
  const { effort, format, instructions } = convertOutput(request, capabilities, dropped);
  const streams = parsed['stream'] === true;
  const completion = {
    model: plan.upstreamModel,
    messages: convertMessages(request.system, request.messages, {
      names,
      dropped,
      providerTools,
      reasoning: wantsReasoningBack(plan.upstreamModel),
      appendix: [...overflow, ...instructions],
    }),
    [plan.outputLimitField]: plan.maxOutputTokens ?? parsed['max_tokens'],
    stream: streams ? true : undefined,
    stream_options: streams ? { include_usage: true } : undefined,
    ...convertSampling(request, capabilities, dropped),
    ...tools,
    reasoning_effort: effort,
    response_format: format,
    user: convertUser(request.metadata),
    service_tier: convertTier(request.service_tier),
  };
  const toolNames = names.original;
  return {
    path: '/chat/completions',
    body: Buffer.from(writeJson(completion)),
    dropped: dropped.params,
    ...(toolNames ? { notes: { toolNames } } : {}),
  };
}

/** 1 is the API's default of temperature and top_p. */
function convertSampling(request: Request, capabilities: ModelCapabilities, dropped: DroppedFields): JsonRecord {
  const { temperature, stopSequences } = capabilities;
  return {
    temperature: dropped.keepIf(temperature, 'temperature', numberOf(request.temperature), 1),
    top_p: dropped.keepIf(temperature, 'top_p', numberOf(request.top_p), 1),
    stop: dropped.keepIf(stopSequences, 'stop_sequences', convertStop(request.stop_sequences)),
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

interface Output {
  readonly effort: string | undefined;
  readonly format: JsonRecord | undefined;
  /** Paragraphs for the system message. */
  readonly instructions: readonly string[];
}

function convertOutput(
  request: Request,
  { reasoning, strictSchemas }: ModelCapabilities,
  dropped: DroppedFields,
): Output {
  const { output_config: config, output_format: format, thinking } = request;
  const output = isRecord(config) ? readObject(OUTPUT_CONFIG, config, location('output_config')) : undefined;
  const effort = dropped.keepIf(reasoning, 'output_config.effort', EFFORTS.values.get(stringOf(output?.effort)));
  const budgeted = dropped.keepIf(reasoning, 'thinking', effortOfBudget(thinking));
  const schema = readAnswerSchema(format ?? output?.format, FORMAT, UPSTREAM);
  return { effort: effort ?? budgeted, ...convertSchema(schema, strictSchemas) };
}

function effortOfBudget(thinking: unknown): string | undefined {
  if (!isRecord(thinking) || thinking['type'] !== 'enabled') return undefined;
  const budget = Number(thinking['budget_tokens'] ?? 0);
  return BUDGETS.find(([below]) => budget < below)?.[1] ?? 'high';
}

/** A model without schemas is asked for JSON of this schema instead. */
function convertSchema(schema: JsonRecord | undefined, strictSchemas: boolean): Omit<Output, 'effort'> {
  if (!schema) return { format: undefined, instructions: [] };
  if (!strictSchemas) return { format: { type: 'json_object' }, instructions: [askForJson(schema)] };
  const strict = openAiStrictSchema(schema);
  const definition = { name: 'answer', schema: strict ?? schema, strict: strict !== undefined };
  return { format: { type: 'json_schema', json_schema: definition }, instructions: [] };
}
