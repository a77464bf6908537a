/** What becomes of a channel's connections that nobody needs. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { UpstreamPool } from '../../../dataplane/upstream/pool.ts';
import { moveClock } from '../../support/moved-clock.ts';
import { burst, OPTIONS as POOL_OPTIONS, rest, send, startHolding } from './pool-calls.ts';
import { readAll, startRaw } from './provider.ts';

const IDLE_MS = 4000;
const OPTIONS = { ...POOL_OPTIONS, keepAliveTimeout: IDLE_MS };

const clock = moveClock();

/** By what the network does, which needs no clock. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

/** Answers of two bytes; tells which connections are open. */
async function startCounted(head: (path: string) => string = () => '') {
  const open = new Set<Socket>();
  let used = new Set<number>();
  const base = await startRaw((socket, request, connection) => {
    if (!open.has(socket)) socket.once('close', () => open.delete(socket));
    open.add(socket);
    used.add(connection);
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n${head(request.split(' ')[1] ?? '')}\r\nok`);
  });
  return {
    base, open,
    /** Connections that requests came on since it was asked last. */
    used: (): number => {
      const { size } = used;
      used = new Set();
      return size;
    },
  };
}

test('gives up what a burst needed and nothing needs since, and keeps what is used', async () => {
  const { base, open, used } = await startCounted();
  const pool = new UpstreamPool(base, OPTIONS);
  await burst(pool, 5);
  assert.deepEqual([pool.size, open.size, used()], [5, 5, 5]);
  for (let calls = 0; calls < 4; calls++) {
    clock.tick(IDLE_MS / 4 - 1);
    await burst(pool, 1);
  }
  assert.equal(pool.size, 5);
  clock.tick(4);
  await until(() => open.size === 1);
  assert.equal(pool.size, 1);
  await burst(pool, 1);
  assert.equal(used(), 1);
  // used again, it has all of its time again
  clock.tick(IDLE_MS - 1);
  assert.equal(pool.size, 1);
  clock.tick(1);
  assert.equal(pool.size, 0);
  await until(() => open.size === 0);
  await burst(pool, 1);
  assert.equal(pool.size, 1);
  await pool.close();
  await until(() => open.size === 0);
});

test('never gives up what is at work, however long that takes', async () => {
  const { base, held } = await startHolding();
  const pool = new UpstreamPool(base, OPTIONS);
  for (let calls = 1; calls <= 2; calls++) {
    const running = send(pool, '/held');
    await until(() => held.length === calls);
    clock.tick(IDLE_MS * 10);
    assert.equal(pool.size, 1);
    held.at(-1)?.();
    assert.equal(await readAll((await running.head).body), 'ok');
    await rest();
  }
  await pool.close();
});

test('gives up a client whose provider has closed its connection', async () => {
  const base = await startRaw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
  const pool = new UpstreamPool(base, OPTIONS);
  await burst(pool, 3);
  assert.equal(pool.size, 3);
  clock.tick(IDLE_MS);
  assert.equal(pool.size, 0);
  await pool.close();
});

test('closes an idle connection before its provider does, where that says when', async () => {
  const { base, open } = await startCounted((path) => path === '/' ? '' : `keep-alive: timeout=${path.slice(1)}\r\n`);
  const pool = new UpstreamPool(base, OPTIONS);
  // undici takes two seconds less than the provider says
  await burst(pool, 1, '/3');
  clock.tick(999);
  assert.equal(pool.size, 1);
  clock.tick(1);
  assert.equal(pool.size, 0);
  await until(() => open.size === 0);
  // and does not use the connection again where nothing is left
  await burst(pool, 1, '/2');
  await until(() => open.size === 0);
  // what was said in one answer is not true of the next
  await burst(pool, 1, '/3');
  await burst(pool, 1, '/');
  clock.tick(IDLE_MS - 1);
  assert.equal(open.size, 1);
  clock.tick(1);
  await until(() => open.size === 0);
  await pool.close();
});

test('keeps nobody when it is idle, and sets no timer for a call', async () => {
  const { base } = await startCounted();
  const pool = new UpstreamPool(base, OPTIONS);
  await burst(pool, 2);
  assert.equal(clock.keeping, 0);
  const before = clock.set;
  for (let calls = 0; calls < 50; calls++) await burst(pool, 1);
  assert.equal(clock.set, before);
  assert.equal(clock.keeping, 0);
  await pool.close();
});

test('what is free when it closes is forgotten, what is at work then is not taken back', async () => {
  const { base, held } = await startHolding();
  const pool = new UpstreamPool(base, OPTIONS);
  await burst(pool, 2);
  clock.tick(IDLE_MS / 2);
  assert.equal(pool.size, 2);
  const late = send(pool, '/held');
  await until(() => held.length > 0);
  const closed = pool.close();
  for (const answer of held) answer();
  assert.equal(await readAll((await late.head).body), 'ok');
  await closed;
  await rest();
  clock.tick(IDLE_MS * 2);
  assert.equal(pool.size, 2);
});
