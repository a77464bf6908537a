/** What is not HTTP never becomes a request: it is answered on the socket, unless an answer is on its way there. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { nodeHttp } from '../node-http.ts';
import { dialectOf, requestIdHeaders } from './reply-error.ts';
import { writeErrorBody } from '../protocol/write-error.ts';

const WORDS: Readonly<Record<string, readonly [statusLine: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request was not complete in time.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'The chunk extensions of the request body are too large.'],
};
const NOT_HTTP = ['400 Bad Request', 'This is not well-formed HTTP.'] as const;

/** Node's `clientError`. The connection ends with it: nobody can say where the next request begins. */
export function refuseMalformed(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  const open = openResponse(socket);
  // within or before another call's answer, these bytes would be taken for that
  if (!socket.writable || (open && (open.headersSent || open.req.complete))) {
    socket.destroy();
    return;
  }
  const [statusLine, message] = WORDS[error.code ?? ''] ?? NOT_HTTP;
  const dialect = dialectOf(open?.req.url ?? '');
  const body = writeErrorBody(dialect, { message, type: 'invalid_request_error', param: null, code: 'bad_request', requestId, errorCode: undefined });
  const ids = Object.entries(requestIdHeaders(requestId)).map(([name, id]) => `${name}: ${id}\r\n`).join('');
  socket.end(Buffer.concat([
    Buffer.from(`HTTP/1.1 ${statusLine}\r\n${ids}connection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`), body,
  ]));
}

/** The response whose turn it is on this connection, as Node's own handler looks it up. */
function openResponse(socket: Socket): ServerResponse | undefined {
  const open: unknown = '_httpMessage' in socket ? socket._httpMessage : undefined;
  return open instanceof nodeHttp.ServerResponse ? open : undefined;
}
