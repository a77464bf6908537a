/**
 * Providers for the clients: the demo provider, and models of its answers in other dialects, behind the rules by which
 * the real APIs refuse requests.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { startDemoProvider } from '../../../demo/provider.ts';
import { isRecord } from '../../../dataplane/protocol/fields.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { answerOf } from './fake-models.ts';
import { refusalOf } from './rules.ts';
import { readRequest } from './tap.ts';
import type { SentRequest } from './tap.ts';

export interface Fakes {
  /** "http://127.0.0.1:port", for all protocols. */
  readonly url: string;
  /** What was refused since the last call of this function. */
  takeRefusals(): readonly string[];
  /** All requests so far. */
  readonly requests: readonly SentRequest[];
  stop(): Promise<void>;
}

export async function startFakes(): Promise<Fakes> {
  const demo = await startDemoProvider({ host: '127.0.0.1', port: 0, tokenMs: 0, slowTokenMs: 0 });
  let refusals: string[] = [];
  const requests: SentRequest[] = [];
  const served = {
    demoUrl: demo.url,
    requests,
    onRefused: (refusal: string) => {
      refusals.push(refusal);
    },
  };
  const server = createServer((request, response) => {
    serve(served, request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the fake provider has no address');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    takeRefusals() {
      const taken = refusals;
      refusals = [];
      return taken;
    },
    async stop() {
      server.closeAllConnections();
      await Promise.all([
        demo.stop(),
        new Promise((resolve) => {
          server.close(resolve);
        }),
      ]);
    },
  };
}

interface Serving {
  readonly demoUrl: string;
  readonly requests: SentRequest[];
  readonly onRefused: (refusal: string) => void;
}

async function serve(
  { demoUrl, requests, onRefused }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const sent = await readRequest(request);
  requests.push(sent);
  const { body, path } = sent;
  const parsed: unknown = body.length > 0 ? JSON.parse(body.toString('utf8')) : {};
  const refused = isRecord(parsed) ? refusalOf(path, parsed) : undefined;
  if (refused) onRefused(`${path}: ${refused.message}`);
  const reply = refused?.reply ?? (isRecord(parsed) ? answerOf(path, parsed) : undefined);
  if (reply) return send(reply, response);
  const version = request.headers['anthropic-version'];
  const answer = await fetch(demoUrl + path, {
    method: request.method ?? 'GET',
    ...(body.length > 0 ? { body } : {}),
    headers: {
      'content-type': 'application/json',
      ...(typeof version === 'string' ? { 'anthropic-version': version } : {}),
    },
  });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
  for await (const piece of answer.body ?? []) response.write(piece);
  response.end();
}

/** Replies of rules and fake models have no steps but data. */
function send({ status = 200, headers, steps }: Reply, response: ServerResponse): void {
  const pieces = steps.map((step) => {
    if (typeof step === 'string' || step instanceof Uint8Array) return Buffer.from(step);
    if (step.kind !== 'send') throw new TypeError('this step has no bytes');
    return Buffer.from(step.bytes);
  });
  response.writeHead(status, { 'content-type': 'application/json', ...(headers as OutgoingHttpHeaders) });
  response.end(Buffer.concat(pieces));
}
