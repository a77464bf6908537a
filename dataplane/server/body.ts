/**
 * Reads request bodies completely, decodes them, and enforces the limits of one body and of all in this process. The
 * bytes go into one growing buffer, because a body may come in chunks of one byte, each of which would take a hundred
 * bytes as a Buffer.
 */
import type { IncomingMessage } from 'node:http';
import { every } from '../clock.ts';
import type { Every } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import { RequestBody } from '../pipeline/request-body.ts';
import { addTo } from '../memory-budget.ts';
import type { MemoryBudget, MemoryOwner } from '../memory-budget.ts';
import { BodyBuffer, tooLarge } from './body-buffer.ts';
import type { BodyThreads } from './body-buffer.ts';
import { codingOf, createDecoders } from './decode-body.ts';

const NO_BYTES = Buffer.alloc(0);
/** The least average rate of an upload after its grace period, because a stalled upload holds memory. */
const MIN_BYTES_PER_SECOND = 1024;
const GRACE_MS = 15_000;
const RATE_CHECK_MS = 1_000;

export interface BodyReaderOptions {
  /** Counts the bodies. */
  readonly budget: MemoryBudget;
  /** The most bytes of one body, as it is sent and decoded. */
  readonly maxBodyBytes: number;
  /** The timer that measures uploads. */
  readonly every?: Every;
  readonly worker?: BodyThreads | undefined;
}

export interface BodyReader {
  /**
   * Resolves with the body, which counts against the budget until it is dropped. Rejects with a GatewayError, and then
   * discards the rest, so that the client can read its response.
   */
  read(message: IncomingMessage, owner?: MemoryOwner): Promise<RequestBody>;
  /** The number of bodies of this key that are still arriving. */
  uploads(keyUid: string): number;
  /** True if more than half of the budget is in use; even small bodies then need a known key. */
  readonly crowded: boolean;
  stop(): void;
}

/**
 * Creates the process's body reader, which tracks the budget of all bodies. Its timer does not keep the process alive.
 */
export function createBodyReader(options: BodyReaderOptions): BodyReader {
  const { budget, maxBodyBytes: maxBytes, every: repeat = every, worker } = options;
  const decode = createDecoders(budget);
  const uploads = new Map<string, number>();
  const open = new Set<Upload>();
  const stop = repeat(RATE_CHECK_MS, () => {
    for (const upload of open) {
      upload.elapsedMs += RATE_CHECK_MS;
      if (isTooSlow(upload)) upload.refuse(tooSlow());
    }
  });
  const read = async (message: IncomingMessage, owner: MemoryOwner | undefined): Promise<RequestBody> => {
    const coding = codingOf(message);
    const sent = new BodyBuffer({ maxBytes, budget, owner, worker, declared: lengthOf(message) });
    await receiveBody(message, sent, open);
    if (!coding) return sent.toBody();
    const decoded = new BodyBuffer({ maxBytes, budget, owner, worker, declared: undefined });
    await decode({ coding, turn: owner?.uid ?? '', sent, decoded, left: () => message.socket.destroyed });
    return decoded.toBody();
  };
  return {
    get crowded() {
      return budget.crowded;
    },
    uploads: (keyUid) => uploads.get(keyUid) ?? 0,
    stop,
    async read(message, owner) {
      if (owner) addTo(uploads, owner.uid, 1);
      try {
        return await read(message, owner);
      } finally {
        if (owner) addTo(uploads, owner.uid, -1);
      }
    },
  };
}

interface Upload {
  /** Counted by the timer, so that the client is not blamed for the time in which this process stood still. */
  elapsedMs: number;
  /** The number of bytes received so far. */
  received: number;
  readonly refuse: (error: GatewayError) => void;
}

/** The declared length; undefined for a chunked body. */
function lengthOf({ headers: { 'content-length': length } }: IncomingMessage): number | undefined {
  return length === undefined ? undefined : Number(length);
}

/** Fills the buffer. Rejects with a GatewayError, and then the buffer is released. */
function receiveBody(message: IncomingMessage, buffer: BodyBuffer, open: Set<Upload>): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: GatewayError): void => {
      open.delete(upload);
      buffer.release();
      message.off('data', take).off('end', finish).resume();
      reject(error);
    };
    const upload: Upload = { elapsedMs: 0, received: 0, refuse };
    const take = (chunk: Buffer): void => {
      upload.received += chunk.length;
      const refusal = buffer.append(chunk);
      if (refusal) refuse(refusal);
    };
    const finish = (): void => {
      open.delete(upload);
      resolve();
    };
    open.add(upload);
    message.on('error', (cause) => refuse(incomplete(cause)));
    if (isTooLarge(message, buffer.maxBytes)) return refuse(tooLarge(buffer.maxBytes));
    message.on('data', take).on('end', finish);
  });
}

/** The error if the client has left, or its framing is invalid. */
function incomplete(cause: Error): GatewayError {
  return new GatewayError('invalid_request', 'The request body did not arrive whole.', { cause });
}

/** Whether content-length exceeds the limit; the bytes are counted as they arrive too. */
function isTooLarge(message: IncomingMessage, maxBytes: number): boolean {
  return (lengthOf(message) ?? 0) > maxBytes;
}

function isTooSlow({ received, elapsedMs }: Upload): boolean {
  return elapsedMs > GRACE_MS && received < (elapsedMs / 1000) * MIN_BYTES_PER_SECOND;
}

/** The body that was read of a request; an empty one if it has none. */
export function bodyOf({ body }: { readonly body?: unknown }): RequestBody {
  return body instanceof RequestBody ? body : new RequestBody(NO_BYTES);
}

function tooSlow(): GatewayError {
  return new GatewayError('request_timeout', 'The request body arrives too slowly. Send it again.', {
    headers: { connection: 'close' },
  });
}
