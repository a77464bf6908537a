/**
 * Converts the settings of a generation: thinking, and the format of the answer.
 */
import type { ModelCapabilities } from '../capabilities.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { readKind, readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { isGiven, isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { anthropicSchema, askForJson } from '../json-schemas.ts';
import { writeJson } from '../json-value.ts';
import { convertThinking } from '../openai-anthropic/thinking.ts';
import type { Thinking, ThinkingRequest } from '../openai-anthropic/thinking.ts';
import { malformed } from '../unsupported.ts';
import { toJsonSchema } from './schemas.ts';
import { LEVELS, MIME_TYPES, THINKING_CONFIG } from './table.ts';
import type { GENERATION_CONFIG } from './table.ts';

export type Config = ConvertedFields<NonNullable<typeof GENERATION_CONFIG.converted>>;

const PARAM = 'generationConfig';
/** Budgets below these limits become this effort; larger ones become high. */
const BUDGETS = [
  [4096, 'low'],
  [16_384, 'medium'],
] as const;
/** Anthropic's minimum. */
const MIN_BUDGET = 1024;

export interface SettingsContext {
  readonly upstream: string;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

export interface ThinkingSettings extends Thinking {
  /** The answer shows the thoughts. */
  readonly includeThoughts: boolean;
}

export function readThinking(
  value: unknown,
  request: Omit<ThinkingRequest, 'effort' | 'thinking'>,
  context: SettingsContext,
): ThinkingSettings {
  const { upstream, capabilities, dropped } = context;
  const param = `${PARAM}.thinkingConfig`;
  if (isGiven(value) && !isRecord(value)) throw malformed(param, 'an object');
  const {
    thinkingBudget: budget,
    thinkingLevel: level,
    includeThoughts,
  } = readObject(THINKING_CONFIG, isRecord(value) ? value : {}, { param, upstream });
  const given = effortOf(budget, level);
  const effort = dropped.keepIf(capabilities.reasoning, param, given, 'none');
  const thinking = convertThinking({ ...request, effort, thinking: undefined });
  return { ...withBudget(thinking, budget, request.maxTokens), includeThoughts: includeThoughts === true };
}

/** The effort in OpenAI's terms; undefined: the client states none. */
function effortOf(budget: unknown, level: unknown): string | undefined {
  const named = LEVELS.values.get(stringOf(level).toUpperCase());
  if (named !== undefined) return named;
  if (typeof budget !== 'number') return undefined;
  if (budget === 0) return 'none';
  return budget < 0 ? 'medium' : (BUDGETS.find(([below]) => budget < below)?.[1] ?? 'high');
}

/** The client's own budget, for models that take one; a negative one leaves the effort to the model. */
function withBudget(converted: Thinking, budget: unknown, maxTokens: number): Thinking {
  if (typeof budget !== 'number' || !converted.thinking) return converted;
  const { thinking } = converted;
  if (budget > 0 && thinking['type'] === 'enabled') {
    const tokens = Math.max(MIN_BUDGET, Math.min(budget, Math.floor(maxTokens / 2)));
    return { ...converted, thinking: { ...thinking, budget_tokens: tokens } };
  }
  return budget < 0 && thinking['type'] === 'adaptive' ? { ...converted, effort: undefined } : converted;
}

export interface Format {
  readonly schema?: JsonRecord;
  /** Blocks of the system message that ask for JSON, where the model cannot be held to it. */
  readonly instructions: readonly JsonRecord[];
}

export function readFormat(config: Config, { upstream, capabilities }: SettingsContext): Format {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  const schema = readSchema(responseSchema, responseJsonSchema);
  const kind = readKind(MIME_TYPES, textOf(type) ?? (schema ? 'application/json' : 'text/plain'), {
    param: `${PARAM}.responseMimeType`,
    upstream,
  });
  if (kind === 'text/plain') return { instructions: [] };
  if (!schema) return ask(askForJson());
  if (schema['type'] !== 'object') return ask(askForValue(schema));
  if (!capabilities.strictSchemas && upstream !== 'OpenAI') return ask(askForJson(schema));
  const sent = upstream === 'OpenAI' ? schema : anthropicSchema(schema);
  return { schema: { type: 'json_schema', schema: sent }, instructions: [] };
}

function readSchema(openApi: unknown, jsonSchema: unknown): JsonRecord | undefined {
  if (isRecord(jsonSchema)) return jsonSchema;
  if (isGiven(jsonSchema)) throw malformed(`${PARAM}.responseJsonSchema`, 'a JSON schema');
  if (isRecord(openApi)) return toJsonSchema(openApi);
  if (isGiven(openApi)) throw malformed(`${PARAM}.responseSchema`, 'a schema');
  return undefined;
}

function ask(text: string): Format {
  return { instructions: [{ type: 'text', text }] };
}

/** Providers enforce schemas of objects only; other values are asked for in words. */
function askForValue(schema: JsonRecord): string {
  return (
    'Answer with one valid JSON value and nothing else: no explanation, no code fence. It must match this JSON ' +
    `schema:\n${writeJson(schema)}`
  );
}
