/**
 * Forwards a person's call to the gateway, with the key that they chose, and streams the response back. It stores and
 * logs nothing of it.
 */
import { Readable } from 'node:stream';
import type { GatewayCaller, RelayedAnswer } from '../route.ts';

/** The limit of one process. Each call holds a connection to the gateway until its response has ended. */
const MAX_CALLS = 50;
const PASSED_ON: readonly string[] = [
  'x-request-id',
  'x-modelgateway-cost-usd',
  'x-modelgateway-max-tokens',
  'x-modelgateway-dropped',
  'retry-after',
];

/** Calls this gateway, at most MAX_CALLS at a time. Errors have the shape of the gateway's own. */
export function createGatewayCaller(gatewayUrl: string): GatewayCaller {
  const base = gatewayUrl.replace(/\/+$/, '');
  let running = 0;
  return async ({ key, path, body, gone }) => {
    if (running >= MAX_CALLS) return refusal(503, 'The console has too many calls running. Try again in a moment.');
    running++;
    try {
      const answer = await fetch(base + path, {
        redirect: 'error',
        signal: gone,
        ...(body === undefined ? {} : { method: 'POST', body }),
        headers: {
          authorization: `Bearer ${key}`,
          'user-agent': 'model-gateway-console',
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
      });
      const content = Readable.from(answer.body ?? [], { objectMode: false });
      content.once('close', () => {
        running--;
      });
      return relayed(answer, content);
    } catch {
      // fetch's error may quote its headers, so it is not passed on
      running--;
      return refusal(502, `The gateway does not answer the console at ${base}.`);
    }
  };
}

function relayed({ status, headers }: Response, content: Readable): RelayedAnswer {
  return {
    status,
    content,
    contentType: contentTypeOf(headers.get('content-type') ?? ''),
    headers: Object.fromEntries(
      PASSED_ON.flatMap((name) => {
        const value = headers.get(name);
        return value === null ? [] : [[name, value]];
      }),
    ),
  };
}

function refusal(status: number, message: string): RelayedAnswer {
  return {
    status,
    contentType: 'application/json; charset=utf-8',
    headers: {},
    content: JSON.stringify({ error: { message } }),
  };
}

function contentTypeOf(type: string): RelayedAnswer['contentType'] {
  if (type.startsWith('text/event-stream')) return 'text/event-stream';
  const [, video] = /^video\/([\w.-]+)/.exec(type) ?? [];
  return video === undefined ? 'application/json; charset=utf-8' : `video/${video}`;
}
