/** Responds to bytes that are not well-formed HTTP, on the socket, in Node's `clientError` handler. */
import type { Socket } from 'node:net';
import { writeErrorBody } from '../protocol/write-error.ts';
import { responseBytes } from './last-response.ts';
import { currentResponse } from './open-responses.ts';
import { errorDialectOf, requestIdHeaders } from './reply-error.ts';

const REFUSALS: Readonly<Record<string, readonly [statusLine: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request was not complete in time.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'The chunk extensions of the request body are too large.'],
};
const NOT_HTTP = ['400 Bad Request', 'This is not well-formed HTTP.'] as const;

/** Responds and closes the connection, because the start of the next request is unknown. */
export function refuseMalformed(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  const open = currentResponse(socket);
  // the client would take these bytes for a part of another response
  if (!socket.writable || (open && (open.headersSent || open.req.complete))) {
    socket.destroy();
    return;
  }
  const [statusLine, message] = REFUSALS[error.code ?? ''] ?? NOT_HTTP;
  const dialect = open ? errorDialectOf({ url: open.req.url ?? '', headers: open.req.headers }) : 'OpenAI';
  const body = writeErrorBody(dialect, {
    message,
    type: 'invalid_request_error',
    param: null,
    code: 'bad_request',
    requestId,
    errorCode: undefined,
    httpStatus: Number(statusLine.slice(0, 3)),
  });
  const headers = {
    ...requestIdHeaders(requestId),
    connection: 'close',
    'content-type': 'application/json',
    'content-length': String(body.length),
  };
  socket.end(responseBytes(statusLine, headers, body));
}
