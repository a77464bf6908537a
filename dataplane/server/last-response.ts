/** A response that is written on a socket that Node has given away for an upgrade, as the last thing on it. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorReply } from './reply-error.ts';

/** A client that does not take a response within this time is cut off. */
const LINGER_MS = 2_000;

/**
 * Sends a response and closes the socket, also if the client keeps its end open: nobody else reads the socket, so that
 * it would never notice the client's end.
 */
export function sendLastResponse(socket: Duplex, { status, headers, body }: ErrorReply): void {
  const all = { ...headers, connection: 'close', 'content-length': String(body.length) };
  closeAfterWriting(socket);
  socket.end(responseBytes(`${status} ${STATUS_CODES[status] ?? ''}`, all, body));
}

/** A response as it is written on a connection. `statusLine`: the status and its phrase. */
export function responseBytes(
  statusLine: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Uint8Array {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${statusLine}\r\n${lines.join('')}\r\n`), body]);
}

/** Closes a socket once what is written is sent. The caller ends it. */
export function closeAfterWriting(socket: Duplex): void {
  const late = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(late));
  socket.once('finish', () => socket.destroy());
  // what the client has sent too early would make the system reset the connection before the response is read
  socket.resume();
}
