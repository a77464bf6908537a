/** Reads reasoning items: what the gateway has sealed in them, or else what can be read. */
import type { ReasoningPart } from '../../conversation/request.ts';
import { openReasoning } from '../../conversation/sealed-reasoning.ts';
import { readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isRecord, itemsOf, stringOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import type { ReadContext } from '../client.ts';
import { REASONING } from './table.ts';

/** Undefined: there is nothing that another provider could use. */
export function readReasoning(
  item: JsonRecord,
  path: string,
  { seal, unread }: Pick<ReadContext, 'seal'> & { readonly unread: UnreadField[] },
): ReasoningPart | undefined {
  const { summary, content, encrypted_content: sealed } = readFields(REASONING, item, { param: path, unread });
  const kept = openReasoning(seal, sealed) ?? { text: joined(content) || joined(summary), proof: undefined };
  return kept.text === '' && !kept.proof ? undefined : { type: 'Reasoning', ...kept, path };
}

function joined(parts: unknown): string {
  return itemsOf(parts)
    .filter(isRecord)
    .map(({ text }) => stringOf(text))
    .join('\n\n');
}
