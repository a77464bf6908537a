import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { test } from 'vitest';
import { SecretValue } from '../../../../dataplane/upstream/upstream.ts';
import { failsWith, readAll, text, requestOf, startHttp, startRaw, startUpstreams, targetAt } from './provider.ts';

test('gets a whole response with status, headers and body; sends credential, body and identity encoding', async () => {
  const seen = Promise.withResolvers<IncomingMessage>();
  const seenBody = Promise.withResolvers<string>();
  const base = await startHttp((request, response) => {
    seen.resolve(request);
    readAll(request).then(seenBody.resolve, seenBody.reject);
    response.setHeader('x-many', ['a', 'b']);
    response.writeHead(201).end('hello');
  });
  const upstreams = startUpstreams();
  const answer = await upstreams.send(
    targetAt(`${base}/v1/`),
    requestOf({
      body: Buffer.from('{"model":"m"}'),
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-client', 'x-api-key': 'sk-client' },
    }),
  );
  assert.equal(answer.status, 201);
  assert.equal(answer.headers['x-many'], 'a, b');
  assert.equal(await readAll(answer.body), 'hello');
  const { method, url, headers } = await seen.promise;
  assert.equal(method, 'POST');
  assert.equal(url, '/v1/chat/completions');
  assert.equal(await seenBody.promise, '{"model":"m"}');
  assert.equal(headers['authorization'], 'Bearer provider-secret');
  assert.equal(headers['accept-encoding'], 'identity');
  assert.equal(headers['content-length'], '13');
  assert.equal(headers['x-api-key'], undefined);
});

test('sends a credential in another header, overridable default headers, or no credential', async () => {
  const seen: Record<string, string | string[] | undefined>[] = [];
  const base = await startHttp((request, response) => {
    seen.push(request.headers);
    response.end('{}');
  });
  const upstreams = startUpstreams();
  const credential = { header: 'x-api-key', value: new SecretValue('provider-secret') };
  const target = targetAt(base, { credential, defaultHeaders: { 'anthropic-version': '2023-06-01' } });
  for (const headers of [{}, { 'anthropic-version': '2024-10-22' }])
    await readAll((await upstreams.send(target, requestOf({ path: '/v1/messages', headers }))).body);
  await readAll((await upstreams.send(targetAt(base, { credential: undefined }), requestOf())).body);
  assert.deepEqual(
    seen.map((headers) => [headers['x-api-key'], headers['anthropic-version'], headers['authorization']]),
    [
      ['provider-secret', '2023-06-01', undefined],
      ['provider-secret', '2024-10-22', undefined],
      [undefined, undefined, undefined],
    ],
  );
});

test('fails with Connect for a refused connection and an unknown host name', async () => {
  const upstreams = startUpstreams();
  await assert.rejects(upstreams.send(targetAt('http://127.0.0.1:1'), requestOf()), failsWith('Connect'));
  await assert.rejects(upstreams.send(targetAt('http://provider.invalid'), requestOf()), failsWith('Connect'));
});

test('fails with Connect if the connection takes too long, and sends nothing later', async () => {
  // a TLS handshake that the other side never answers
  const base = await startRaw(() => undefined);
  const upstreams = startUpstreams();
  const target = targetAt(base.replace('http:', 'https:'), { timeouts: { connectMs: 40 } });
  await assert.rejects(upstreams.send(target, requestOf()), failsWith('Connect'));
  const slow = targetAt(base.replace('http:', 'https:'), { timeouts: { connectMs: 300, wholeMs: 20 } });
  await assert.rejects(upstreams.send(slow, requestOf()), failsWith('Connect'));
});

