/** The life of a channel's connections. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { test } from 'vitest';
import { failsWith, readAll, requestOf, startHttp, startRaw, startUpstreams, targetAt } from './provider.ts';

test('keeps connections alive between calls, one call at a time', async () => {
  const ports = new Set<number | undefined>();
  let most = 0;
  let running = 0;
  const held: (() => void)[] = [];
  const base = await startHttp((request, response) => {
    ports.add(request.socket.remotePort);
    most = Math.max(most, ++running);
    const finish = (): void => {
      running--;
      response.end('ok');
    };
    if (request.url === '/held') held.push(finish);
    else finish();
    if (held.length === 20) for (const release of held) release();
  });
  const upstreams = startUpstreams();
  const target = targetAt(base);
  for (let i = 0; i < 5; i++) await readAll((await upstreams.send(target, requestOf())).body);
  // a connection rests for a turn of the event loop before it is used again, so a second one may be opened
  assert.ok(ports.size <= 2, `${ports.size} connections`);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => upstreams.send(target, requestOf({ path: '/held' }))),
  );
  await Promise.all(answers.map(({ body }) => readAll(body)));
  assert.equal(most, 20);
});

test('replaces a kept connection that the provider has closed', async () => {
  const base = await startRaw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
  const upstreams = startUpstreams();
  const target = targetAt(base);
  for (let i = 0; i < 20; i++) assert.equal(await readAll((await upstreams.send(target, requestOf())).body), 'ok');
});

test('fails with Reset on a kept connection that closes, since the request may have been read', async () => {
  const answered = new Set<Socket>();
  const base = await startRaw((socket) => {
    if (answered.has(socket)) return void socket.destroy();
    answered.add(socket);
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
  });
  const upstreams = startUpstreams();
  const target = targetAt(base);
  await readAll((await upstreams.send(target, requestOf())).body);
  // a connection rests for a turn of the event loop before it is used again
  await setImmediate();
  await setImmediate();
  await assert.rejects(upstreams.send(target, requestOf()), failsWith('Reset'));
  assert.equal(answered.size, 1);
});

test("completes a removed target's running stream; an unchanged target keeps its connection", async () => {
  const ports: (number | undefined)[] = [];
  const finish = Promise.withResolvers<void>();
  const base = await startHttp((request, response) => {
    ports.push(request.socket.remotePort);
    response.writeHead(200).write('first');
    if (request.url === '/stream') void finish.promise.then(() => response.end(' last'));
    else response.end();
  });
  const upstreams = startUpstreams();
  const [kept, gone] = [targetAt(base, { id: 'r/kept' }), targetAt(base, { id: 'r/gone' })];
  await readAll((await upstreams.send(kept, requestOf({ path: '/' }))).body);
  const running = await upstreams.send(gone, requestOf({ path: '/stream', stream: true }));
  upstreams.retain(new Map([[kept.id, kept]]));
  finish.resolve();
  assert.equal(await readAll(running.body), 'first last');
  await readAll((await upstreams.send(kept, requestOf({ path: '/' }))).body);
  assert.equal(ports[0], ports[2]);
});

test('waits for running calls at close, and refuses new ones', async () => {
  const finish = Promise.withResolvers<void>();
  const base = await startHttp((_request, response) => {
    response.writeHead(200).write('first');
    void finish.promise.then(() => response.end());
  });
  const upstreams = startUpstreams();
  const answer = await upstreams.send(targetAt(base), requestOf({ stream: true }));
  let closed = false;
  const closing = upstreams.close().finally(() => {
    closed = true;
  });
  await assert.rejects(upstreams.send(targetAt(base), requestOf()), failsWith('Connect'));
  assert.equal(closed, false);
  finish.resolve();
  assert.equal(await readAll(answer.body), 'first');
  await closing;
});

test('sends no request after an aborted one on its connection, even if it may be sent twice', async () => {
  const connections: number[] = [];
  const arrived = Promise.withResolvers<void>();
  const base = await startRaw((socket, request, connection) => {
    connections.push(connection);
    if (request.startsWith('GET /whole')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    else arrived.resolve();
  });
  const upstreams = startUpstreams();
  const target = targetAt(base);
  const left = new AbortController();
  const silent = upstreams.send(
    target,
    requestOf({ method: 'GET', path: '/silent', body: undefined, signal: left.signal }),
  );
  await arrived.promise;
  left.abort();
  await assert.rejects(silent, failsWith('Aborted'));
  const answer = await upstreams.send(target, requestOf({ method: 'GET', path: '/whole', body: undefined }));
  assert.equal(await readAll(answer.body), 'ok');
  assert.deepEqual(connections, [1, 2]);
});

test('removes its listeners from a signal that outlives the calls', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  const base = await startHttp((_request, response) => {
    response.end('ok');
  });
  const upstreams = startUpstreams();
  const { signal } = new AbortController();
  await Promise.all(
    Array.from({ length: 30 }, async () => readAll((await upstreams.send(targetAt(base), requestOf({ signal }))).body)),
  );
  await setImmediate();
  process.off('warning', onWarning);
  assert.deepEqual(warnings, []);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('closes an idle connection before the provider does, and does not use one that is about to close', async () => {
  const closed = Promise.withResolvers<void>();
  const connections = new Set<Socket>();
  const base = await startRaw((socket, request) => {
    if (!connections.has(socket)) socket.once('close', closed.resolve);
    connections.add(socket);
    // undici subtracts two seconds from the provider's value
    const seconds = request.startsWith('POST /short') ? 2 : 3;
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\nkeep-alive: timeout=${seconds}\r\n\r\nok`);
  });
  const upstreams = startUpstreams();
  const target = targetAt(base);
  await readAll((await upstreams.send(target, requestOf({ path: '/long' }))).body);
  await closed.promise;
  for (let calls = 0; calls < 2; calls++)
    await readAll((await upstreams.send(target, requestOf({ path: '/short' }))).body);
  assert.equal(connections.size, 3);
});
