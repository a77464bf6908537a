/** Reads how a response has ended. */
import type { ProviderError } from '../../converter.ts';
import type { FinishEvent, FinishReason } from '../../conversation/events.ts';
import { finishWithCalls } from '../../conversation/finish.ts';
import { isRecord, stringOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { isErrorObject } from '../../provider-errors.ts';
import { readStreamError } from '../../provider-errors.ts';
import type { ItemReader } from './read-items.ts';
import { INCOMPLETE } from './table.ts';

/** Whether a response reports a failure, whatever it holds besides. */
export function isFailed(response: JsonRecord): boolean {
  return response['status'] === 'failed' || response['status'] === 'cancelled' || isErrorObject(response);
}

export function readFailure(response: JsonRecord): ProviderError {
  const { error, status } = response;
  if (isErrorObject(response)) return readStreamError(response);
  return readStreamError({ error: isRecord(error) ? error : { message: `The response is ${stringOf(status)}.` } });
}

/** What was refused and called counts more than the status. */
export function finishOf(
  { status, incomplete_details: details }: JsonRecord,
  { refusal, calledTools }: Pick<ItemReader, 'refusal' | 'calledTools'>,
): FinishEvent {
  if (refusal !== '') return { type: 'finish', reason: 'Refusal', detail: refusal };
  const reason = status === 'incomplete' ? incompleteReason(details) : undefined;
  return { type: 'finish', reason: finishWithCalls(reason ?? 'Stop', calledTools), detail: undefined };
}

function incompleteReason(details: unknown): FinishReason {
  const reason = INCOMPLETE.values.get(stringOf(isRecord(details) ? details['reason'] : undefined));
  return reason === 'Refusal' ? reason : 'Length';
}
