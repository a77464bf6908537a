/** The sidecar in front of a scripted fleet: what is forwarded, what is not, and failures of one side. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, it } from 'vitest';
import { freePort } from '../../../support/free-port.ts';
import { call, replyTo, startFleet, startTestSidecar, textOf } from './support.ts';
import type { ScriptedFleet, TestSidecar } from './support.ts';

const KEY = 'sk-pod-key-00000000000000000000000000000000';
const started: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of started.splice(0).toReversed()) await each.stop();
});

async function scene(
  listener: RequestListener,
  key: string | undefined = KEY,
): Promise<{ readonly fleet: ScriptedFleet; readonly sidecar: TestSidecar }> {
  const fleet = await startFleet(listener);
  started.push(fleet);
  const sidecar = await startTestSidecar(fleet.url, key);
  started.push(sidecar);
  return { fleet, sidecar };
}

const echo: RequestListener = (request, response) => {
  void textOf(request).then((body) =>
    response.end(JSON.stringify({ method: request.method, url: request.url, rawHeaders: request.rawHeaders, body })),
  );
};

/** Returns a value once it has not changed for many turns of the event loop. */
async function settled(read: () => Promise<number>): Promise<number> {
  let last = Number.NaN;
  for (let still = 0; still < 300; still++) {
    const now = await read();
    if (now !== last) still = 0;
    last = now;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  return last;
}

function headersOf(text: string): Record<string, string[]> {
  const { rawHeaders } = JSON.parse(text) as { rawHeaders: string[] };
  const found: Record<string, string[]> = {};
  for (let index = 0; index < rawHeaders.length; index += 2)
    (found[rawHeaders[index]?.toLowerCase() ?? ''] ??= []).push(rawHeaders[index + 1] ?? '');
  return found;
}

describe('a forwarded request', () => {
  it("has the pod's key in place of every credential", async () => {
    const { sidecar } = await scene(echo);
    const { text } = await call(`${sidecar.url}/v1/models`, {
      headers: {
        authorization: 'Bearer sk-dummy',
        'X-Api-Key': 'dummy',
        'api-key': 'dummy',
        'x-goog-api-key': 'dummy',
        cookie: 'a=b',
        'proxy-authorization': 'Basic eA==',
      },
    });
    const headers = headersOf(text);
    assert.deepEqual(headers['authorization'], [`Bearer ${KEY}`]);
    for (const name of ['x-api-key', 'api-key', 'x-goog-api-key', 'cookie', 'proxy-authorization'])
      assert.equal(headers[name], undefined, name);
  });

  it('keeps method, path, query, body and headers, but not hop-by-hop headers', async () => {
    const { sidecar } = await scene(echo);
    const { text } = await call(`${sidecar.url}/v1/messages?beta=true&x=%2F`, {
      method: 'POST',
      body: '{"a":1}',
      headers: {
        'content-type': 'application/json',
        'anthropic-beta': 'one',
        'X-Request-Id': 'mine',
        connection: 'x-hop, close',
        'x-hop': '1',
        te: 'trailers',
        'keep-alive': 'timeout=5',
        'proxy-connection': 'x',
      },
    });
    const seen = JSON.parse(text) as Record<string, unknown>;
    assert.deepEqual([seen['method'], seen['url'], seen['body']], ['POST', '/v1/messages?beta=true&x=%2F', '{"a":1}']);
    const headers = headersOf(text);
    assert.deepEqual(
      [headers['anthropic-beta'], headers['x-request-id'], headers['content-length']],
      [['one'], ['mine'], ['7']],
    );
    for (const name of ['x-hop', 'te', 'keep-alive', 'proxy-connection']) assert.equal(headers[name], undefined, name);
    assert.match(headers['host']?.[0] ?? '', /^127\.0\.0\.1:\d+$/);
  });

  it('may have a body of unknown length, an absolute target, or a method without a body', async () => {
    const { sidecar } = await scene(echo);
    const chunked = httpRequest(`${sidecar.url}/v1/x`, { method: 'PUT', agent: false });
    chunked.write('one ');
    chunked.end('two');
    const first = await replyTo(chunked);
    assert.equal(headersOf(first.text)['transfer-encoding']?.[0], 'chunked');
    assert.equal((JSON.parse(first.text) as { body: string }).body, 'one two');
    const absolute = await call(sidecar.url, { path: 'http://127.0.0.1:4000/v1/models?a=1' });
    assert.equal((JSON.parse(absolute.text) as { url: string }).url, '/v1/models?a=1');
    for (const method of ['DELETE', 'POST', 'HEAD'])
      assert.equal((await call(`${sidecar.url}/v1/y`, { method })).status, 200, method);
    assert.equal((await call(sidecar.url, { method: 'OPTIONS', path: '*' })).status, 404);
  });

  it('gets status, headers and bytes of the response unchanged, compressed ones and request ids included', async () => {
    const { sidecar } = await scene((_request, response) => {
      response.writeHead(429, {
        'x-request-id': 'req_1',
        'request-id': 'req_1',
        'retry-after': '3',
        'content-encoding': 'gzip',
        'set-cookie': ['a=1', 'b=2'],
        connection: 'keep-alive, x-hop',
        'x-hop': '1',
      });
      response.end(Buffer.from([0x1f, 0x8b, 0, 255]));
    });
    const { status, message, text } = await call(`${sidecar.url}/v1/models`);
    assert.deepEqual(
      [
        status,
        message.headers['x-request-id'],
        message.headers['retry-after'],
        message.headers['content-encoding'],
        message.headers['x-hop'],
      ],
      [429, 'req_1', '3', 'gzip', undefined],
    );
    assert.deepEqual(message.headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(text.length, 4);
  });

  it('gets trailers if they were announced', async () => {
    const { sidecar } = await scene((_request, response) => {
      response.writeHead(200, { trailer: 'x-sum' });
      response.write('data');
      response.addTrailers({ 'x-sum': '4' });
      response.end();
    });
    const { message } = await call(`${sidecar.url}/v1/x`);
    assert.equal(message.trailers['x-sum'], '4');
  });

  it('gets the chunks of a stream one by one', async () => {
    const steps: (() => void)[] = [];
    const { sidecar } = await scene((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      steps.push(
        () => response.write('data: 1\n\n'),
        () => response.end('data: 2\n\n'),
      );
    });
    const sent = httpRequest(`${sidecar.url}/v1/x`, { agent: false });
    sent.end();
    const [message] = (await once(sent, 'response')) as [IncomingMessage];
    for (const expected of ['data: 1\n\n', 'data: 2\n\n']) {
      steps.shift()?.();
      const [chunk] = (await once(message, 'data')) as [Buffer];
      assert.equal(chunk.toString(), expected);
    }
  });
});

describe('connections', () => {
  it('to the fleet are reused', async () => {
    const { fleet, sidecar } = await scene(echo);
    for (let count = 0; count < 5; count++) await call(`${sidecar.url}/v1/models`);
    assert.equal(fleet.connections.length, 1);
    assert.equal(await sidecar.metric('modelgateway_sidecar_requests_total{result="answered",status="200"}'), 5);
  });

  it('are retried while the fleet is not available yet, and the body is sent once', async () => {
    const port = await freePort();
    const sidecar = await startTestSidecar(`http://127.0.0.1:${port}`, KEY);
    started.push(sidecar);
    const bodies: string[] = [];
    const answer = call(`${sidecar.url}/v1/messages`, { method: 'POST', body: '{"a":1}' });
    while ((await sidecar.metric('modelgateway_sidecar_connect_retries_total')) === 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    started.push(
      await startFleet(
        (request, response) =>
          void textOf(request).then((body) => {
            bodies.push(body);
            response.end('there');
          }),
        port,
      ),
    );
    assert.equal((await answer).text, 'there');
    assert.deepEqual(bodies, ['{"a":1}']);
  });

  it('return an error in the dialect of the path or the client if the fleet stays unavailable', async () => {
    const sidecar = await startTestSidecar(`http://127.0.0.1:${await freePort()}`, KEY);
    started.push(sidecar);
    const [openai, anthropic, models] = await Promise.all([
      call(`${sidecar.url}/v1/chat/completions`, { method: 'POST', body: '{}' }),
      call(`${sidecar.url}/v1/messages`, { method: 'POST', body: '{}' }),
      call(`${sidecar.url}/v1/models`, { headers: { 'anthropic-version': '2023-06-01' } }),
    ]);
    assert.equal(openai.status, 502);
    assert.equal((JSON.parse(openai.text) as { error: { code: string } }).error.code, 'upstream_error');
    for (const { text } of [anthropic, models]) assert.equal((JSON.parse(text) as { type?: string }).type, 'error');
    assert.equal(await sidecar.metric('modelgateway_sidecar_connect_retries_total'), 15);
  });

  it('never send a request twice', async () => {
    let requests = 0;
    const { sidecar } = await scene((request) => {
      requests++;
      request.socket.destroy();
    });
    const { status, text } = await call(`${sidecar.url}/v1/messages`, { method: 'POST', body: '{}' });
    assert.deepEqual([status, requests], [502, 1]);
    assert.match(text, /ended before an answer came/);
  });
});

describe('a side that disconnects', () => {
  it("ends the fleet's request if it is an app within a stream, before a response, or while it sends", async () => {
    const ends: Promise<unknown>[] = [];
    const arrived = Promise.withResolvers<void>();
    let mode = 'stream';
    const { sidecar } = await scene((request, response) => {
      ends.push(once(response, 'close'));
      request.on('error', () => undefined);
      if (mode === 'stream') response.write('data: 1\n\n');
      arrived.resolve();
    });
    const streamed = httpRequest(`${sidecar.url}/v1/x`, { agent: false }).on('error', () => undefined);
    streamed.end();
    const [message] = (await once(streamed, 'response')) as [IncomingMessage];
    message.on('error', () => undefined);
    await once(message, 'data');
    streamed.destroy();
    await ends[0];
    for (const next of ['silent', 'sending']) {
      mode = next;
      const sent = httpRequest(`${sidecar.url}/v1/x`, { agent: false, method: 'POST' }).on('error', () => undefined);
      sent.write('part');
      if (next === 'silent') sent.end();
      while (ends.length < (next === 'silent' ? 2 : 3))
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      sent.destroy();
      await ends.at(-1);
    }
    while ((await sidecar.metric('modelgateway_sidecar_requests_in_flight')) > 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    assert.equal(ends.length, 3);
  });

  it('sends nothing if it is an app without a connection to the fleet', async () => {
    const port = await freePort();
    const sidecar = await startTestSidecar(`http://127.0.0.1:${port}`, KEY);
    started.push(sidecar);
    const sent = httpRequest(`${sidecar.url}/v1/x`, { agent: false }).on('error', () => undefined);
    sent.end();
    while ((await sidecar.metric('modelgateway_sidecar_connect_retries_total')) === 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    sent.destroy();
    while ((await sidecar.metric('modelgateway_sidecar_requests_total{result="left",status=""}')) === 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  });

  it('is not taken for the end of a stream if it is the fleet', async () => {
    const { sidecar } = await scene((_request, response) => {
      response.write('data: 1\n\n');
      setImmediate(() => response.destroy());
    });
    await assert.rejects(call(`${sidecar.url}/v1/x`), /aborted|ECONNRESET|socket hang up/);
    while ((await sidecar.metric('modelgateway_sidecar_requests_total{result="cut",status="200"}')) === 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  });
});

describe('bodies', () => {
  it('get 100 Continue once there is a connection, and not for a refusal', async () => {
    const { sidecar } = await scene(echo);
    const sent = httpRequest(`${sidecar.url}/v1/x`, {
      agent: false,
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': '4' },
    });
    sent.flushHeaders();
    await once(sent, 'continue');
    sent.end('body');
    assert.equal((JSON.parse((await replyTo(sent)).text) as { body: string }).body, 'body');
    await sidecar.writeKey(undefined);
    const refused = httpRequest(`${sidecar.url}/v1/x`, {
      agent: false,
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': '4' },
    });
    refused.on('continue', () => assert.fail('told to go on'));
    refused.flushHeaders();
    assert.equal((await replyTo(refused)).status, 503);
  });

  it('may be answered before they are sent, and the connection is reused', async () => {
    const { sidecar } = await scene((_request, response) => {
      response.writeHead(413, { 'content-type': 'text/plain' }).end('too large');
    });
    const socket = connect(sidecar.port, '127.0.0.1');
    let seen = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      seen += text;
    });
    socket.write('POST /v1/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2000000\r\n\r\n');
    socket.write('x'.repeat(1_000_000));
    while (!seen.includes('too large')) await once(socket, 'data');
    socket.write('x'.repeat(1_000_000));
    socket.write('GET /v1/y HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    await once(socket, 'close');
    assert.equal(seen.match(/HTTP\/1\.1 413/g)?.length, 2);
  });

  it('of 50 MB each way are not buffered: a paused reader pauses the sender', async () => {
    const SIZE = 50 * 1024 * 1024;
    let read = (): void => undefined;
    const { sidecar } = await scene((request, response) => {
      read = () => {
        let count = 0;
        request
          .on('data', (chunk: Buffer) => {
            count += chunk.length;
          })
          .on('end', () => {
            response.writeHead(200, { 'x-count': String(count) });
            const piece = Buffer.alloc(1024 * 1024);
            const give = (left: number): void => {
              if (left === 0) return void response.end();
              if (response.write(piece)) setImmediate(give, left - 1);
              else response.once('drain', () => give(left - 1));
            };
            give(50);
          });
      };
    });
    const sent = httpRequest(`${sidecar.url}/v1/x`, {
      agent: false,
      method: 'POST',
      headers: { 'content-length': String(SIZE) },
    });
    const piece = Buffer.alloc(1024 * 1024);
    let given = 0;
    while (sent.write(piece) && ++given < 50);
    // both have stopped: the sidecar has forwarded what sockets accept, and no more
    const forwarded = await settled(() => sidecar.metric('modelgateway_sidecar_bytes_total{direction="to_fleet"}'));
    assert.ok(forwarded < SIZE / 2, `${forwarded} bytes went to a fleet that does not read`);
    read();
    for (given++; given < 50; given++) if (!sent.write(piece)) await once(sent, 'drain');
    sent.end();
    const [message] = (await once(sent, 'response')) as [IncomingMessage];
    assert.equal(message.headers['x-count'], String(SIZE));
    const taken = await settled(() => sidecar.metric('modelgateway_sidecar_bytes_total{direction="to_app"}'));
    assert.ok(taken < SIZE / 2, `${taken} bytes were taken for an app that does not read`);
    let received = 0;
    for await (const chunk of message) received += (chunk as Buffer).length;
    assert.equal(received, SIZE);
  });
});

describe('the key', () => {
  it('is read again when the file changes, and its absence is reported', async () => {
    const { sidecar } = await scene(echo);
    const keyNow = async (): Promise<string | undefined> =>
      headersOf((await call(`${sidecar.url}/v1/models`)).text)['authorization']?.[0];
    assert.equal(await keyNow(), `Bearer ${KEY}`);
    await sidecar.writeKey('sk-another-key-0000000000000000000000000000\n');
    assert.equal(await keyNow(), 'Bearer sk-another-key-0000000000000000000000000000');
    assert.equal(await sidecar.metric('modelgateway_sidecar_key_changes_total'), 1);
    for (const [text, words] of [
      [undefined, /is not there or cannot be read/],
      ['', /is empty/],
      ['not a key', /holds no key/],
      ['sk-with space', /holds no key/],
    ] as const) {
      await sidecar.writeKey(text ?? '').then(() => (text === undefined ? sidecar.writeKey(undefined) : undefined));
      const { status, text: body } = await call(`${sidecar.url}/v1/messages`, { method: 'POST', body: '{}' });
      assert.equal(status, 503);
      assert.match(body, words);
      assert.equal(await sidecar.metric('modelgateway_sidecar_key_loaded'), 0);
    }
    await sidecar.writeKey(KEY);
    assert.equal(await keyNow(), `Bearer ${KEY}`);
  });

  it('is sent only to the fleet', async () => {
    const { sidecar, fleet } = await scene((request) => {
      request.socket.destroy();
    });
    const replies = [await call(`${sidecar.url}/v1/models`), await call(sidecar.url, { method: 'OPTIONS', path: '*' })];
    await fleet.stop();
    replies.push(await call(`${sidecar.url}/v1/models`));
    await sidecar.writeKey(`${KEY} broken`);
    replies.push(await call(`${sidecar.url}/v1/models`));
    const told = [
      ...replies.map(({ text, message }) => text + JSON.stringify(message.rawHeaders)),
      ...sidecar.logs,
      await sidecar.page(),
    ].join('\n');
    assert.ok(sidecar.logs.length >= 4);
    assert.ok(!told.includes(KEY.slice(0, 12)), told);
  });
});

describe('shutdown', () => {
  it('waits for running calls, and accepts no more', async () => {
    let finish = (): void => undefined;
    const { sidecar } = await scene((_request, response) => {
      response.write('data: 1\n\n');
      finish = () => response.end('data: 2\n\n');
    });
    const sent = httpRequest(`${sidecar.url}/v1/x`, { agent: false });
    sent.end();
    const [message] = (await once(sent, 'response')) as [IncomingMessage];
    let drained = false;
    const draining = sidecar.sidecar.drain().then(() => {
      drained = true;
    });
    await assert.rejects(call(`${sidecar.url}/v1/y`), /ECONNREFUSED/);
    assert.equal(drained, false);
    finish();
    assert.equal(await textOf(message), 'data: 1\n\ndata: 2\n\n');
    await draining;
  });
});