test('fails with Connect if the provider does not use TLS', async () => {
  const base = await startRaw((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const upstreams = startUpstreams();
  await assert.rejects(upstreams.send(targetAt(base.replace('http:', 'https:')), requestOf()), failsWith('Connect'));
});

test('fails with Reset if the connection breaks before or within the headers, or it is not HTTP', async () => {
  for (const reply of ['', 'HTTP/1.1 200 OK\r\ncontent-', 'hello\r\n\r\n']) {
    const base = await startRaw((socket) => socket.end(reply));
    await assert.rejects(startUpstreams().send(targetAt(base), requestOf()), failsWith('Reset'));
  }
});

test('fails with Reset for endless headers', async () => {
  const base = await startRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\nx-huge: ${'a'.repeat(64 * 1024)}\r\n\r\n`));
  await assert.rejects(startUpstreams().send(targetAt(base), requestOf()), failsWith('Reset'));
});

test('fails with Timeout without a response in time, for streams and whole calls', async () => {
  const base = await startHttp(() => undefined);
  const upstreams = startUpstreams();
  const target = targetAt(base, { timeouts: { firstByteMs: 30, wholeMs: 30 } });
  await assert.rejects(upstreams.send(target, requestOf()), failsWith('Timeout'));
  await assert.rejects(upstreams.send(target, requestOf({ stream: true })), failsWith('Timeout'));
});

test('fails with Timeout without a first byte, or if a whole response does not end in time', async () => {
  const base = await startHttp((request, response) => {
    response.writeHead(200).flushHeaders();
    if (request.url === '/half') response.write('half');
  });
  const upstreams = startUpstreams();
  const target = targetAt(base, { timeouts: { firstByteMs: 60, wholeMs: 60 } });
  const exchange = async (path: string, stream: boolean) =>
    readAll((await upstreams.send(target, requestOf({ path, stream }))).body);
  await assert.rejects(exchange('/', true), failsWith('Timeout'));
  await assert.rejects(exchange('/half', false), failsWith('Timeout'));
});

test('reads what arrived of a stream that stops, then fails with Idle', async () => {
  const base = await startHttp((_request, response) => {
    response.writeHead(200).write('data: 1\n\n');
  });
  const answer = await startUpstreams().send(targetAt(base, { timeouts: { idleMs: 30 } }), requestOf({ stream: true }));
  const iterator = answer.body[Symbol.asyncIterator]();
  assert.equal(text(await iterator.next()), 'data: 1\n\n');
  await assert.rejects(iterator.next(), failsWith('Idle'));
});

test('reads what arrived of a broken body, then fails with Cut, by length and by chunks', async () => {
  for (const head of ['content-length: 100\r\n\r\nhalf', 'transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n']) {
    const base = await startRaw((socket) => socket.end(`HTTP/1.1 200 OK\r\n${head}`));
    const answer = await startUpstreams().send(targetAt(base), requestOf());
    const iterator = answer.body[Symbol.asyncIterator]();
    assert.equal(text(await iterator.next()), 'half');
    await assert.rejects(iterator.next(), failsWith('Cut'));
  }
});

test('ends a response without length with its connection', async () => {
  const base = await startRaw((socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall of it'));
  const answer = await startUpstreams().send(targetAt(base), requestOf());
  assert.equal(await readAll(answer.body), 'all of it');
});

test('skips early hints', async () => {
  const base = await startRaw((socket) =>
    socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
  );
  const answer = await startUpstreams().send(targetAt(base), requestOf());
  assert.equal(answer.status, 200);
  assert.equal(await readAll(answer.body), 'ok');
});

test('survives an unexpected 100 Continue, which fails only the exchange', async () => {
  const base = await startRaw((socket) =>
    socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
  );
  await assert.rejects(startUpstreams().send(targetAt(base), requestOf()), failsWith('Reset'));
});

test('reads an error response while the request body is still being sent', async () => {
  const base = await startRaw((socket) =>
    socket.end('HTTP/1.1 413 Payload Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig'),
  );
  const answer = await startUpstreams().send(targetAt(base), requestOf({ body: Buffer.alloc(20 * 1024 * 1024, 0x61) }));
  assert.equal(answer.status, 413);
});

test('returns redirects, and does not follow them', async () => {
  let calls = 0;
  const base = await startHttp((_request, response) => {
    calls++;
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  const answer = await startUpstreams().send(targetAt(base), requestOf());
  assert.equal(answer.status, 307);
  assert.equal(await readAll(answer.body), '');
  assert.equal(calls, 1);
});

test('aborts before sending, before the headers and within the body, and closes the connection', async () => {
  const closed = Promise.withResolvers<void>();
  let connections = 0;
  const base = await startHttp((request, response) => {
    connections++;
    response.on('close', () => {
      if (request.url === '/body') closed.resolve();
    });
    if (request.url === '/body') response.writeHead(200).write('first');
    else arrived.resolve();
  });
  const arrived = Promise.withResolvers<void>();
  const upstreams = startUpstreams();
  await assert.rejects(
    upstreams.send(targetAt(base), requestOf({ signal: AbortSignal.abort() })),
    failsWith('Aborted'),
  );
  assert.equal(connections, 0);

  const early = new AbortController();
  const waiting = upstreams.send(targetAt(base), requestOf({ signal: early.signal }));
  await arrived.promise;
  early.abort();
  await assert.rejects(waiting, failsWith('Aborted'));

  const late = new AbortController();
  const answer = await upstreams.send(targetAt(base), requestOf({ path: '/body', stream: true, signal: late.signal }));
  const iterator = answer.body[Symbol.asyncIterator]();
  await iterator.next();
  const next = iterator.next();
  late.abort();
  await assert.rejects(next, failsWith('Aborted'));
  await closed.promise;
});

test('closes the connection when the loop ends early', async () => {
  const closed = Promise.withResolvers<void>();
  const base = await startHttp((_request, response) => {
    response.on('close', closed.resolve);
    response.writeHead(200).write('first');
  });
  const answer = await startUpstreams().send(targetAt(base), requestOf({ stream: true }));
  for await (const piece of answer.body) {
    assert.ok(piece.length > 0);
    break;
  }
  await closed.promise;
});

test('pauses the provider for a slow reader, with bounded memory and no loss', async () => {
  const total = 32 * 1024 * 1024;
  let written = 0;
  const base = await startHttp((_request, response) => {
    const piece = Buffer.alloc(64 * 1024, 0x61);
    const write = (): void => {
      while (written < total) {
        written += piece.length;
        if (!response.write(piece)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  });
  const answer = await startUpstreams().send(targetAt(base), requestOf({ stream: true }));
  const iterator = answer.body[Symbol.asyncIterator]();
  let received = (await iterator.next()).value?.length ?? 0;
  // the provider writes until all buffers are full, and then stops
  for (let before = -1; before !== written;) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  assert.ok(written < total / 2, `the provider could write ${written} bytes that nobody read`);
  let largest = 0;
  for (let result = await iterator.next(); !result.done; result = await iterator.next()) {
    received += result.value.length;
    largest = Math.max(largest, result.value.length);
  }
  assert.equal(received, total);
  assert.ok(largest <= 512 * 1024, `${largest} bytes were held at once`);
});

test('decompresses responses, also with several encodings', async () => {
  const text = JSON.stringify({ text: 'ä'.repeat(10_000) });
  const encodings: Record<string, Buffer> = {
    gzip: gzipSync(text),
    'x-gzip': gzipSync(text),
    deflate: deflateSync(text),
    br: brotliCompressSync(text),
    zstd: zstdCompressSync(text),
    'gzip, br': brotliCompressSync(gzipSync(text)),
    identity: Buffer.from(text),
  };
  const base = await startHttp((request, response) => {
    const encoding = String(request.headers['x-encoding']);
    const body = encodings[encoding] ?? Buffer.alloc(0);
    response.writeHead(200, { 'content-encoding': encoding, 'content-length': body.length }).end(body);
  });
  const upstreams = startUpstreams();
  for (const encoding of Object.keys(encodings)) {
    const answer = await upstreams.send(targetAt(base), requestOf({ headers: { 'x-encoding': encoding } }));
    assert.equal(await readAll(answer.body), text, encoding);
    if (encoding !== 'identity') assert.equal(answer.headers['content-length'], undefined);
  }
});

test('fails for an unknown encoding, truncated or invalid data, and a bomb', async () => {
  const bodies: Record<string, [encoding: string, body: Buffer]> = {
    unknown: ['lzma', Buffer.from('?')],
    cut: ['gzip', gzipSync('a long text, well, not so long').subarray(0, 20)],
    garbage: ['br', Buffer.from('this is not brotli at all')],
    bomb: ['gzip', gzipSync(Buffer.alloc(2 * 1024 * 1024))],
    'bomb in a bomb': ['gzip, br', brotliCompressSync(gzipSync(Buffer.alloc(2 * 1024 * 1024)))],
    matryoshka: ['gzip, gzip, gzip', gzipSync(gzipSync(gzipSync('{}')))],
  };
  const base = await startHttp((request, response) => {
    const [encoding, body] = bodies[String(request.headers['x-case'])] ?? ['', Buffer.alloc(0)];
    response.writeHead(200, { 'content-encoding': encoding }).end(body);
  });
  const upstreams = startUpstreams();
  const send = (name: string) => upstreams.send(targetAt(base), requestOf({ headers: { 'x-case': name } }));
  for (const name of ['unknown', 'matryoshka']) await assert.rejects(send(name), failsWith('Reset'), name);
  for (const name of ['cut', 'garbage', 'bomb', 'bomb in a bomb'])
    await assert.rejects(readAll((await send(name)).body), failsWith('Cut'), name);
});

test('counts the memory of decoders while a response is read, and fails where there is no room', async () => {
  const MIB = 1024 * 1024;
  let freeBytes = 33 * MIB;
  const memory = {
    take(bytes: number): boolean {
      if (bytes > freeBytes) return false;
      freeBytes -= bytes;
      return true;
    },
    giveBack(bytes: number): void {
      freeBytes += bytes;
    },
  };
  const beginning = brotliCompressSync('{"a":', { finishFlush: constants.BROTLI_OPERATION_FLUSH });
  const base = await startHttp((request, response) => {
    response.writeHead(200, { 'content-encoding': 'br' });
    if (request.headers['x-case'] === 'garbage') response.end('this is not brotli at all');
    else response.write(beginning);
  });
  const upstreams = startUpstreams({ memory });
  const open = async (name = 'open') => {
    const { body } = await upstreams.send(targetAt(base), requestOf({ headers: { 'x-case': name } }));
    return body[Symbol.asyncIterator]();
  };
  // the provider sends the beginning of a body, and never the rest
  const readers = [await open(), await open()];
  for (const reader of readers) assert.equal((await reader.next()).done, false);
  assert.ok(freeBytes < MIB);
  await assert.rejects((await open()).next(), failsWith('Cut'), 'a third window');
  await readers[0]?.return?.();
  await assert.rejects((await open('garbage')).next(), failsWith('Cut'));
  await readers[1]?.return?.();
  assert.equal(freeBytes, 33 * MIB);
});

for (const [coding, take, read] of [
  ['br', () => false, 'first'],
  ['br', () => true, 'nothing'],
  ['gzip, br', () => true, 'nothing'],
  ['identity', () => true, 'nothing'],
] as const)
  test(`ends a response in ${coding} of which ${read} is read, so that the pool can close`, async () => {
    const closed = Promise.withResolvers<void>();
    const base = await startHttp((_request, response) => {
      response.once('close', closed.resolve);
      response.writeHead(200, { 'content-encoding': coding });
      response.write(Buffer.alloc(512 * 1024));
    });
    const upstreams = startUpstreams({ memory: { take, giveBack: () => undefined } });
    const { body } = await upstreams.send(targetAt(base), requestOf({ stream: true }));
    const reader = body[Symbol.asyncIterator]();
    if (read === 'first') await assert.rejects(reader.next(), failsWith('Cut'));
    else await reader.return?.();
    await closed.promise;
    await upstreams.close();
  });

test('fails the attempt, not the process, for invalid headers', async () => {
  const base = await startHttp((_request, response) => {
    response.end();
  });
  await assert.rejects(
    startUpstreams().send(targetAt(base), requestOf({ headers: { 'x-bad': 'a\r\nb: c' } })),
    failsWith('Connect'),
  );
  await assert.rejects(startUpstreams().send(targetAt('nonsense'), requestOf()), failsWith('Connect'));
});

test('reveals no credential or address in an error', async () => {
  const base = await startRaw((socket) => socket.end('nonsense'));
  for (const target of [targetAt(base), targetAt('http://127.0.0.1:1')]) {
    await assert.rejects(startUpstreams().send(target, requestOf()), (error: Error) => {
      assert.doesNotMatch(error.message, /127\.0\.0\.1|provider-secret|http/);
      return true;
    });
  }
});

test('sends a large request body whole, with its length', async () => {
  const body = Buffer.alloc(1024 * 1024, 'abcdefgh');
  const seen = Promise.withResolvers<[length: string | undefined, text: string]>();
  const base = await startHttp((request, response) => {
    readAll(request).then((all) => seen.resolve([request.headers['content-length'], all]), seen.reject);
    response.end('{}');
  });
  await readAll((await startUpstreams().send(targetAt(base), requestOf({ body }))).body);
  assert.deepEqual(await seen.promise, [String(body.length), body.toString()]);
});
