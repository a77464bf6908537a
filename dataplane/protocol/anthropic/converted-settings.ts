/** Shared by the converters of Anthropic's settings to other protocols. */
import { readObject } from '../field-table.ts';
import type { FieldLocation, ObjectTable } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { unsupported } from '../unsupported.ts';

/**
 * Allows only edits that clear thinking, because a converted conversation carries no thinking that they would keep.
 * Throws RequestFault for others.
 */
export function refuseContextEdits(management: unknown, upstream: string): void {
  for (const [index, edit] of itemsOf(isRecord(management) ? management['edits'] : undefined).entries())
    if (!isRecord(edit) || !stringOf(edit['type']).startsWith('clear_thinking_'))
      throw unsupported(`context_management.edits[${index}]`, upstream);
}

/** The schema of `output_config.format`. Throws RequestFault for a format of another type. */
export function readAnswerSchema(
  format: unknown,
  table: ObjectTable<'type' | 'schema'>,
  upstream: FieldLocation['upstream'],
): JsonRecord | undefined {
  if (!isGiven(format)) return undefined;
  const param = 'output_config.format';
  if (!isRecord(format) || format['type'] !== 'json_schema' || !isRecord(format['schema']))
    throw unsupported(param, upstream);
  const { schema } = readObject(table, format, { param, upstream });
  return isRecord(schema) ? schema : undefined;
}
