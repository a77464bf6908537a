/**
 * One request and its response: undici's dispatch handler, and at the same time the body that the caller reads.
 *
 * Order: onRequestStart (the request is being written) → onResponseStart (head) → onResponseData* → onResponseEnd, or
 * onResponseError at any point. A caller that reads more slowly than the provider sends pauses the socket.
 */
import type { Dispatcher } from 'undici';
import { decodeAnswer } from './decompress.ts';
import type { DecoderMemory } from './decompress.ts';
import { UpstreamFailure } from './upstream.ts';
import type { UpstreamFailureKind, UpstreamResponse, UpstreamTimeouts } from './upstream.ts';

/**
 * The bytes that may wait for the reader before the socket is paused; one read of the socket (64 KiB) may come on top.
 */
const QUEUE_BYTES = 256 * 1024;

export interface ExchangeOptions {
  readonly stream: boolean;
  readonly timeouts: UpstreamTimeouts;
  /** Not aborted yet. */
  readonly signal: AbortSignal;
  readonly memory: DecoderMemory;
}

type Stage = 'Connecting' | 'Sent' | 'Body' | 'Over';
type Controller = Dispatcher.DispatchController;
type Headers = Record<string, string | string[] | undefined>;
type Read = IteratorResult<Uint8Array, undefined>;

const DONE: Read = { done: true, value: undefined };

export class Exchange implements Dispatcher.DispatchHandler, AsyncIterableIterator<Uint8Array, undefined> {
  /**
   * Resolves when the head is there, with this exchange as the body; rejects with the UpstreamFailure that came before
   * it.
   */
  readonly response: Promise<UpstreamResponse>;
  readonly #resolvers = Promise.withResolvers<UpstreamResponse>();
  readonly #options: ExchangeOptions;
  #stage: Stage = 'Connecting';
  #controller: Controller | undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  /** The number of chunks received. */
  #chunks = 0;
  /** Wakes the reader that waits for the queue or for the end. */
  #wake: (() => void) | undefined;
  /** Why the exchange ended early. The reader gets it after what is still queued. */
  #failure: UpstreamFailure | undefined;
  #timer: NodeJS.Timeout;
  #sawByte = false;

  constructor(options: ExchangeOptions) {
    const { stream, timeouts, signal } = options;
    this.#options = options;
    this.response = this.#resolvers.promise;
    this.#timer = setTimeout(this.#onTimeout, stream ? timeouts.firstByteMs : timeouts.wholeMs);
    signal.addEventListener('abort', this.#onAbort);
  }

  onRequestStart(controller: Controller): void {
    // aborted while connecting: nothing is written
    if (this.#stage === 'Over') return controller.abort(this.#failure ?? new Error('given up'));
    this.#controller = controller;
    this.#stage = 'Sent';
  }

  onResponseStart(_controller: Controller, status: number, headers: Headers): void {
    if (status < 200 || this.#stage !== 'Sent') return;
    const response = decodeAnswer({ status, headers: joinRepeated(headers), body: this }, this.#options.memory);
    if (!response) return this.#fail(new UpstreamFailure('Reset', "the answer's content-encoding is unknown"));
    this.#stage = 'Body';
    this.#resolvers.resolve(response);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#stage !== 'Body') return;
    this.#chunks += 1;
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    this.#restartIdleTimer();
    if (this.#queuedBytes >= QUEUE_BYTES && !controller.paused) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    if (this.#stage === 'Body') this.#finish();
  }

  onResponseError(_controller: Controller | null, error: Error): void {
    this.#fail(failureOf(this.#stage, error));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Returns all queued bytes in one piece. Callers wait for one call before the next. */
  async next(): Promise<Read> {
    while (this.#queue.length === 0 && this.#stage !== 'Over')
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.#queue.length > 0) return { done: false, value: this.#takeQueue() };
    if (this.#failure) throw this.#failure;
    return DONE;
  }

  /** Called when the reader stops early: aborts the exchange. */
  return(): Promise<Read> {
    this.#clearQueue();
    this.#fail(new UpstreamFailure('Aborted', 'the rest of the answer was not wanted'));
    this.#failure = undefined;
    return Promise.resolve(DONE);
  }

  readonly #onAbort = (): void => {
    this.#clearQueue();
    this.#fail(new UpstreamFailure('Aborted', 'the exchange was aborted', undefined, this.#stage !== 'Connecting'));
  };

  /** After a process was suspended, its timers fire before it reads what has arrived, so it reads that first. */
  readonly #onTimeout = (): void => {
    const received = this.#chunks;
    setImmediate(() => {
      const { stream } = this.#options;
      // a paused provider cannot send; resuming restarts the timer, as a chunk does
      if (stream && (this.#controller?.paused === true || this.#chunks > received)) return;
      this.#fail(this.#timeoutFailure());
    });
  };

  #timeoutFailure(): UpstreamFailure {
    if (this.#stage === 'Connecting') return new UpstreamFailure('Connect', 'no connection to the provider in time');
    if (!this.#options.stream) return new UpstreamFailure('Timeout', 'the provider did not finish its answer in time');
    if (!this.#sawByte) return new UpstreamFailure('Timeout', 'the provider did not begin its answer in time');
    return new UpstreamFailure('Idle', 'the provider fell silent within its answer');
  }

  /** Restarts the idle timer of a stream; the first byte replaces the first-byte timer with it. */
  #restartIdleTimer(): void {
    const { stream, timeouts } = this.#options;
    if (!stream) return;
    if (this.#sawByte) {
      this.#timer.refresh();
      return;
    }
    this.#sawByte = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onTimeout, timeouts.idleMs);
  }

  #takeQueue(): Uint8Array {
    const [first] = this.#queue;
    const value = first && this.#queue.length === 1 ? first : Buffer.concat(this.#queue, this.#queuedBytes);
    this.#clearQueue();
    if (this.#stage === 'Body' && this.#controller?.paused === true) {
      this.#restartIdleTimer();
      this.#controller.resume();
    }
    return value;
  }

  #clearQueue(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#stage === 'Over') return;
    this.#failure = failure;
    this.#finish();
    // has no effect once the head has arrived
    this.#resolvers.reject(failure);
    this.#controller?.abort(failure);
  }

  #finish(): void {
    this.#stage = 'Over';
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#wake?.();
  }
}

const FAILURES: Readonly<Record<Stage, readonly [UpstreamFailureKind, string]>> = {
  Connecting: ['Connect', 'cannot connect to the provider'],
  Sent: ['Reset', 'the provider broke the connection off before it answered'],
  Body: ['Cut', 'the provider broke its answer off'],
  Over: ['Cut', 'the exchange is over'],
};

/** The error's code goes into the message. Its own message may name addresses, so it stays in the cause. */
function failureOf(stage: Stage, error: Error): UpstreamFailure {
  const [kind, message] = FAILURES[stage];
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return new UpstreamFailure(kind, message + code, error);
}

function joinRepeated(headers: Headers): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) joined[name] = typeof value === 'string' ? value : value.join(', ');
  return joined;
}
