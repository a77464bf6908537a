/**
 * Requests leave in one write. undici writes a request's head and its body one after the other; node hands two pieces to the
 * system as a list, which costs several microseconds more than one text does. So a small body is put behind its head first: both
 * as Latin-1, one character for each byte, which is how node writes a text without a conversion.
 */
import { Buffer } from 'node:buffer';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { buildConnector } from 'undici';
import { LoanedReads } from './loaned-reads.ts';

/** Of head and body together; a longer text is not written from the stack, and copying it is not worth a write. */
const TOGETHER_BYTES = 15 * 1024;

const buildUndici: typeof buildConnector = createRequire(import.meta.url)('undici/lib/core/connect.js');

/** undici's own connector, whose connections write that way; those without TLS read by loan, too. */
export function buildOneWriteConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connectTls = buildUndici(options);
  return (to, done) => {
    const reads = to.protocol === 'https:' ? undefined : new LoanedReads();
    const connect = reads ? buildUndici({ ...options, onread: reads.onread }) : connectTls;
    connect(to, (...[error, socket]) => {
      if (!socket) return done(error ?? new Error('no connection'), null);
      reads?.attach(socket);
      unrefForGood(socket);
      done(null, writeTogether(socket));
    });
  };
}

/** It never keeps the process: who waits for an answer does. undici would take it out of the count and back in with each request. */
function unrefForGood(socket: Socket): void {
  socket.unref();
  socket.ref = socket.unref = () => socket;
}

/** Makes of a text and bytes that are written between `cork` and `uncork` one piece; everything else stays as it is. */
export function writeTogether<S extends Writable>(socket: S): S {
  const cork = socket.cork.bind(socket);
  const uncork = socket.uncork.bind(socket);
  // its overloads are of no use here: what comes is handed on as it is
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const write = socket.write.bind(socket) as (data: Uint8Array | string, ...rest: readonly unknown[]) => boolean;
  /** Told to wait for more, and nothing has come. */
  let waits = false;
  let head = '';

  /** The usual way: node collects what is written. */
  const collect = (): void => {
    waits = false;
    cork();
    if (head !== '') write(head, 'latin1');
    head = '';
  };
  socket.cork = () => {
    if (waits) collect();
    waits = true;
  };
  socket.uncork = () => {
    if (!waits) return uncork();
    collect();
    uncork();
  };
  socket.write = (data: Uint8Array | string, ...rest: readonly unknown[]): boolean => {
    if (!waits) return write(data, ...rest);
    if (typeof data === 'string' && head === '' && rest[0] === 'latin1' && rest.length === 1) {
      head = data;
      return true;
    }
    if (typeof data !== 'string' && head !== '' && rest.length === 0 && head.length + data.length <= TOGETHER_BYTES) {
      const text = head + Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
      head = '';
      waits = false;
      return write(text, 'latin1');
    }
    collect();
    return write(data, ...rest);
  };
  return socket;
}
