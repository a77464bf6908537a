/**
 * The terminal event of a chat completion stream.
 */
import { writeEvent } from '../sse.ts';

export const DONE: Uint8Array = writeEvent('[DONE]');

export function isDone(data: string): boolean {
  return data.trim() === '[DONE]';
}
