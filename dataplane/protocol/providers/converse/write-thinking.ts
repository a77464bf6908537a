/** Writes the reasoning settings: Claude's own, and an effort of Nova 2 and GPT-OSS; other models take nothing. */
import { effortOfBudget } from '../../conversation/efforts.ts';
import type { ReasoningSettings, Settings } from '../../conversation/request.ts';
import { keptValue } from '../../conversation/take.ts';
import type { JsonRecord } from '../../fields.ts';
import { claudeThinking } from '../claude-thinking.ts';
import type { ThinkingContext } from '../claude-thinking.ts';
import type { ModelFamily } from './model-family.ts';

/** Efforts of models other than Claude; all others become high. */
const EFFORTS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
]);

export interface WrittenThinking {
  readonly effort?: string | undefined;
  /** A Claude will think. */
  readonly thinks: boolean;
  /** Members of `additionalModelRequestFields`. */
  readonly fields: JsonRecord;
}

export function writeThinking(settings: Settings, family: ModelFamily, context: ThinkingContext): WrittenThinking {
  if (family === 'Claude') {
    const { effort, thinking, thinks } = claudeThinking(settings, context);
    return { effort, thinks, fields: thinking ? { thinking } : {} };
  }
  const takes = context.capabilities.reasoning && family !== 'Other';
  const effort = keptValue(settings.effort, takes, context.dropped, 'none');
  const isOff = settings.reasoning?.value.mode === 'Disabled';
  const reasoning = isOff ? undefined : keptValue(settings.reasoning, takes, context.dropped);
  return { thinks: false, fields: isOff ? {} : fieldsOf(family, levelOf(effort, reasoning)) };
}

/** Undefined: the model's own default applies. */
function levelOf(effort: string | undefined, reasoning: ReasoningSettings | undefined): string | undefined {
  if (effort !== undefined) return EFFORTS.get(effort) ?? 'high';
  const budget = reasoning?.budgetTokens;
  return budget === undefined ? undefined : effortOfBudget(budget);
}

function fieldsOf(family: ModelFamily, level: string | undefined): JsonRecord {
  if (level === undefined) return {};
  return family === 'Nova'
    ? { reasoningConfig: { type: 'enabled', maxReasoningEffort: level } }
    : { reasoning_effort: level };
}
