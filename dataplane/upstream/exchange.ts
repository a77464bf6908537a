/**
 * One request and its answer on an undici connection. It is at once undici's handler, the answer's body and the listener of the
 * abort signal, because this is where every byte of every call passes: one object per call, no timer of its own, no web streams.
 *
 * Order: onRequestStart (the request is being written) → onResponseStart (head) → onResponseData* → onResponseEnd, or
 * onResponseError at any point. Bytes that arrive in one read of the socket reach the reader in one piece. A reader that is
 * slower than the provider stops the socket at QUEUE_BYTES, and with it the provider.
 */
import type { Dispatcher } from 'undici';
import { NOWHERE, TimeLimits } from '../time-limits.ts';
import type { Limited } from '../time-limits.ts';
import { withAnswers } from '../turn.ts';
import { decodeAnswer } from './decompress.ts';
import { UpstreamFailure } from './upstream.ts';
import type { AbortWatch, UpstreamFailureKind, UpstreamResponse, UpstreamTimeouts } from './upstream.ts';

/** Bytes that wait for the reader before the socket is paused. One read of the socket (64 KiB) may come on top. */
const QUEUE_BYTES = 256 * 1024;

export interface ExchangeOptions {
  readonly stream: boolean;
  readonly timeouts: UpstreamTimeouts;
  readonly signal: AbortWatch;
}

interface Reader {
  resolve(result: IteratorResult<Uint8Array>): void;
  reject(failure: UpstreamFailure): void;
}

type Stage = 'Waiting' | 'Sent' | 'Body' | 'Over';

const SOON = Promise.resolve();
const IN_FLIGHT = new TimeLimits({ keepsProcess: true });
const nobody = (): void => undefined;
const DONE: IteratorResult<Uint8Array> = { done: true, value: undefined };

