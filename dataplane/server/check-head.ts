/** Refuses requests whose headers two HTTP implementations could read differently (request smuggling). */
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';
import { checkEncoding } from './decode-body.ts';

/** Headers that may occur once. Node keeps the first value, whereas another proxy may keep the last. */
const ONCE: ReadonlySet<string> = new Set(['authorization', 'content-length', 'host', 'transfer-encoding']);
/** Closes the connection, because the end of the body, and so the start of the next request, is uncertain. */
const CLOSE = { headers: { connection: 'close' } };

/** Throws invalid_request and unsupported_encoding. */
export function checkHead(request: Pick<IncomingMessage, 'headers' | 'httpVersion' | 'rawHeaders'>): void {
  checkRepeated(request.rawHeaders);
  checkFraming(request);
  const { headers, httpVersion } = request;
  checkEncoding(request);
  if (headers.host === undefined && httpVersion === '1.1')
    throw new GatewayError('invalid_request', 'The Host header is missing; HTTP/1.1 requires it.');
}

/** Refuses repeated headers. `rawHeaders` alternates names and values. */
function checkRepeated(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!ONCE.has(name)) continue;
    if (seen.has(name))
      throw new GatewayError('invalid_request', `The ${name} header is sent more than once. Send it once.`, CLOSE);
    seen.add(name);
  }
}

function checkFraming({ headers, httpVersion }: Pick<IncomingMessage, 'headers' | 'httpVersion'>): void {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return;
  if (httpVersion !== '1.1')
    throw new GatewayError('invalid_request', 'HTTP/1.0 has no transfer-encoding. Send a content-length.', CLOSE);
  if (coding.trim().toLowerCase() !== 'chunked' || headers['content-length'] !== undefined)
    throw new GatewayError(
      'invalid_request',
      'The only transfer-encoding that is taken is "chunked", without a content-length.',
      CLOSE,
    );
}
