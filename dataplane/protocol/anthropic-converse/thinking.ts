/**
 * Converts the thinking settings: Claude takes them unchanged, Nova 2 and GPT-OSS take an effort, others take nothing.
 */
import type { ModelCapabilities } from '../capabilities.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { readObject } from '../field-table.ts';
import { isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { location } from './blocks.ts';
import type { ModelFamily } from './model-family.ts';
import { OUTPUT_CONFIG } from './table.ts';

/** Thinking budgets below these limits become this effort; larger ones become high. */
const BUDGETS = [
  [4096, 'low'],
  [16_384, 'medium'],
] as const;
/** Efforts of models other than Claude; all others become high. */
const EFFORTS: ReadonlySet<string> = new Set(['low', 'medium', 'high']);

interface ThinkingRequest {
  readonly thinking: unknown;
  readonly output_config: unknown;
}

interface ThinkingContext {
  readonly family: ModelFamily;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

export interface ConvertedThinking {
  readonly effort?: string;
  /** Members of `additionalModelRequestFields`. */
  readonly fields: JsonRecord;
}

export function convertThinking(
  { thinking: given, output_config: config }: ThinkingRequest,
  { family, capabilities, dropped }: ThinkingContext,
): ConvertedThinking {
  const output = isRecord(config) ? readObject(OUTPUT_CONFIG, config, location('output_config')) : undefined;
  const takes = capabilities.reasoning && family !== 'Other';
  const effort = dropped.keepIf(takes, 'output_config.effort', textOf(output?.effort));
  const wished = isRecord(given) && (takes || given['type'] !== 'disabled') ? given : undefined;
  const thinking = dropped.keepIf(takes, 'thinking', wished);
  if (family !== 'Claude') return { fields: fieldsOf(family, levelOf(effort, thinking)) };
  return { ...(effort !== undefined && { effort }), fields: thinking ? { thinking } : {} };
}

/** Undefined: the model's own default applies. */
function levelOf(effort: string | undefined, thinking: JsonRecord | undefined): string | undefined {
  if (thinking?.['type'] === 'disabled') return undefined;
  if (effort !== undefined) return EFFORTS.has(effort) ? effort : 'high';
  if (thinking?.['type'] !== 'enabled') return undefined;
  const budget = Number(thinking['budget_tokens'] ?? 0);
  return BUDGETS.find(([below]) => budget < below)?.[1] ?? 'high';
}

function fieldsOf(family: ModelFamily, level: string | undefined): JsonRecord {
  if (level === undefined) return {};
  return family === 'Nova'
    ? { reasoningConfig: { type: 'enabled', maxReasoningEffort: level } }
    : { reasoning_effort: level };
}
