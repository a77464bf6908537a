/** A server that serves the price pages and nothing else. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerPricing } from '../../../../../dataplane/server/pricing/answer.ts';
import type { State } from '../../../../../dataplane/state/state.ts';

export interface PriceServer {
  readonly url: string;
  /** Paths with their queries, in order. */
  readonly asked: string[];
  stop(): Promise<void>;
}

/** Serves what `state` says at the time of each request. */
export async function servePrices(state: () => State): Promise<PriceServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    asked.push(pathname + search);
    const answer = answerPricing(
      {
        path: pathname,
        search,
        accept: request.headers.accept,
        ifNoneMatch: request.headers['if-none-match'],
      },
      state(),
    );
    if (answer) response.writeHead(answer.status, answer.headers).end(answer.body);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
