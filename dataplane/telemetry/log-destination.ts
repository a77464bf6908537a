/**
 * A destination of logs whose reader nothing waits for: a pipe that nobody reads holds back up to 1 MiB of lines,
 * further ones are dropped and counted, and calls, health checks and shutdown go on.
 */
import { pino } from 'pino';
import type { DestinationStream } from 'pino';

export interface LogDestination extends DestinationStream {
  /** Writes what is held back, as far as the reader takes it at once, and calls `done`. pino calls it too. */
  flush(done?: () => void): void;
  /** Writes what is held back at the end of the process, and waits up to two seconds for a reader that is slow. */
  end(): void;
  /** How many lines were dropped so far. */
  readonly dropped: number;
}

/** The size of a batch of lines: a write per line would double the cost of a line. */
const BATCH_BYTES = 4096;
const FLUSH_EVERY_MS = 50;
const HELD_BACK_BYTES = 1024 * 1024;
const END_WITHIN_MS = 2000;
/** Of a pipe that does not block: it is full. */
const FULL: ReadonlySet<string> = new Set(['EAGAIN', 'EBUSY']);

/** `file`: a descriptor that does not block. */
export function openLogDestination(file: number): LogDestination {
  let dropped = 0;
  let isBroken = false;
  let waitsUntilMs = 0;
  const stream = pino.destination({
    dest: file,
    sync: true,
    minLength: BATCH_BYTES,
    periodicFlush: FLUSH_EVERY_MS,
    maxLength: HELD_BACK_BYTES,
    retryEAGAIN: () => performance.now() < waitsUntilMs,
  });
  // what a full pipe does not take stays in the buffer; a closed one takes nothing ever again
  stream.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
    isBroken ||= !FULL.has(code);
  });
  stream.on('drop', () => {
    dropped += 1;
  });
  const flush = (): void => {
    if (!isBroken) writeHeldBack(stream);
  };
  return {
    write(line) {
      if (isBroken) dropped += 1;
      else stream.write(line);
    },
    flush(done) {
      flush();
      done?.();
    },
    end() {
      waitsUntilMs = performance.now() + END_WITHIN_MS;
      flush();
    },
    get dropped() {
      return dropped;
    },
  };
}

/** What the descriptor does not take stays in the buffer. */
function writeHeldBack(stream: { flushSync(): void }): void {
  try {
    stream.flushSync();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
  }
}
