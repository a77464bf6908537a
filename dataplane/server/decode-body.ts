/**
 * Reads a request's body and decodes it if the client compressed it (`content-encoding`). The decoder runs at its
 * reader's pace, so that a body that inflates beyond a limit is stopped at the first byte too many.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { DECODED_CODINGS, decodersOf } from '../content-coding.ts';
import { GatewayError } from '../errors.ts';

export interface DecodedBody {
  /** Ends with the last decoded byte. */
  readonly bytes: Readable;
  /** Stops reading and decoding; the rest of the message is discarded. */
  stop(): void;
}

type Head = Pick<IncomingMessage, 'headers'>;

/** True if the body is declared as compressed. */
export function isEncoded({ headers }: Head): boolean {
  return (headers['content-encoding'] ?? 'identity') !== 'identity';
}

/** Throws unsupported_encoding. */
export function checkEncoding(message: Head): void {
  decoderOf(message);
}

/** Throws unsupported_encoding. @param onFault called if the body ends early, or does not match its content-encoding */
export function decodeBody(message: IncomingMessage, onFault: (error: GatewayError) => void): DecodedBody {
  const decoder = decoderOf(message)?.();
  message.on('error', (cause) => onFault(incomplete(cause)));
  decoder?.on('error', (cause) => onFault(broken(cause)));
  return {
    bytes: decoder ? message.pipe(decoder) : message,
    stop() {
      message.unpipe().resume();
      decoder?.destroy();
    },
  };
}

/**
 * Returns undefined if the body is not compressed. Two codings on top of each other are refused, because the bytes
 * between them would need a limit of their own.
 */
function decoderOf({ headers }: Head): (() => Transform) | undefined {
  const { 'content-encoding': encoding = 'identity' } = headers;
  const [decoder, ...further] = decodersOf(encoding) ?? [undefined, undefined];
  if (further.length > 0) throw unknownEncoding(encoding);
  return decoder;
}

/** The error if the client has left, or its framing is invalid. */
function incomplete(cause: Error): GatewayError {
  return new GatewayError('invalid_request', 'The request body did not arrive whole.', { cause });
}

function broken(cause: Error): GatewayError {
  return new GatewayError('invalid_request', 'The request body is not what its content-encoding says.', { cause });
}

function unknownEncoding(encoding: string): GatewayError {
  const message =
    `The content-encoding "${encoding.slice(0, 100)}" is not decoded here. ` +
    'Send the body in gzip, deflate, br or zstd, or as it is.';
  return new GatewayError('unsupported_encoding', message, { headers: { 'accept-encoding': DECODED_CODINGS } });
}
