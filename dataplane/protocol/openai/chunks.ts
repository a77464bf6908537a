/**
 * The end of a stream of chat completion chunks.
 */
import { writeEvent } from '../sse.ts';

/** The terminal event. */
export const DONE: Uint8Array = writeEvent('[DONE]');

export function isDone(data: string): boolean {
  return data.trim() === '[DONE]';
}
