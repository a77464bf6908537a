/** Reads a chat completion request into a conversation. */
import type { ConversionNotes } from '../../converter.ts';
import type { ImageConfig, ResponseFormat, Settings } from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, recordOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { SEARCH_OPTIONS } from '../../openai/facts.ts';
import { malformed } from '../../unsupported.ts';
import { cacheMark } from '../cache-mark.ts';
import type { ReadContext, ReadRequest } from '../client.ts';
import { located, numberOf, openAiTier } from '../settings.ts';
import { schemaFormat } from '../schema-format.ts';
import { readTurns } from './read-messages.ts';
import { readReasoningSettings } from './read-reasoning-settings.ts';
import { readTools } from './read-tools.ts';
import { FORMAT, FORMATS, IMAGE_CONFIG, JSON_SCHEMA, REQUEST, STREAM_OPTIONS } from './table.ts';
import type { ChatRequest } from './table.ts';

/** Throws RequestFault for a field that is missing or malformed. */
export function readRequest(given: JsonRecord, context: ReadContext): ReadRequest {
  const unread: UnreadField[] = [];
  const request = readFields(REQUEST, withoutSearch(given, context, unread), { param: '', unread });
  const { stream_options: options } = request;
  if (isRecord(options)) readFields(STREAM_OPTIONS, options, { param: 'stream_options', unread });
  const { tools, choice, notes } = readTools(request, { ...context, unread });
  const turns = readTurns(request.messages, unread);
  const settings = { ...readSettings(request, unread), ...choice };
  return { conversation: { turns, tools, settings, automaticCaching: true, unread }, notes: orAbsent(notes) };
}

function orAbsent(notes: ConversionNotes): ConversionNotes | undefined {
  return Object.keys(notes).length > 0 ? notes : undefined;
}

/** Chat's own search is not among the tools; the table refuses it. */
function withoutSearch(given: JsonRecord, { providerTools }: ReadContext, unread: UnreadField[]): JsonRecord {
  if (providerTools !== 'Drop' || !isGiven(given[SEARCH_OPTIONS])) return given;
  unread.push({ path: SEARCH_OPTIONS, handling: 'Omitted', why: undefined });
  return { ...given, [SEARCH_OPTIONS]: undefined };
}

function readSettings(request: ChatRequest, unread: UnreadField[]): Settings {
  return {
    ...readSampling(request),
    ...readReasoningSettings(request, unread),
    ...readAccounts(request),
    maxOutputTokens:
      located(numberOf(request.max_completion_tokens), 'max_completion_tokens') ??
      located(numberOf(request.max_tokens), 'max_tokens'),
    verbosity: located(textOf(request.verbosity), 'verbosity'),
    modalities: readModalities(request.modalities),
    imageConfig: located(readImageConfig(request.image_config, unread), 'image_config'),
    responseFormat: located(readFormat(request.response_format, unread), 'response_format'),
    cache: located(cacheMark(request.cache_control), 'cache_control'),
  };
}

function readSampling(request: ChatRequest): Settings {
  return {
    temperature: located(numberOf(request.temperature), 'temperature'),
    topP: located(numberOf(request.top_p), 'top_p'),
    topK: located(numberOf(request.top_k), 'top_k'),
    seed: located(numberOf(request.seed), 'seed'),
    frequencyPenalty: located(numberOf(request.frequency_penalty), 'frequency_penalty'),
    presencePenalty: located(numberOf(request.presence_penalty), 'presence_penalty'),
    stop: located(stopsOf(request.stop), 'stop'),
    candidates: located(numberOf(request.n), 'n'),
    logProbabilities: request.logprobs === true ? located(numberOf(request.top_logprobs) ?? 0, 'logprobs') : undefined,
  };
}

/** The user, the cache and the tier. */
function readAccounts(request: ChatRequest): Settings {
  return {
    user: located(textOf(request.safety_identifier), 'safety_identifier') ?? located(textOf(request.user), 'user'),
    promptCacheKey: located(textOf(request.prompt_cache_key), 'prompt_cache_key'),
    serviceTier: located(openAiTier(request.service_tier), 'service_tier'),
  };
}

function stopsOf(stop: unknown): readonly string[] | undefined {
  const stops = (typeof stop === 'string' ? [stop] : itemsOf(stop)).filter((each) => typeof each === 'string');
  return stops.length > 0 ? stops : undefined;
}

/** Text alone is the default. */
function readModalities(given: unknown): Settings['modalities'] {
  const value = itemsOf(given).filter((each) => typeof each === 'string');
  return value.some((each) => each !== 'text') ? { value, path: 'modalities' } : undefined;
}

function readImageConfig(given: unknown, unread: UnreadField[]): ImageConfig | undefined {
  if (!isGiven(given)) return undefined;
  if (!isRecord(given)) throw malformed('image_config', 'an object');
  const { aspect_ratio: shape, image_size: resolution } = readFields(IMAGE_CONFIG, given, {
    param: 'image_config',
    unread,
  });
  return { shape: textOf(shape), resolution: textOf(resolution) };
}

const FORMAT_PATH = 'response_format';

function readFormat(format: unknown, unread: UnreadField[]): ResponseFormat | undefined {
  if (!isGiven(format)) return undefined;
  if (!isRecord(format)) throw malformed(FORMAT_PATH, 'an object');
  const kind = kindOf(FORMATS, format['type'], { param: `${FORMAT_PATH}.type`, unread });
  const { json_schema: definition } = readFields(FORMAT, format, { param: FORMAT_PATH, unread });
  if (kind === 'json_object') return { type: 'Json' };
  return kind === 'json_schema' ? readSchema(definition, unread) : undefined;
}

function readSchema(definition: unknown, unread: UnreadField[]): ResponseFormat {
  const param = `${FORMAT_PATH}.json_schema`;
  return schemaFormat(readFields(JSON_SCHEMA, recordOf(definition), { param, unread }), param);
}
