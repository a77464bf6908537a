/** Providers for the clients: the demo provider behind the rules by which the real APIs refuse requests. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { startDemoProvider } from '../../../demo/provider.ts';
import { isRecord } from '../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../dataplane/protocol/fields.ts';
import { refuseAnthropic } from './anthropic-rules.ts';
import { refuseOpenAi } from './openai-rules.ts';
import { readRequest } from './tap.ts';
import type { SentRequest } from './tap.ts';

export interface Fakes {
  /** "http://127.0.0.1:port", for both protocols. */
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
  const refusal = isRecord(parsed) ? refuse(path, parsed) : undefined;
  if (refusal) {
    onRefused(`${path}: ${JSON.stringify(refusal)}`);
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(refusal));
    return;
  }
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

/** The error body of a request that breaks a rule. */
function refuse(path: string, body: JsonRecord): JsonRecord | undefined {
  if (path.startsWith('/v1/chat/completions')) {
    const refusal = refuseOpenAi(body);
    return refusal && { error: { type: 'invalid_request_error', code: null, param: null, ...refusal } };
  }
  if (!path.startsWith('/v1/messages')) return undefined;
  const message = refuseAnthropic(body);
  return message === undefined ? undefined : { type: 'error', error: { type: 'invalid_request_error', message } };
}
