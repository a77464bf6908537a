import assert from 'node:assert/strict';
import { test, vi } from 'vitest';
import { Exchange } from '../../../../dataplane/upstream/exchange.ts';
import type { UpstreamFailure } from '../../../../dataplane/upstream/upstream.ts';
import { moveClock } from '../../../support/moved-clock.ts';
import { text } from './provider.ts';

const TIMEOUTS = { connectMs: 50, firstByteMs: 1000, wholeMs: 3000, idleMs: 200 };

function controllerOf(exchange: Exchange) {
  return {
    aborted: false,
    paused: false,
    reason: null as Error | null,
    abort(reason: Error) {
      if (!this.aborted) {
        this.aborted = true;
        exchange.onResponseError(null, reason);
      }
    },
    pause() {
      this.paused = true;
    },
    resume() {
      this.paused = false;
    },
  };
}

function start(stream: boolean, signal: AbortSignal = new AbortController().signal) {
  const exchange = new Exchange({
    stream,
    timeouts: TIMEOUTS,
    signal,
    memory: { take: () => true, giveBack: () => undefined },
  });
  const controller = controllerOf(exchange);
  return { exchange, controller };
}

const kindOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no failure',
    (failure: UpstreamFailure) => failure.kind,
  );

const clock = moveClock();

test('a stream has no total timeout while it is never silent for longer than idleMs', async () => {
  const { exchange, controller } = start(true);
  exchange.onRequestStart(controller);
  clock.tick(900);
  exchange.onResponseStart(controller, 200, {});
  assert.equal((await exchange.response).status, 200);
  clock.tick(99);
  for (let i = 0; i < 40; i++) {
    exchange.onResponseData(controller, Buffer.from('x'));
    assert.equal(text(await exchange.next()), 'x');
    clock.tick(199);
  }
  clock.tick(1);
  assert.equal(await kindOf(exchange.next()), 'Idle');
  assert.equal(controller.aborted, true);
});

test('a stream that pauses has idleMs from its latest byte', async () => {
  const { exchange, controller } = start(true);
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  for (const waitMs of [0, 150, 30]) {
    clock.tick(waitMs);
    exchange.onResponseData(controller, Buffer.from('x'));
    assert.equal(text(await exchange.next()), 'x');
  }
  const next = kindOf(exchange.next());
  clock.tick(20);
  clock.tick(178);
  assert.equal(controller.aborted, false);
  clock.tick(2);
  assert.equal(await next, 'Idle');
});

test('the first byte of a stream counts, not its headers', async () => {
  const { exchange, controller } = start(true);
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  const next = kindOf(exchange.next());
  clock.tick(1000);
  assert.equal(await next, 'Timeout');
});

test('a whole response has wholeMs in total, however it is spread', async () => {
  const { exchange, controller } = start(false);
  exchange.onRequestStart(controller);
  clock.tick(1500);
  exchange.onResponseStart(controller, 200, {});
  exchange.onResponseData(controller, Buffer.from('half'));
  clock.tick(1500);
  assert.equal(text(await exchange.next()), 'half');
  assert.equal(await kindOf(exchange.next()), 'Timeout');
});

test('a timeout before the connection is a Connect failure, and the request is never written', async () => {
  const { exchange, controller } = start(false);
  const failed = kindOf(exchange.response);
  clock.tick(3000);
  assert.equal(await failed, 'Connect');
  exchange.onRequestStart(controller);
  assert.equal(controller.aborted, true);
});

test("a slow reader pauses the socket, and the provider's silence then does not count", async () => {
  const { exchange, controller } = start(true);
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  for (let i = 0; i < 4; i++) exchange.onResponseData(controller, Buffer.alloc(64 * 1024));
  assert.equal(controller.paused, true);
  clock.tick(100_000);
  assert.equal((await exchange.next()).value?.length, 256 * 1024);
  assert.equal(controller.paused, false);
  clock.tick(199);
  exchange.onResponseData(controller, Buffer.from('more'));
  assert.equal(text(await exchange.next()), 'more');
  clock.tick(200);
  assert.equal(await kindOf(exchange.next()), 'Idle');
});

test('bytes that arrive together are read together, also by a waiting reader', async () => {
  const { exchange, controller } = start(true);
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  const waiting = exchange.next();
  for (const piece of ['a', 'b', 'c']) exchange.onResponseData(controller, Buffer.from(piece));
  exchange.onResponseEnd();
  assert.equal(text(await waiting), 'abc');
  assert.deepEqual(await exchange.next(), { done: true, value: undefined });
});

test('data before a break is read before the failure is reported', async () => {
  const { exchange, controller } = start(true);
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  exchange.onResponseData(controller, Buffer.from('seen'));
  exchange.onResponseError(controller, new Error('gone'));
  assert.equal(text(await exchange.next()), 'seen');
  assert.equal(await kindOf(exchange.next()), 'Cut');
  assert.equal(await kindOf(exchange.next()), 'Cut');
});

test('no timer and no listener is left behind, however it ends', async () => {
  const endings: ((exchange: Exchange, controller: ReturnType<typeof controllerOf>) => unknown)[] = [
    (exchange) => exchange.onResponseEnd(),
    (exchange, controller) => exchange.onResponseError(controller, new Error('gone')),
    (exchange) => exchange.return(),
    () => {
      clock.tick(1000);
      return new Promise(setImmediate);
    },
  ];
  for (const end of endings) {
    const abort = new AbortController();
    let listeners = 0;
    vi.spyOn(abort.signal, 'addEventListener').mockImplementation(() => {
      listeners++;
    });
    vi.spyOn(abort.signal, 'removeEventListener').mockImplementation(() => {
      listeners--;
    });
    const { exchange, controller } = start(true, abort.signal);
    exchange.onRequestStart(controller);
    exchange.onResponseStart(controller, 200, {});
    assert.equal(listeners, 1);
    assert.equal(clock.keeping, 1);
    await end(exchange, controller);
    assert.equal(listeners, 0);
    assert.equal(clock.keeping, 0);
    const settled = await kindOf(exchange.next());
    assert.equal(await kindOf(exchange.next()), settled);
  }
});

test('a failure after the end changes nothing', async () => {
  const { exchange, controller } = start(true);
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  exchange.onResponseEnd();
  exchange.onResponseError(null, new Error('gone'));
  clock.tick(100_000);
  assert.deepEqual(await exchange.next(), { done: true, value: undefined });
  assert.equal(controller.aborted, false);
});

test('a paused stream whose timeout passes continues, and has idleMs from then on', async () => {
  const { exchange, controller } = start(true);
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  exchange.onResponseData(controller, Buffer.alloc(256 * 1024));
  clock.tick(200);
  clock.tick(200);
  await exchange.next();
  const next = kindOf(exchange.next());
  clock.tick(199);
  assert.equal(controller.aborted, false);
  clock.tick(1);
  assert.equal(await next, 'Idle');
});

test('what came while the process stood still counts, although the timer is due before it is read', async () => {
  for (const stream of [true, false]) {
    const { exchange, controller } = start(stream);
    exchange.onRequestStart(controller);
    clock.tick(stream ? 1000 : 3000);
    exchange.onResponseStart(controller, 200, {});
    exchange.onResponseData(controller, Buffer.from('late'));
    exchange.onResponseEnd();
    assert.equal((await exchange.response).status, 200);
    assert.equal(text(await exchange.next()), 'late');
    assert.equal((await exchange.next()).done, true);
    assert.equal(controller.aborted, false);
  }
});
