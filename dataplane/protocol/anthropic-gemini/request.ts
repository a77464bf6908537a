/**
 * Converts a messages request to one of Gemini's.
 */
import { readAnswerSchema, refuseContextEdits } from '../anthropic/converted-settings.ts';
import { capabilitiesOf, GEMINI_MODELS } from '../capabilities.ts';
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import { DroppedFields } from '../dropped-fields.ts';
import { readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { askForJson } from '../json-schemas.ts';
import { reparseLosslessly, writeJson } from '../json-value.ts';
import { ToolNames } from '../tool-ids.ts';
import { location, UPSTREAM } from './blocks.ts';
import { convertMessages, convertSystem } from './messages.ts';
import type { ConversionContext } from './messages.ts';
import { geminiVersion, LEVELS_FROM } from './model-version.ts';
import { FORMAT, REQUEST } from './table.ts';
import { convertThinking } from './thinking.ts';
import { convertTools } from './tools.ts';

type Request = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

const MAX_NAME_LENGTH = 64;
const MAX_STOP_SEQUENCES = 5;

export function convertRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const { request, context, gemini } = convert(body, parsed, plan);
  const toolNames = context.names.original;
  return {
    path: modelPath(plan, request.stream === true ? 'streamGenerateContent?alt=sse' : 'generateContent'),
    body: Buffer.from(writeJson(gemini)),
    dropped: context.dropped.params,
    ...(toolNames && { notes: { toolNames } }),
  };
}

/** The request as countTokens takes it, with everything that counts. */
export function convertCountRequest(
  body: Uint8Array,
  parsed: JsonRecord,
  plan: Pick<RequestPlan, 'upstreamModel'>,
): UpstreamBody {
  const {
    gemini: { contents, systemInstruction, tools },
  } = convert(body, parsed, {
    ...plan,
    maxOutputTokens: 1,
    outputLimitField: 'max_tokens',
  });
  const generateContentRequest = { model: `models/${plan.upstreamModel}`, contents, systemInstruction, tools };
  return { path: modelPath(plan, 'countTokens'), body: Buffer.from(writeJson({ generateContentRequest })) };
}

function modelPath({ upstreamModel }: Pick<RequestPlan, 'upstreamModel'>, method: string): string {
  return `/v1beta/models/${encodeURIComponent(upstreamModel)}:${method}`;
}

interface Conversion {
  readonly request: Request;
  readonly context: ConversionContext;
  readonly gemini: JsonRecord;
}

function convert(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): Conversion {
  const request = readObject(REQUEST, reparseLosslessly(body, parsed), location(''));
  refuseContextEdits(request.context_management, UPSTREAM);
  const { upstreamModel: model, providerTools, maxOutputTokens } = plan;
  const version = geminiVersion(model);
  const context: ConversionContext = {
    names: new ToolNames(MAX_NAME_LENGTH),
    dropped: new DroppedFields(),
    providerTools,
    version,
    capabilities: capabilitiesOf(GEMINI_MODELS, model, plan.capabilities),
  };
  const contents = convertMessages(request.messages, context);
  const { tools, toolConfig } = convertTools(request, context);
  const { format, instructions } = convertFormat(request, context, tools !== undefined);
  const gemini = {
    contents,
    systemInstruction: convertSystem(request.system, instructions),
    tools,
    toolConfig,
    generationConfig: {
      ...convertSampling(request, context),
      maxOutputTokens: maxOutputTokens ?? request.max_tokens,
      ...format,
      thinkingConfig: convertThinking(request, context, model),
    },
  };
  return { request, context, gemini };
}

/** 1 is the default of temperature and top_p. */
function convertSampling(request: Request, { capabilities, dropped }: ConversionContext): JsonRecord {
  const { temperature, stopSequences } = capabilities;
  const given = itemsOf(request.stop_sequences);
  const stops = dropped.keepIf(stopSequences, 'stop_sequences', given.length > 0 ? given : undefined);
  if (given.length > MAX_STOP_SEQUENCES) dropped.add('stop_sequences');
  return {
    temperature: dropped.keepIf(temperature, 'temperature', numberOf(request.temperature), 1),
    topP: dropped.keepIf(temperature, 'top_p', numberOf(request.top_p), 1),
    topK: temperature ? numberOf(request.top_k) : undefined,
    stopSequences: stops?.slice(0, MAX_STOP_SEQUENCES),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

interface Format {
  /** Members of `generationConfig`. */
  readonly format?: JsonRecord;
  /** Paragraphs for the system message. */
  readonly instructions: readonly string[];
}

/** A model without schemas is asked for JSON of this schema instead; so is one before Gemini 3 that has tools. */
function convertFormat(
  { output_config: config, output_format: given }: Request,
  { capabilities, version }: ConversionContext,
  hasTools: boolean,
): Format {
  const schema = readAnswerSchema(given ?? (isRecord(config) ? config['format'] : undefined), FORMAT, UPSTREAM);
  if (!schema) return { instructions: [] };
  if (!capabilities.strictSchemas || (hasTools && version < LEVELS_FROM)) return { instructions: [askForJson(schema)] };
  return { format: { responseMimeType: 'application/json', responseJsonSchema: schema }, instructions: [] };
}
