/** Writes how much the model reasons, and what is seen of it. */
import type { Settings } from '../../conversation/request.ts';
import type { JsonRecord } from '../../fields.ts';
import { lowestEffort, summarizesReasoning } from '../../openai/model-features.ts';
import { writeEffort } from '../openai-effort.ts';
import type { EffortContext } from '../openai-effort.ts';

/** Undefined: the model decides, and nothing is seen. */
export function writeReasoning(settings: Settings, context: EffortContext): JsonRecord | undefined {
  const isOff = settings.reasoning?.value.mode === 'Disabled' && lowestEffort(context.model) === 'none';
  const effort = writeEffort(settings, context) ?? (isOff ? 'none' : undefined);
  const summary = effort !== 'none' && showsReasoning(settings, context) ? 'auto' : undefined;
  return effort === undefined && summary === undefined ? undefined : { effort, summary };
}

function showsReasoning({ reasoning }: Settings, { model, capabilities }: EffortContext): boolean {
  const isWanted = reasoning && reasoning.value.mode !== 'Disabled' && reasoning.value.display !== 'Omitted';
  return isWanted === true && capabilities.reasoning && summarizesReasoning(model);
}
