/**
 * Reads one event of a Responses stream and seals its values. What follows from it needs little of a large event, so
 * that another thread can read it.
 */
import type { LargeEventRead, ReadEvent } from '../converter.ts';
import { isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { readStreamError } from '../provider-errors.ts';
import type { ChannelSeal } from '../sealed-values.ts';
import { SseFramer } from '../sse.ts';
import type { SseEvent } from '../sse.ts';
import { isDone } from './done.ts';
import { isErrorEvent } from './failures.ts';
import { ResponseSeals } from './response-seals.ts';

export function readEvent({ event, data: text, raw }: SseEvent, seals: ResponseSeals): ReadEvent {
  // some compatible providers also send [DONE], after the terminal event
  if (text === undefined || isDone(text)) return { bytes: raw, type: '', data: undefined };
  const data = parseEventData(text);
  const type = stringOf(data?.['type']) || (event ?? '');
  if (isErrorEvent({ event }, data, type)) return { bytes: raw, type, data, error: readStreamError(data ?? text) };
  return { bytes: data ? seals.apply(raw, data) : raw, type, data };
}

/** `bytes`: one whole event. */
export function readLargeEvent(
  bytes: Uint8Array,
  seal: ChannelSeal,
  known: ReadonlyMap<string, string>,
): LargeEventRead {
  const framer = new SseFramer(bytes.length);
  framer.append(bytes);
  const event = framer.next() ?? framer.end() ?? { raw: bytes, event: undefined, data: undefined };
  const seals = new ResponseSeals(seal, known);
  const read = readEvent(event, seals);
  return { ...read, data: read.data && digestOf(read.data), sealed: seals.known };
}

function digestOf({ type, sequence_number: number, delta, response }: JsonRecord): JsonRecord {
  return {
    type,
    sequence_number: number,
    ...(typeof delta === 'string' && { delta }),
    ...(isRecord(response) && { response: { ...response, output: itemsOf(response['output']).flatMap(digestOfItem) } }),
  };
}

/** Neither encrypted values nor pictures are metered. */
function digestOfItem(item: unknown): readonly JsonRecord[] {
  if (!isRecord(item) || item['type'] === 'compaction') return [];
  const { encrypted_content: _encrypted, result: _result, ...rest } = item;
  return item['type'] === 'reasoning' && itemsOf(rest['summary']).length + itemsOf(rest['content']).length === 0
    ? []
    : [rest];
}
