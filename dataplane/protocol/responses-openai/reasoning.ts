/**
 * Converts reasoning items: to readable reasoning for models that want it back, and to the blocks that Anthropic
 * signed. Encrypted reasoning of any other make is left out, because only the account that made it can read it.
 */
import { readObject } from '../field-table.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { wantsReasoningBack } from '../openai/model-features.ts';
import { openThinking } from '../responses/sealed-thinking.ts';
import type { SealedThinking } from '../responses/sealed-thinking.ts';
import { REASONING } from './table.ts';
import { location } from './target.ts';
import type { Target } from './target.ts';

/** Undefined: the model gets nothing of it. */
export function convertReasoning(item: JsonRecord, param: string, target: Target): SealedThinking | undefined {
  const { summary, content, encrypted_content: sealed } = readObject(REASONING, item, location(target, param));
  const opened = openThinking(target.plan.seal, sealed);
  if (target.upstream === 'Anthropic') return opened?.type === 'reasoning' ? undefined : opened;
  if (!wantsReasoningBack(target.plan.upstreamModel)) return undefined;
  const text = readable(opened) ?? textOf(joined(content)) ?? textOf(joined(summary));
  return text === undefined ? undefined : { type: 'reasoning', text };
}

function readable(thinking: SealedThinking | undefined): string | undefined {
  return thinking?.type === 'reasoning' ? thinking.text : undefined;
}

function joined(parts: unknown): string {
  return itemsOf(parts)
    .filter(isRecord)
    .map(({ text }) => stringOf(text))
    .join('\n\n');
}
