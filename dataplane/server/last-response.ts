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
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
  closeAfterWriting(socket);
  socket.end(Buffer.concat([Buffer.from(head), body]));
}

/** Closes a socket once what is written is sent. The caller ends it. */
export function closeAfterWriting(socket: Duplex): void {
  const late = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(late));
  socket.once('finish', () => socket.destroy());
  // what the client has sent too early would make the system reset the connection before the response is read
  socket.resume();
}
