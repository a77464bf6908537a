/** A reply that fills silence with pings. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, vi } from 'vitest';
import type { ClientReply } from '../../../../dataplane/pipeline/context.ts';
import { PingingReply } from '../../../../dataplane/pipeline/pinging-reply.ts';

const AFTER_MS = 10_000;
const PING = Buffer.from('ping');
const DATA = Buffer.from('data');

/** A reply whose socket is full until `drain` is called. */
class SlowReply implements ClientReply {
  readonly written: string[] = [];
  readonly gone = false;
  readonly left = new AbortController().signal;
  started = false;
  isFull = false;
  drain: () => void = () => undefined;

  send(): void {
    this.started = true;
  }
  start(): void {
    this.started = true;
  }
  write(bytes: Uint8Array): Promise<void> | undefined {
    this.written.push(Buffer.from(bytes).toString());
    return this.isFull ? new Promise((resolve) => (this.drain = resolve)) : undefined;
  }
  end(): void {}
  fail(): number {
    return 500;
  }
}

function createScene(): { readonly reply: SlowReply; readonly pinging: PingingReply } {
  const reply = new SlowReply();
  const pinging = new PingingReply(reply);
  pinging.keepAlive({ afterMs: AFTER_MS, headers: () => ({}), ping: () => PING });
  return { reply, pinging };
}

describe('a reply that fills silence', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('starts and pings as long as nothing is written', async () => {
    const { reply } = createScene();
    await vi.advanceTimersByTimeAsync(AFTER_MS - 1);
    assert.deepEqual([reply.started, reply.written], [false, []]);
    await vi.advanceTimersByTimeAsync(1 + AFTER_MS);
    assert.deepEqual([reply.started, reply.written], [true, ['ping', 'ping']]);
  });

  it('sends no ping to a client that has not read the last bytes, and goes on once it has', async () => {
    const { reply, pinging } = createScene();
    reply.isFull = true;
    void pinging.write(DATA);
    await vi.advanceTimersByTimeAsync(3 * AFTER_MS);
    assert.deepEqual(reply.written, ['data']);
    reply.isFull = false;
    reply.drain();
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    assert.deepEqual(reply.written, ['data', 'ping']);
  });

  it('goes on after a ping that filled the socket', async () => {
    const { reply } = createScene();
    reply.isFull = true;
    await vi.advanceTimersByTimeAsync(2 * AFTER_MS);
    assert.deepEqual(reply.written, ['ping']);
    reply.drain();
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    assert.deepEqual(reply.written, ['ping', 'ping']);
  });

  for (const how of ['stop', 'end'] as const)
    it(`sends nothing after ${how}`, async () => {
      const { reply, pinging } = createScene();
      if (how === 'stop') pinging.stop();
      else pinging.end(DATA);
      await vi.advanceTimersByTimeAsync(3 * AFTER_MS);
      assert.deepEqual([reply.started, reply.written], [false, []]);
    });
});
