/** A body past its stream: the same bytes, in the same order, however the request comes and wherever it breaks off. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { RequestMessage } from '../../../dataplane/server/request-message.ts';
import type { BodySink } from '../../../dataplane/server/request-message.ts';

interface Taken {
  readonly request: RequestMessage;
  readonly response: ServerResponse;
  readonly body: Promise<string>;
}

/** What a sink gets: the pieces, or in words how they broke off. */
function sinkTo(resolve: (text: string) => void): BodySink {
  const pieces: Buffer[] = [];
  return {
    take: (piece) => void pieces.push(piece),
    end: () => resolve(Buffer.concat(pieces).toString()),
    broken: () => resolve(`${Buffer.concat(pieces).toString()}, broken off`),
  };
}

describe('a request', () => {
  const arrived: Taken[] = [];
  const waiting: ((taken: Taken) => void)[] = [];
  const server = createServer({ IncomingMessage: RequestMessage }, (request, response) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    assert.equal(request.deliver(sinkTo(resolve)), true);
    const taken = { request, response, body: promise };
    const next = waiting.shift();
    if (next) next(taken);
    else arrived.push(taken);
  });
  const next = (): Promise<Taken> => new Promise((resolve) => {
    const taken = arrived.shift();
    if (taken) resolve(taken);
    else waiting.push(resolve);
  });
  const dial = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it('is taken whole, in writes of any size, one after the other on a connection', async () => {
    const socket = await dial();
    const body = fc.string({ unit: fc.constantFrom('a', '0', '\r\n', 'é', '"'), maxLength: 40 });
    await fc.assert(fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 3 }), fc.integer({ min: 1, max: 60 }), fc.boolean(), async (bodies, size, chunked) => {
      const bytes = Buffer.from(bodies.map((each) => requestWith(each, chunked)).join(''));
      for (let at = 0; at < bytes.length; at += size) socket.write(bytes.subarray(at, at + size));
      for (const each of bodies) {
        const { request, response, body: taken } = await next();
        assert.equal(await taken, each);
        assert.equal(request.complete && request.readableEnded, true);
        response.end('ok');
        await once(response, 'close');
      }
    }), { numRuns: 60 });
    socket.destroy();
  });

  it('that breaks off within its body is said to, once, and is not complete', async () => {
    const socket = await dial();
    socket.write('POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\nhalf');
    const { request, body } = await next();
    socket.destroy();
    assert.equal(await body, 'half, broken off');
    assert.equal(request.readableEnded, false);
    assert.equal(request.aborted, true);
  });

  it('whose client leaves after its body was whole, and is not broken', async () => {
    const socket = await dial();
    socket.write(requestWith('whole', false));
    const { request, response, body } = await next();
    assert.equal(await body, 'whole');
    socket.destroy();
    await once(response, 'close');
    assert.equal(request.aborted, false);
    assert.equal(response.writableFinished, false);
  });

  it('that is answered before its body has come does not hold up the next one', async () => {
    const socket = await dial();
    const answers = once(socket, 'data');
    socket.write('POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\n\r\nha');
    const first = await next();
    first.response.writeHead(400).end();
    await answers;
    socket.write(`lf${requestWith('second', false)}`);
    assert.equal(await first.body, 'half');
    const second = await next();
    assert.equal(await second.body, 'second');
    socket.destroy();
  });
});

it('is a stream like any other where nobody takes its body, and stays one', async () => {
  const seen = Promise.withResolvers<{ text: string; late: boolean }>();
  const server = createServer({ IncomingMessage: RequestMessage }, (request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => { text += piece.toString(); });
    request.on('end', () => {
      seen.resolve({ text, late: request.deliver(sinkTo(() => undefined)) });
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { method: 'POST', body: 'streamed' });
  assert.equal(answer.status, 200);
  assert.deepEqual(await seen.promise, { text: 'streamed', late: false });
  server.closeAllConnections();
  server.close();
});

function requestWith(body: string, chunked: boolean): string {
  const bytes = Buffer.byteLength(body);
  const framed = chunked ? `${bytes > 0 ? `${bytes.toString(16)}\r\n${body}\r\n` : ''}0\r\n\r\n` : body;
  return `POST / HTTP/1.1\r\nhost: h\r\n${chunked ? 'transfer-encoding: chunked' : `content-length: ${bytes}`}\r\n\r\n${framed}`;
}
