/**
 * Has the large events of a stream read on the worker thread, and counts what the stream holds of events that have not
 * come whole against the memory of the call's key.
 */
import type { BodyWorker } from '../body-worker/body-worker.ts';
import { LARGE_BODY_BYTES } from '../memory-budget.ts';
import type { StreamConverter } from '../protocol/converter.ts';
import type { SealingContext } from '../sealing/channel-seal.ts';

export interface EventReading {
  readonly worker: Pick<BodyWorker, 'run'>;
  /** Keys take turns. */
  readonly key: string;
  /** Undefined: the gateway was given no sealing key, and the stream has no events for another thread. */
  readonly sealing: () => SealingContext | undefined;
  /** Sets how many bytes the stream holds. Throws GatewayError if there is no room. */
  readonly hold: (bytes: number) => void;
}

/** Resolves with the bytes, and those of the large events that follow. Rejects with GatewayError. */
export async function readLargeEvents(
  reading: EventReading,
  stream: StreamConverter,
  bytes: Uint8Array,
): Promise<Uint8Array> {
  holdPending(reading, stream);
  if (!stream.large) return bytes;
  const output = [bytes];
  for (let large = stream.large; large && stream.resume; large = stream.large) {
    output.push(stream.resume(await readEvent(reading, large)));
    holdPending(reading, stream);
  }
  return Buffer.concat(output);
}

/** Small events that have not come whole are no more than what the sockets hold. */
function holdPending({ hold }: EventReading, { pendingBytes = 0 }: StreamConverter): void {
  hold(pendingBytes < LARGE_BODY_BYTES ? 0 : pendingBytes);
}

/** Undefined: the event cannot be read. */
async function readEvent(
  { worker, key, sealing }: EventReading,
  { bytes, known }: NonNullable<StreamConverter['large']>,
): Promise<Parameters<NonNullable<StreamConverter['resume']>>[0]> {
  const context = sealing();
  if (!context) throw new Error('an event is to be sealed without a key');
  try {
    return await worker.run(key, { task: 'ReadEvent', sealing: context, known }, bytes);
  } catch (error) {
    // JSON that nests too deeply
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}
