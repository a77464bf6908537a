/** Connections of a channel: one request at a time on each, taken again whatever became of the request. */
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Exchange } from '../../../dataplane/upstream/exchange.ts';
import { UpstreamPool } from '../../../dataplane/upstream/pool.ts';
import { atTurnsEnd } from '../../../dataplane/turn.ts';
import { burst, OPTIONS, rest, send, startHolding, TIMEOUTS } from './pool-calls.ts';
import { readAll, startHttp, startRaw } from './provider.ts';


test('has as many clients as there were requests at a time, and uses the latest first', async () => {
  const { base, held, ports } = await startHolding();
  const pool = new UpstreamPool(base, OPTIONS);
  const running = Array.from({ length: 3 }, () => send(pool, '/held'));
  while (held.length < 3) await turn();
  for (const answer of held) answer();
  for (const { head } of running) await readAll((await head).body);
  await rest();
  assert.equal(pool.size, 3);
  ports.length = 0;
  for (let calls = 0; calls < 5; calls++) await burst(pool, 1);
  assert.equal(new Set(ports).size, 1);
  assert.equal(pool.size, 3);
  await pool.close();
});

test('a client whose answer has come is free for the requests of the same turn', async () => {
  const base = await startHttp((_request, response) => response.end('ok'));
  const pool = new UpstreamPool(base, OPTIONS);
  for (let calls = 0; calls < 5; calls++) {
    await readAll((await send(pool, '/').head).body);
    await new Promise<void>(atTurnsEnd);
  }
  assert.equal(pool.size, 1);
  await pool.close();
});

test('requests on connections that were used wait together until the system was asked once more', async () => {
  const base = await startHttp((_request, response) => response.end('ok'));
  const pool = new UpstreamPool(base, OPTIONS);
  await burst(pool, 5);
  const scheduled = mock.method(globalThis, 'setImmediate');
  const running = Array.from({ length: 5 }, () => send(pool, '/'));
  assert.equal(scheduled.mock.callCount(), 1);
  await turn();
  // and by undici they do not wait again
  assert.equal(scheduled.mock.callCount(), 1);
  mock.restoreAll();
  for (const { head } of running) await readAll((await head).body);
  assert.equal(pool.size, 5);
  await pool.close();
});

test('a connection that has just answered is not written to with those that wait already', async () => {
  const { base, held: answers } = await startHolding();
  const pool = new UpstreamPool(base, OPTIONS);
  const held = new Exchange({ stream: true, timeouts: TIMEOUTS, signal: new AbortController().signal });
  pool.dispatch({ method: 'POST', path: '/held', body: 'x' }, held);
  await burst(pool, 1);
  while (answers.length === 0) await turn();
  for (const answer of answers) answer();
  await readAll((await held.head).body);
  // its client is given back with the next step of the turn
  const scheduled = mock.method(globalThis, 'setImmediate');
  const first = send(pool, '/');
  assert.equal(scheduled.mock.callCount(), 1);
  await new Promise<void>(atTurnsEnd);
  const second = send(pool, '/');
  const count = scheduled.mock.callCount();
  mock.restoreAll();
  assert.deepEqual([count, pool.size], [2, 2]);
  for (const { head } of [first, second]) await readAll((await head).body);
  await pool.close();
});

test('a request that is given up before it is written leaves its connection to the next', async () => {
  const connections: number[] = [];
  const base = await startRaw((socket, _request, connection) => {
    connections.push(connection);
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
  });
  const pool = new UpstreamPool(base, OPTIONS);
  await burst(pool, 1);
  const left = new AbortController();
  const silent = send(pool, '/', left.signal);
  left.abort();
  await assert.rejects(silent.head, { kind: 'Aborted' });
  await rest();
  await rest();
  assert.equal(await readAll((await send(pool, '/').head).body), 'ok');
  assert.deepEqual([connections, pool.size], [[1, 1], 1]);
  await pool.close();
});

test('closes after a request that waits to be written', async () => {
  const base = await startHttp((_request, response) => response.end('ok'));
  const pool = new UpstreamPool(base, OPTIONS);
  await burst(pool, 1);
  const { head } = send(pool, '/');
  const closed = pool.close();
  assert.equal(await readAll((await head).body), 'ok');
  await closed;
});

test('gets a client back whose request failed, was given up or never connected', async () => {
  const base = await startRaw((socket, request) => {
    if (request.includes('/cut')) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf');
    else if (request.includes('/whole')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
  });
  const pool = new UpstreamPool(base, OPTIONS);
  await assert.rejects(send(pool, '/cut').head.then(({ body }) => readAll(body)), { kind: 'Cut' });
  await rest();
  const left = new AbortController();
  const silent = send(pool, '/silent', left.signal);
  await rest();
  left.abort();
  await assert.rejects(silent.head, { kind: 'Aborted' });
  await rest();
  assert.equal(await readAll((await send(pool, '/whole').head).body), 'ok');
  assert.equal(pool.size, 1);
  await pool.close();

  const nowhere = new UpstreamPool('http://127.0.0.1:1', OPTIONS);
  for (let calls = 0; calls < 3; calls++) {
    await assert.rejects(send(nowhere, '/').head, { kind: 'Connect' });
    await rest();
  }
  assert.equal(nowhere.size, 1);
  await nowhere.close();
});

test('a request that is given up is not followed on its connection, whatever may be sent twice', async () => {
  const connections: number[] = [];
  const base = await startRaw((socket, request, connection) => {
    connections.push(connection);
    if (request.startsWith('GET /whole')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
  });
  const pool = new UpstreamPool(base, OPTIONS);
  const get = (path: string, signal: AbortSignal): Exchange => {
    const exchange = new Exchange({ stream: false, timeouts: TIMEOUTS, signal });
    pool.dispatch({ method: 'GET', path, body: null }, exchange);
    return exchange;
  };
  const left = new AbortController();
  const silent = get('/silent', left.signal);
  while (connections.length === 0) await turn();
  left.abort();
  await assert.rejects(silent.head, { kind: 'Aborted' });
  await turn();
  assert.equal(await readAll((await get('/whole', new AbortController().signal).head).body), 'ok');
  assert.deepEqual([connections, pool.size], [[1, 2], 1]);
  await pool.close();
});

test('closes once its requests are over', async () => {
  let finish: (() => void) | undefined;
  const base = await startHttp((_request, response) => {
    response.write('first');
    finish = () => response.end(' last');
  });
  const pool = new UpstreamPool(base, OPTIONS);
  const { body } = await send(pool, '/').head;
  const closed = pool.close();
  finish?.();
  assert.equal(await readAll(body), 'first last');
  await closed;
});
