/**
 * Converts a messages request to a request of Converse. Settings that only some models have go to
 * `additionalModelRequestFields`.
 */
import { readAnswerSchema, refuseContextEdits } from '../anthropic/converted-settings.ts';
import { capabilitiesOf, CONVERSE_MODELS } from '../capabilities.ts';
import type { ModelCapabilities } from '../capabilities.ts';
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import { DroppedFields } from '../dropped-fields.ts';
import { readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { isGiven, isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { askForJson } from '../json-schemas.ts';
import { reparseLosslessly, writeJson } from '../json-value.ts';
import { ToolNames } from '../tool-ids.ts';
import { CachePoints, location, UPSTREAM } from './blocks.ts';
import { convertMessages, convertSystem } from './messages.ts';
import { familyOf } from './model-family.ts';
import type { ModelFamily } from './model-family.ts';
import { FORMAT, REQUEST } from './table.ts';
import { convertThinking } from './thinking.ts';
import { convertTools } from './tools.ts';

type Request = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

const MAX_NAME_LENGTH = 64;

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const { request, names, dropped, converse } = convert(body, parsed, plan);
  const toolNames = names.original;
  return {
    path: `${modelPath(plan)}/converse${request.stream === true ? '-stream' : ''}`,
    body: Buffer.from(writeJson(converse)),
    dropped: dropped.params,
    ...(toolNames && { notes: { toolNames } }),
  };
}

/** The request as CountTokens takes it: without settings for the response. */
export function convertCountRequest(
  body: Uint8Array,
  parsed: JsonRecord,
  plan: Pick<RequestPlan, 'upstreamModel'>,
): UpstreamBody {
  const {
    converse: { messages, system, toolConfig },
  } = convert(body, parsed, {
    ...plan,
    maxOutputTokens: 1,
    outputLimitField: 'max_tokens',
  });
  return {
    path: `${modelPath(plan)}/count-tokens`,
    body: Buffer.from(writeJson({ input: { converse: { messages, system, toolConfig } } })),
  };
}

/** An id may have colons, and an ARN slashes: they are encoded as one segment. */
function modelPath({ upstreamModel }: Pick<RequestPlan, 'upstreamModel'>): string {
  return `/model/${encodeURIComponent(upstreamModel)}`;
}

interface Conversion {
  readonly request: Request;
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly converse: JsonRecord;
}

function convert(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): Conversion {
  const request = readObject(REQUEST, reparseLosslessly(body, parsed), location(''));
  refuseContextEdits(request.context_management, UPSTREAM);
  const { upstreamModel, providerTools, maxOutputTokens } = plan;
  const family = familyOf(upstreamModel);
  const capabilities = capabilitiesOf(CONVERSE_MODELS, upstreamModel, plan.capabilities);
  const caches = new CachePoints(capabilities.promptCaching, family);
  const context = {
    names: new ToolNames(MAX_NAME_LENGTH),
    dropped: new DroppedFields(),
    capabilities,
    providerTools,
    caches,
  };
  const { messages, calledTools } = convertMessages(request, context);
  const { format, instructions } = convertFormat(request, capabilities);
  const { effort, fields } = convertThinking(request, { family, capabilities, dropped: context.dropped });
  const converse = {
    messages,
    system: convertSystem(request.system, instructions, context),
    inferenceConfig: convertInference(request, { capabilities, dropped: context.dropped, maxOutputTokens }),
    toolConfig: convertTools(request, calledTools, context),
    outputConfig: orAbsent({ textFormat: format, effort }),
    additionalModelRequestFields: orAbsent({ ...fields, ...topKOf(request.top_k, family, capabilities) }),
  };
  return { request, names: context.names, dropped: context.dropped, converse };
}

/** Undefined if no member has a value. */
function orAbsent(members: JsonRecord): JsonRecord | undefined {
  return Object.values(members).some(isGiven) ? members : undefined;
}

interface InferenceContext {
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
  readonly maxOutputTokens: number | undefined;
}

/** 1 is the default of temperature and top_p. */
function convertInference(request: Request, { capabilities, dropped, maxOutputTokens }: InferenceContext): JsonRecord {
  const { temperature, temperatureWithTopP, stopSequences } = capabilities;
  const warmth = dropped.keepIf(temperature, 'temperature', numberOf(request.temperature), 1);
  const takesTopP = temperature && (temperatureWithTopP || warmth === undefined);
  const stops = itemsOf(request.stop_sequences);
  return {
    maxTokens: maxOutputTokens ?? request.max_tokens,
    temperature: warmth,
    topP: dropped.keepIf(takesTopP, 'top_p', numberOf(request.top_p), 1),
    stopSequences: dropped.keepIf(stopSequences, 'stop_sequences', stops.length > 0 ? stops : undefined),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** top_k only narrows the sampling, so nothing is lost for a model without it. */
function topKOf(topK: unknown, family: ModelFamily, { temperature }: ModelCapabilities): JsonRecord {
  if (typeof topK !== 'number' || !temperature) return {};
  if (family === 'Claude') return { top_k: topK };
  return family === 'Nova' ? { inferenceConfig: { topK } } : {};
}

interface Format {
  readonly format?: JsonRecord;
  /** Paragraphs for the system message. */
  readonly instructions: readonly string[];
}

/** A model without schemas is asked for JSON of this schema instead. */
function convertFormat(
  { output_config: config, output_format: format }: Request,
  { strictSchemas }: ModelCapabilities,
): Format {
  const schema = readAnswerSchema(format ?? (isRecord(config) ? config['format'] : undefined), FORMAT, UPSTREAM);
  if (!schema) return { instructions: [] };
  if (!strictSchemas) return { instructions: [askForJson(schema)] };
  const jsonSchema = { schema: writeJson(schema), name: 'answer' };
  return { format: { type: 'json_schema', structure: { jsonSchema } }, instructions: [] };
}
