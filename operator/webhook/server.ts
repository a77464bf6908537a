/**
 * The webhook's HTTPS server, which the API server calls for each new pod that may want a sidecar. Its certificates are
 * passed in and replaced while it runs; review.ts decides the response.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { parseJson } from '#crds/json.ts';
import type { Logger } from 'pino';
import type { MetricsRecorder } from '../metrics.ts';
import { formatReview, parseReview, review } from './review.ts';
import type { ReviewContext, ReviewResult } from './review.ts';

/** Certificate and key (PEM), and notifications of new ones. */
export interface ServerCertificates {
  current(): { readonly certificate: string; readonly key: string };
  /** Returns a function that removes the listener. */
  onChange(listener: (material: { readonly certificate: string; readonly key: string }) => void): () => void;
}

interface WebhookServerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly certificates: ServerCertificates;
  /** Called for each pod, because certificate authorities change. */
  readonly context: () => ReviewContext;
  readonly meter: Pick<MetricsRecorder, 'add'>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

export interface WebhookServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** The path of reviews. */
const INJECT_PATH = '/inject';
/** An object of the API server has at most 3 MiB, and its review little more. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/**
 * The most bytes of all concurrent requests, because anybody who reaches the port may send some, and the operator has
 * other work.
 */
const MAX_HELD_BYTES = 4 * MAX_BODY_BYTES;
/** More than the 5 seconds that the API server waits by the chart's configuration. */
const REQUEST_MS = 10_000;

/** Resolves once it listens. */
export async function startWebhookServer(options: WebhookServerOptions): Promise<WebhookServer> {
  const { listen, certificates, log } = options;
  const secured = ({ certificate, key }: { readonly certificate: string; readonly key: string }) =>
    ({ cert: certificate, key, minVersion: 'TLSv1.2' }) as const;
  const budget: BodyBudget = { bytes: MAX_HELD_BYTES };
  const server = createServer(
    {
      ...secured(certificates.current()),
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
    },
    (request, response) => {
      answer(options, request, budget)
        .catch((error: unknown): Answer => {
          options.meter.add('modelgateway_operator_injections_total', { outcome: 'failed' }, 1);
          log.warn({ err: error }, "a pod could not be reviewed; the webhook's failure policy decides");
          return { status: 500, body: 'the ApiKey could not be read; see the log of the operator\n' };
        })
        .then(
          (page) => send(response, page),
          () => response.destroy(),
        );
    },
  );
  const unlisten = certificates.onChange((material) => server.setSecureContext(secured(material)));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen.port, listen.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : listen.port,
    async stop() {
      unlisten();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      const forceClose = setTimeout(() => server.closeAllConnections(), REQUEST_MS).unref();
      await closed;
      clearTimeout(forceClose);
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: string | object;
}

/** The bytes of requests that may still be buffered. */
interface BodyBudget {
  bytes: number;
}

async function answer(
  { context, meter, log }: WebhookServerOptions,
  request: IncomingMessage,
  budget: BodyBudget,
): Promise<Answer> {
  if (request.url?.split('?', 1)[0] !== INJECT_PATH) return { status: 404, body: 'not found\n' };
  if (request.method !== 'POST') return { status: 405, body: 'method not allowed; use POST\n' };
  const body = await readBody(request, budget);
  if (body === 'Overloaded') return { status: 503, body: 'too many concurrent requests\n' };
  const question = parseReview(body && parseJson(body.toString('utf8')));
  if (!question) return { status: 400, body: 'the body must be an AdmissionReview of admission.k8s.io/v1\n' };
  const result: ReviewResult = 'pod' in question ? await review(question, context()) : { outcome: 'unchanged' };
  meter.add('modelgateway_operator_injections_total', { outcome: result.outcome }, 1);
  if (result.outcome === 'denied' && 'pod' in question)
    log.info({ namespace: question.namespace, reason: result.message }, 'a pod was denied');
  return { status: 200, body: formatReview(question.uid, result) };
}

/** Returns undefined if the body is too large. */
async function readBody(request: IncomingMessage, budget: BodyBudget): Promise<Buffer | 'Overloaded' | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let held = 0;
  let overloaded = false;
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytes += chunk.length;
      overloaded ||= chunk.length > budget.bytes;
      if (!overloaded && bytes <= MAX_BODY_BYTES) {
        chunks.push(chunk);
        held += chunk.length;
        budget.bytes -= chunk.length;
        continue;
      }
      // reads the rest without keeping it, so that the client sees the response
      chunks.length = 0;
      budget.bytes += held;
      held = 0;
    }
  } finally {
    budget.bytes += held;
  }
  if (bytes > MAX_BODY_BYTES) return undefined;
  return overloaded ? 'Overloaded' : Buffer.concat(chunks);
}

function send(response: ServerResponse, { status, body }: Answer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
