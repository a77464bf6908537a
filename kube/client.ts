/**
 * Requests to the API server: JSON in, JSON out, errors as KubeError or KubeUnreachable, and a timeout for every
 * request. Watches are streams of events that end only when the server, a fault or the caller ends them.
 */
import type { Dispatcher } from 'undici';
import { parseJson } from '#crds/json.ts';
import type { KubeMeter } from './meter.ts';
import type { KubeAccess } from './access.ts';
import { KubeError, KubeUnreachable } from './errors.ts';

type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface KubeRequest {
  readonly method: Verb;
  /** The path with its query. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default application/json. */
  readonly contentType?: string;
  /** Default REQUEST_TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** A longer response is not read, and the request fails with ResponseTooLarge. Default: any length. */
  readonly maxBytes?: number;
  /** Called with the length of the response in bytes. */
  readonly onRead?: (bytes: number) => void;
}

/** A response is longer than its reader takes. */
export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
}

export const MERGE_PATCH = 'application/merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const APPLY_PATCH = 'application/apply-patch+yaml';

/**
 * JSON from the API server. The server enforces its own schemas, so callers name the type and nothing is validated
 * again.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- the caller names the type
export type KubeJson = any;

/** One line of a watch. */
export interface WatchEvent {
  readonly type: string;
  readonly object: KubeJson;
}

export interface KubeClient {
  /** Resolves with the response's body. Rejects with KubeError or KubeUnreachable. */
  request(request: KubeRequest): Promise<KubeJson>;
  /** Yields events until the server ends them. Rejects with the same errors, and when the signal aborts. */
  watch(path: string, signal: AbortSignal): AsyncIterable<WatchEvent>;
  close(): Promise<void>;
}

export interface KubeClientOptions {
  readonly access: KubeAccess;
  readonly userAgent: string;
  readonly meter: KubeMeter;
}

/** A server that hangs keeps its connections open, so every wait needs a timeout. */
const REQUEST_TIMEOUT_MS = 10_000;
const WATCH_OPENS_WITHIN_MS = 10_000;
const MS = 1000;

export function createKubeClient({ access, userAgent, meter }: KubeClientOptions): KubeClient {
  async function send(
    request: KubeRequest,
    options: Partial<Dispatcher.RequestOptions>,
  ): Promise<Dispatcher.ResponseData> {
    let status = '';
    try {
      const { dispatcher, headers } = await access.open();
      const answer = await dispatcher.request({
        origin: access.server,
        path: request.path,
        method: request.method,
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...headers,
          ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...options,
      });
      status = String(answer.statusCode);
      if (answer.statusCode === 401) access.refused();
      return answer;
    } catch (error) {
      throw unreachable(request, error);
    } finally {
      meter.add(
        'modelgateway_operator_api_requests_total',
        {
          verb: options.bodyTimeout === 0 ? 'WATCH' : request.method,
          status,
        },
        1,
      );
    }
  }
  return {
    async request(request) {
      const timeoutMs = request.timeoutMs ?? REQUEST_TIMEOUT_MS;
      const answer = await send(request, {
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: AbortSignal.timeout(timeoutMs),
      });
      return readBody(request, answer);
    },
    async *watch(path, signal) {
      const request = { method: 'GET', path } as const;
      const answer = await send(request, { headersTimeout: WATCH_OPENS_WITHIN_MS, bodyTimeout: 0, signal });
      if (answer.statusCode !== 200) await readBody(request, answer);
      try {
        for await (const line of jsonLines<WatchEvent>(answer.body)) yield line;
      } catch (error) {
        throw unreachable(request, error);
      }
    },
    close: () => access.close(),
  };
}

async function readBody(request: KubeRequest, answer: Dispatcher.ResponseData): Promise<KubeJson> {
  let text: string;
  try {
    text = await readText(request, answer.body);
  } catch (error) {
    throw error instanceof ResponseTooLarge ? error : unreachable(request, error);
  }
  const body = parseJson(text); // undefined for a proxy's page instead of the API server's response
  if (answer.statusCode >= 400) throw refusalOf(request, answer, body);
  return body;
}

async function readText(
  { path, maxBytes = Infinity, onRead }: KubeRequest,
  body: AsyncIterable<Uint8Array>,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // leaving the loop ends the connection
    if (bytes > maxBytes) throw new ResponseTooLarge(`${path.split('?')[0]}: more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  onRead?.(bytes);
  return Buffer.concat(chunks).toString('utf8');
}

/** The fields of metav1.Status that are read. */
interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly field?: string; readonly message?: string; readonly reason?: string }[];
  };
}

function refusalOf(
  { method, path }: KubeRequest,
  { statusCode, headers }: Dispatcher.ResponseData,
  body: unknown,
): KubeError {
  const metaStatus: Status = typeof body === 'object' && body !== null ? body : {};
  const { message = 'without a message', reason, details } = metaStatus;
  const seconds = Number(headers['retry-after'] ?? details?.retryAfterSeconds);
  return new KubeError(`${method} ${path.split('?')[0]}: ${statusCode} ${message}`, {
    status: statusCode,
    ...(reason === undefined ? {} : { reason }),
    retryAfterMs: seconds > 0 ? seconds * MS : undefined,
    words: message,
    causes: (details?.causes ?? []).map(({ field = '', message: words = '', reason: cause }) => ({
      field,
      message: words,
      ...(cause !== undefined && { reason: cause }),
    })),
  });
}

function unreachable({ method, path }: KubeRequest, error: unknown): KubeUnreachable {
  const words = error instanceof Error ? error.message || error.name : String(error);
  return new KubeUnreachable(`${method} ${path.split('?')[0]}: ${words}`, { cause: error });
}

/**
 * Parses newline-delimited JSON values of the caller's type `T`. Rejects if a line is not JSON, or the stream ends
 * within a line.
 */
export async function* jsonLines<T>(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  /** Parts of an unfinished line; joined once, because a large object arrives in many chunks. */
  let begun: string[] = [];
  for await (const chunk of chunks) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      const whole = begun.length === 0 ? line : [...begun, line].join('');
      begun = [];
      if (whole.trim() !== '') yield JSON.parse(whole);
    }
    if (rest !== '') begun.push(rest);
  }
  if (begun.join('').trim() !== '') throw new Error('the stream ended within a line');
}
