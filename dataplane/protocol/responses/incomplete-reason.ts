/**
 * Why a response ended early, by the reason that the provider gives.
 */
import type { ValueTable } from '../field-table.ts';

export type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** Undefined: the response is complete. `table`: the provider's reasons. */
export function incompleteReason({ values }: ValueTable, given: string | undefined): IncompleteReason | undefined {
  const reason = values.get(given ?? '');
  return reason === 'max_output_tokens' || reason === 'content_filter' ? reason : undefined;
}
