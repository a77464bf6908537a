/**
 * Decodes request bodies that the client compressed (`content-encoding`), once they have arrived whole, so that a slow
 * upload occupies no decoder. A few decoders run at a time, one of each key, because each has a window of its own.
 */
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { codingsOf, DECODED_CODINGS } from '../content-coding.ts';
import type { Coding } from '../content-coding.ts';
import { GatewayError } from '../errors.ts';
import type { MemoryBudget } from '../memory-budget.ts';
import { createTurns } from '../turns.ts';
import type { BodyBuffer } from './body-buffer.ts';

/** The most decoders at a time. */
const MAX_DECODERS = 4;
/** Beyond FREE_BYTES, a body may have at most MAX_RATIO times its compressed size. Text compresses 3- to 20-fold. */
const FREE_BYTES = 1024 * 1024;
const MAX_RATIO = 100;

type Head = Pick<IncomingMessage, 'headers'>;

/** Throws unsupported_encoding. */
export function checkEncoding(message: Head): void {
  codingOf(message);
}

/**
 * Returns the coding of a compressed body; undefined if it is not compressed. Two codings on top of each other are
 * refused, because the bytes between them would need a limit of their own. Throws unsupported_encoding.
 */
export function codingOf({ headers }: Head): Coding | undefined {
  const { 'content-encoding': encoding = 'identity' } = headers;
  const [coding, ...further] = codingsOf(encoding) ?? [undefined, undefined];
  if (further.length > 0) throw unknownEncoding(encoding);
  return coding;
}

export interface Compressed {
  readonly coding: Coding;
  /** Of those with the same name, one is decoded at a time. */
  readonly turn: string;
  /** The body as it was sent. It is released once it is decoded, or cannot be. */
  readonly sent: BodyBuffer;
  /** An empty buffer for the decoded bytes, of the same owner. */
  readonly decoded: BodyBuffer;
  /** True if nobody waits for the body any more. */
  readonly left: () => boolean;
}

/** Fills `decoded`. Rejects with a GatewayError, and then both buffers are released. */
export type DecodeBody = (compressed: Compressed) => Promise<void>;

/** Creates the process's decoders. */
export function createDecoders(budget: MemoryBudget): DecodeBody {
  const turns = createTurns(MAX_DECODERS);
  return async (compressed) => {
    const { turn, sent, decoded } = compressed;
    const end = await turns.take(turn);
    try {
      await decode(budget, compressed);
    } catch (error) {
      decoded.release();
      throw error;
    } finally {
      sent.release();
      end();
    }
  };
}

async function decode(budget: MemoryBudget, { coding, sent, decoded, left }: Compressed): Promise<void> {
  if (left()) throw new GatewayError('invalid_request', 'The client has left.');
  // the owner's share has room for one whole body, which is the decoded one
  sent.disown();
  const windowBytes = Math.min(coding.windowBytes, decoded.maxBytes);
  const refusal = budget.take(windowBytes, windowBytes, undefined);
  if (refusal) throw refusal;
  try {
    await run(coding.create(), sent.bytes, decoded);
  } finally {
    budget.giveBack(windowBytes, undefined);
  }
}

/** Resolves or rejects when the decoder is closed, and its memory is free. */
function run(decoder: Transform, sent: Buffer, decoded: BodyBuffer): Promise<void> {
  const maxBytes = Math.max(FREE_BYTES, sent.length * MAX_RATIO);
  let fault: GatewayError | undefined;
  const refuse = (error: GatewayError): void => {
    fault ??= error;
    decoder.destroy();
  };
  return new Promise((resolve, reject) => {
    decoder
      .on('data', (piece: Buffer) => {
        const refusal = decoded.length + piece.length > maxBytes ? inflated() : decoded.append(piece);
        if (refusal) refuse(refusal);
      })
      .on('error', (cause) => refuse(broken(cause)))
      .on('close', () => (fault ? reject(fault) : resolve()));
    decoder.end(sent);
  });
}

function broken(cause: Error): GatewayError {
  return new GatewayError('invalid_request', 'The request body is not what its content-encoding says.', { cause });
}

function inflated(): GatewayError {
  const message =
    `The request body inflates to more than ${MAX_RATIO} times its compressed size. ` +
    'Send it as it is, without a content-encoding.';
  return new GatewayError('request_too_large', message);
}

function unknownEncoding(encoding: string): GatewayError {
  const message =
    `The content-encoding "${encoding.slice(0, 100)}" is not decoded here. ` +
    'Send the body in gzip, deflate, br or zstd, or as it is.';
  return new GatewayError('unsupported_encoding', message, { headers: { 'accept-encoding': DECODED_CODINGS } });
}
