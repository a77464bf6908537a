/** Responses to a client that does not read: it is disconnected, for whole responses and streams alike. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { GatewayError } from '../../../../dataplane/errors.ts';
import { createReply } from '../../../../dataplane/server/reply-stream.ts';
import type { ClientReply } from '../../../../dataplane/pipeline/context.ts';

/** More than the kernel buffers for a client that does not read. */
const MUCH = Buffer.alloc(32 * 2 ** 20, 'x');
const ANSWERS: Readonly<Record<string, (reply: ClientReply) => unknown>> = {
  'whole answer': (reply) => reply.send(200, {}, MUCH),
  'stream at its end': (reply) => {
    reply.start(200, {});
    reply.end(MUCH);
  },
  'stream within': (reply) => {
    reply.start(200, {});
    return reply.write(MUCH);
  },
};

let server: Server;
let port = 0;
let arrived = Promise.withResolvers<ServerResponse>();

beforeAll(async () => {
  server = createServer((_request, response) => arrived.resolve(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.close();
});

describe('a client that stops reading', () => {
  for (const [name, answer] of Object.entries(ANSWERS))
    it(`is disconnected: ${name}`, async () => {
      arrived = Promise.withResolvers();
      const client = connect(port, '127.0.0.1', () => client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'));
      client.pause().on('error', () => undefined);
      const response = await arrived.promise;
      const closed = once(response, 'close');
      const reply = createReply(response, { requestId: 'req_1', dialect: 'OpenAI', stalledMs: 50 });
      const written = answer(reply);
      await closed;
      await written;
      assert.equal(response.writableFinished, false);
      assert.ok(reply.gone);
      client.destroy();
    });
  it('and one that reads gets everything', async () => {
    arrived = Promise.withResolvers();
    const asked = fetch(`http://127.0.0.1:${port}/`);
    createReply(await arrived.promise, { requestId: 'req_1', dialect: 'OpenAI', stalledMs: 60_000 }).send(
      200,
      {},
      MUCH,
    );
    assert.equal((await (await asked).arrayBuffer()).byteLength, MUCH.length);
  });
});

describe('a stream that fails in the middle', () => {
  for (const type of ['text/event-stream', 'text/EVENT-STREAM; CHARSET=UTF-8', 'Text/Event-Stream'])
    it(`ends with an error event for each spelling of its type: ${type}`, async () => {
      arrived = Promise.withResolvers();
      const asked = fetch(`http://127.0.0.1:${port}/`);
      const reply = createReply(await arrived.promise, { requestId: 'req_1', dialect: 'Anthropic' });
      reply.start(200, { 'content-type': type });
      void reply.write(Buffer.from('event: ping\ndata: {}\n\n'));
      reply.fail(new GatewayError('upstream_error', 'The provider broke off.'));
      assert.match(
        await (await asked).text(),
        /^event: ping\ndata: \{\}\n\nevent: error\ndata: .*The provider broke off/,
      );
    });
});
