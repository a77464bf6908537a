/**
 * Converts `reasoning` and `text` of the Responses dialect.
 */
import { readKind, readObject } from '../field-table.ts';
import { isGiven, isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { askForJson } from '../json-schemas.ts';
import { takesVerbosity } from '../openai/model-features.ts';
import { malformed } from '../unsupported.ts';
import { EFFORTS, FORMAT, FORMATS, REASONING_SETTINGS, TEXT_SETTINGS } from './table.ts';
import { location } from './target.ts';
import type { Target } from './target.ts';

/** The name of a schema that has none. */
const ANSWER = 'answer';

/** Anthropic's part of the conversion takes every effort. */
export function convertEffort(reasoning: unknown, target: Target): string | undefined {
  if (!isRecord(reasoning)) return undefined;
  const { effort: given } = readObject(REASONING_SETTINGS, reasoning, location(target, 'reasoning'));
  const effort = textOf(given);
  const { upstream, plan, capabilities, dropped } = target;
  if (upstream === 'Anthropic' || takesVerbosity(plan.upstreamModel)) return effort;
  const known = EFFORTS.values.get(effort ?? '');
  if (effort !== undefined && known === undefined && capabilities.reasoning) dropped.add('reasoning.effort');
  return dropped.keepIf(capabilities.reasoning, 'reasoning.effort', known);
}

export interface TextSettings {
  readonly format: JsonRecord | undefined;
  readonly verbosity: string | undefined;
  /** Paragraphs for the system message, where the model cannot be held to a schema. */
  readonly instructions: readonly string[];
}

/** Throws RequestFault for a format that is not JSON. */
export function convertText(text: unknown, target: Target): TextSettings {
  if (!isGiven(text)) return { format: undefined, verbosity: undefined, instructions: [] };
  if (!isRecord(text)) throw malformed('text', 'an object');
  const { format, verbosity } = readObject(TEXT_SETTINGS, text, location(target, 'text'));
  const { upstream, plan, dropped } = target;
  const taken = upstream === 'OpenAI' && takesVerbosity(plan.upstreamModel);
  return {
    verbosity: dropped.keepIf(taken, 'text.verbosity', textOf(verbosity), 'medium'),
    ...convertFormat(format, target),
  };
}

function convertFormat(format: unknown, target: Target): Omit<TextSettings, 'verbosity'> {
  const none = { format: undefined, instructions: [] };
  if (!isGiven(format)) return none;
  if (!isRecord(format)) throw malformed('text.format', 'an object');
  const kind = readKind(FORMATS, format['type'], location(target, 'text.format.type'));
  if (kind === 'text') return none;
  if (kind === 'json_object') return { format: { type: 'json_object' }, instructions: [] };
  const { name, schema, strict, description } = readObject(FORMAT, format, location(target, 'text.format'));
  if (!isRecord(schema)) throw malformed('text.format.schema', 'a JSON schema');
  if (target.upstream === 'OpenAI' && !target.capabilities.strictSchemas)
    return { format: { type: 'json_object' }, instructions: [askForJson(schema)] };
  const definition = {
    name: stringOf(name) || ANSWER,
    schema,
    strict: typeof strict === 'boolean' ? strict : undefined,
    description: textOf(description),
  };
  return { format: { type: 'json_schema', json_schema: definition }, instructions: [] };
}
