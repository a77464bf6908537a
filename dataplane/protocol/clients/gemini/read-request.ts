/** Reads a request in Google's protocol into a conversation. Its model, and whether it streams, are in the path. */
import { effortOfBudget } from '../../conversation/efforts.ts';
import type {
  Conversation,
  ImageConfig,
  Located,
  ReasoningSettings,
  ResponseFormat,
  Settings,
} from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { ConvertedFields, UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, recordOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { canonicalNames, countedRequest } from '../../gemini/names.ts';
import { malformed } from '../../unsupported.ts';
import type { ReadContext, ReadRequest } from '../client.ts';
import { readContents, readSystem } from './read-contents.ts';
import { readChoice, readTools } from './read-tools.ts';
import { toJsonSchema } from './schemas.ts';
import { GENERATION_CONFIG, IMAGE_CONFIG, LEVELS, MIME_TYPES, REQUEST, THINKING_CONFIG } from './table.ts';

type Config = ConvertedFields<NonNullable<typeof GENERATION_CONFIG.converted>>;

const CONFIG = 'generationConfig';

/** Also the request that a token count wraps. Throws RequestFault for a field that is missing or malformed. */
export function readRequest(given: JsonRecord, readContext: ReadContext): ReadRequest {
  const unread: UnreadField[] = [];
  const context = { ...readContext, unread };
  const request = readFields(REQUEST, countedRequest(canonicalNames(given)), { param: '', unread });
  const config = readConfig(request.generationConfig, unread);
  const conversation: Conversation = {
    turns: [...readSystem(request.systemInstruction, context), ...readContents(request.contents, context)],
    tools: readTools(request.tools, context),
    settings: { ...readSettings(config, unread), toolChoice: readChoice(request.toolConfig, context) },
    automaticCaching: true,
    unread,
  };
  const thinking = recordOf(config.thinkingConfig);
  return { conversation, notes: { includeThoughts: thinking['includeThoughts'] === true } };
}

function readConfig(value: unknown, unread: UnreadField[]): Config {
  if (isGiven(value) && !isRecord(value)) throw malformed(CONFIG, 'an object');
  return readFields(GENERATION_CONFIG, recordOf(value), { param: CONFIG, unread });
}

function readSettings(config: Config, unread: UnreadField[]): Settings {
  const number = (name: keyof Config): Located<number> | undefined => numberAt(config[name], name);
  const stops = itemsOf(config.stopSequences).filter((stop) => typeof stop === 'string');
  return {
    maxOutputTokens: number('maxOutputTokens'),
    temperature: number('temperature'),
    topP: number('topP'),
    topK: number('topK'),
    seed: number('seed'),
    frequencyPenalty: number('frequencyPenalty'),
    presencePenalty: number('presencePenalty'),
    candidates: number('candidateCount'),
    logProbabilities: readLogProbabilities(config),
    modalities: readModalities(config.responseModalities),
    imageConfig: located(readImageConfig(config.imageConfig, unread), 'imageConfig'),
    stop: located(stops.length > 0 ? stops : undefined, 'stopSequences'),
    ...readThinking(config.thinkingConfig, unread),
    responseFormat: located(readFormat(config, unread), formatField(config)),
  };
}

function located<Value>(value: Value | undefined, name: string): Located<Value> | undefined {
  return value === undefined ? undefined : { value, path: `${CONFIG}.${name}` };
}

function numberAt(value: unknown, name: string): Located<number> | undefined {
  return located(typeof value === 'number' ? value : undefined, name);
}

/** Text alone is the default. */
function readModalities(given: unknown): Settings['modalities'] {
  const names = itemsOf(given).filter((each) => typeof each === 'string' && each !== 'MODALITY_UNSPECIFIED');
  const value = names.map((each) => stringOf(each).toLowerCase());
  return located(value.some((each) => each !== 'text') ? value : undefined, 'responseModalities');
}

function readImageConfig(given: unknown, unread: UnreadField[]): ImageConfig | undefined {
  const param = `${CONFIG}.imageConfig`;
  if (!isGiven(given)) return undefined;
  if (!isRecord(given)) throw malformed(param, 'an object');
  const { aspectRatio: shape, imageSize: resolution } = readFields(IMAGE_CONFIG, given, { param, unread });
  return { shape: textOf(shape), resolution: textOf(resolution) };
}

function readLogProbabilities({ responseLogprobs, logprobs }: Config): Located<number> | undefined {
  if (responseLogprobs !== true) return undefined;
  return located(typeof logprobs === 'number' ? logprobs : 0, 'responseLogprobs');
}

/** A budget of 0 turns reasoning off, and a negative one leaves it to the model. */
function readThinking(value: unknown, unread: UnreadField[]): Pick<Settings, 'effort' | 'reasoning'> {
  const name = 'thinkingConfig';
  if (isGiven(value) && !isRecord(value)) throw malformed(`${CONFIG}.${name}`, 'an object');
  if (!isRecord(value)) return {};
  const { thinkingBudget: budget, thinkingLevel: level } = readFields(THINKING_CONFIG, value, {
    param: `${CONFIG}.${name}`,
    unread,
  });
  const effort = LEVELS.values.get(stringOf(level).toUpperCase()) ?? effortOf(budget);
  if (effort === undefined && typeof budget !== 'number') return {};
  const reasoning: ReasoningSettings = {
    mode: effort === 'none' ? 'Disabled' : 'Adaptive',
    budgetTokens: typeof budget === 'number' && budget > 0 ? budget : undefined,
    display: undefined,
  };
  return { effort: located(effort, name), reasoning: located(reasoning, name) };
}

/** Undefined: none is stated, or the model decides. */
function effortOf(budget: unknown): string | undefined {
  if (typeof budget !== 'number' || budget < 0) return undefined;
  return budget === 0 ? 'none' : effortOfBudget(budget);
}

/** The field that asks for the format. */
function formatField({ responseMimeType: type, responseJsonSchema: schema }: Config): string {
  if (isGiven(type)) return 'responseMimeType';
  return isGiven(schema) ? 'responseJsonSchema' : 'responseSchema';
}

function readFormat(config: Config, unread: UnreadField[]): ResponseFormat | undefined {
  const schema = readSchema(config.responseSchema, config.responseJsonSchema);
  const type = textOf(config.responseMimeType) ?? (schema ? 'application/json' : 'text/plain');
  switch (kindOf(MIME_TYPES, type, { param: `${CONFIG}.responseMimeType`, unread })) {
    case 'application/json':
      if (!schema) return { type: 'Json' };
      return { type: 'Schema', schema, name: undefined, description: undefined, strict: undefined };
    case 'text/x.enum':
      return { type: 'Words', words: itemsOf(schema?.['enum']).filter((word) => typeof word === 'string') };
    default:
      return undefined;
  }
}

function readSchema(openApi: unknown, jsonSchema: unknown): JsonRecord | undefined {
  if (isRecord(jsonSchema)) return jsonSchema;
  if (isGiven(jsonSchema)) throw malformed(`${CONFIG}.responseJsonSchema`, 'a JSON schema');
  if (isRecord(openApi)) return toJsonSchema(openApi);
  if (isGiven(openApi)) throw malformed(`${CONFIG}.responseSchema`, 'a schema');
  return undefined;
}
