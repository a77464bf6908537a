/**
 * The baseline: the fastest proxy that can be written with fastify and undici. It buffers the body, hijacks the reply,
 * dispatches on a pool with back-pressure, and neither checks nor counts anything. The difference to the gateway is
 * what the gateway's own work costs.
 */
import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import fastify from 'fastify';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { printPort } from './ready.ts';

const [upstream = '', port = '0'] = process.argv.slice(2);
const pool = new Pool(upstream, { pipelining: 1, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date']);

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  #left = -1;
  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(): void {
    /* nothing to note */
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const kept: Record<string, string | string[]> = {};
    for (const name of Object.keys(headers)) {
      const value = headers[name];
      if (value !== undefined && !HOP_BY_HOP.has(name)) kept[name] = value;
    }
    if (typeof kept['content-length'] === 'string') this.#left = Number(kept['content-length']);
    this.#response.writeHead(status, kept);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const response = this.#response;
    if (this.#left === chunk.length) {
      response.end(chunk);
      return;
    }
    this.#left -= chunk.length;
    if (response.write(chunk)) return;
    controller.pause();
    response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    if (!this.#response.writableEnded) this.#response.end();
  }

  onResponseError(): void {
    this.#response.destroy();
  }
}

const app = fastify({ logger: false, bodyLimit: 64 * 2 ** 20 });
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
app.post('/*', (request, reply) => {
  reply.hijack();
  const { headers } = request;
  pool.dispatch(
    {
      method: 'POST',
      path: request.url,
      body: request.body as Buffer,
      headers: { 'content-type': headers['content-type'], authorization: headers.authorization },
    },
    new Relay(reply.raw),
  );
});
await app.listen({ host: '127.0.0.1', port: Number(port) });
printPort((app.server.address() as AddressInfo).port);