export class Exchange implements Dispatcher.DispatchHandler, AsyncIterableIterator<Uint8Array>, Limited {
  /** Settles once: with the answer's head and, as its body, this exchange; or with the failure that came before it. */
  readonly head: Promise<UpstreamResponse>;
  /** Called once, when undici is through with it, well or badly: its connection is free. */
  onEnd: () => void = nobody;
  dueMs = 0;
  place = NOWHERE;
  readonly #options: ExchangeOptions;
  readonly #resolvers: PromiseWithResolvers<UpstreamResponse>;
  #stage: Stage = 'Waiting';
  #controller: Dispatcher.DispatchController | undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #reader: Reader | undefined;
  #wakes = false;
  #sawByte = false;
  /** What ended the exchange badly; told to the reader after what is still queued. */
  #failure: UpstreamFailure | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#resolvers = Promise.withResolvers();
    this.head = this.#resolvers.promise;
    const { stream, timeouts, signal } = options;
    IN_FLIGHT.set(this, stream ? timeouts.firstByteMs : timeouts.wholeMs);
    if (signal.aborted) this.handleEvent();
    else signal.addEventListener('abort', this, { once: true });
  }

  /** It failed before it was sent: there is nothing to dispatch. */
  get over(): boolean { return this.#stage === 'Over'; }

  /** What is left of an answer that ended well; undefined: it has not ended, or ended badly. */
  takeRest(): Uint8Array | undefined {
    return this.#stage === 'Over' && this.#failure === undefined ? this.#take() : undefined;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // given up while the connection was being made: nothing is written
    if (this.#stage === 'Over') return controller.abort(this.#failure ?? new Error('given up'));
    this.#controller = controller;
    this.#stage = 'Sent';
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status < 200 || this.#stage !== 'Sent') return;
    const answer = decodeAnswer({ status, headers: joinRepeated(headers), body: this });
    if (!answer) return this.#fail(new UpstreamFailure('Reset', 'the provider answered in an unknown content-encoding'));
    this.#stage = 'Body';
    // a stream's events pass as they come
    if (this.#options.stream) this.#resolvers.resolve(answer);
    else withAnswers(() => this.#resolvers.resolve(answer));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stage !== 'Body') return;
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    this.#wake();
    if (this.#queuedBytes >= QUEUE_BYTES && !controller.paused) this.#pause(controller);
    else if (this.#options.stream) this.#heard();
  }

  onResponseEnd(): void {
    this.#giveBack();
    if (this.#stage !== 'Body') return;
    this.#finish();
    this.#wake();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#giveBack();
    this.#fail(failureOf(this.#stage, error));
  }

  /** The abort signal. */
  handleEvent(): void {
    this.#drop();
    this.#fail(new UpstreamFailure('Aborted', 'the exchange was aborted', undefined, this.#stage !== 'Waiting'));
  }

  [Symbol.asyncIterator](): this { return this; }

  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#queue.length > 0) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#stage !== 'Over') return new Promise((resolve, reject) => { this.#reader = { resolve, reject }; });
    return this.#failure ? Promise.reject(this.#failure) : Promise.resolve(DONE);
  }

  /** The reader left early: the provider is stopped. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#drop();
    this.#fail(new UpstreamFailure('Aborted', 'the answer was not wanted any more'));
    this.#failure = undefined;
    return Promise.resolve(DONE);
  }

  /** What nobody will read. */
  #drop(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #take(): Uint8Array {
    const [only] = this.#queue;
    const value = only && this.#queue.length === 1 ? only : Buffer.concat(this.#queue, this.#queuedBytes);
    this.#drop();
    if (this.#controller?.paused === true && this.#stage === 'Body') this.#resume(this.#controller);
    return value;
  }

  /** After the current read of the socket, so that all of its bytes go together. */
  #wake(): void {
    if (this.#wakes || !this.#reader) return;
    this.#wakes = true;
    // not queueMicrotask, which makes a resource of its own for whoever watches asynchronous work
    void SOON.then(() => this.#answer());
  }

  #answer(): void {
    this.#wakes = false;
    const reader = this.#reader;
    if (!reader) return;
    this.#reader = undefined;
    if (this.#queue.length > 0) reader.resolve({ done: false, value: this.#take() });
    else if (this.#failure) reader.reject(this.#failure);
    else reader.resolve(DONE);
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#stage === 'Over') return;
    const headless = this.#stage !== 'Body';
    this.#failure = failure;
    this.#finish();
    if (headless) this.#resolvers.reject(failure);
    this.#wake();
    this.#controller?.abort(failure);
  }

  #finish(): void {
    this.#stage = 'Over';
    IN_FLIGHT.clear(this);
    this.#options.signal.removeEventListener('abort', this);
  }

  /** undici tells of an error, too, where it was told of the end before. */
  #giveBack(): void {
    const { onEnd } = this;
    this.onEnd = nobody;
    onEnd();
  }

  /** While the reader is behind, the provider's silence is not its fault. */
  #pause(controller: Dispatcher.DispatchController): void {
    if (this.#options.stream) IN_FLIGHT.clear(this);
    this.#sawByte = true;
    controller.pause();
  }

  #resume(controller: Dispatcher.DispatchController): void {
    if (this.#options.stream) this.#heard();
    controller.resume();
  }

  /** The provider of a stream said something: from here on it may be silent for idleMs. */
  #heard(): void {
    this.#sawByte = true;
    IN_FLIGHT.set(this, this.#options.timeouts.idleMs);
  }

  /** Its time is up: which time that is depends on how far the exchange has come. */
  expire(): void {
    this.#fail(this.#expiry());
  }

  #expiry(): UpstreamFailure {
    if (this.#stage === 'Waiting') return new UpstreamFailure('Connect', 'no connection to the provider in time');
    if (!this.#options.stream) return new UpstreamFailure('Timeout', 'the provider did not finish its answer in time');
    if (!this.#sawByte) return new UpstreamFailure('Timeout', 'the provider did not begin its answer in time');
    return new UpstreamFailure('Idle', 'the provider fell silent within its answer');
  }
}

const WORDS: Readonly<Record<Stage, readonly [UpstreamFailureKind, string]>> = {
  Waiting: ['Connect', 'cannot connect to the provider'],
  Sent: ['Reset', 'the provider broke the connection off before it answered'],
  Body: ['Cut', 'the provider broke its answer off'],
  Over: ['Cut', 'the exchange is over'],
};

/** The error's code says what happened; its message may name addresses, so it stays in the cause. */
function failureOf(stage: Stage, error: Error): UpstreamFailure {
  const [kind, words] = WORDS[stage];
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return new UpstreamFailure(kind, words + code, error);
}

function joinRepeated(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  if (isJoined(headers)) return headers;
  const joined: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) joined[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return joined;
}

/** As nearly all are. */
function isJoined(headers: Record<string, string | string[] | undefined>): headers is Record<string, string> {
  for (const name of Object.keys(headers)) if (typeof headers[name] !== 'string') return false;
  return true;
}
