/**
 * The pieces that a stream of chat completion chunks is made of.
 */
import { writeJson } from '../json-lossless.ts';
import { writeEvent } from '../sse.ts';

/** The terminal event. */
export const DONE: Uint8Array = writeEvent('[DONE]');

export function isDone(data: string): boolean {
  return data.trim() === '[DONE]';
}

/** What all chunks of one answer have in common. */
export interface ChunkHead {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

export function writeChunk(head: ChunkHead, rest: Readonly<Record<string, unknown>>): Uint8Array {
  const { id, createdSeconds, model } = head;
  return writeEvent(writeJson({ id, object: 'chat.completion.chunk', created: createdSeconds, model, ...rest }));
}
