/**
 * One attempt to pass a request to the fleet and its answer back. It is undici's handler: bytes go from connection to connection
 * as they come, and the slower side stops the faster one.
 *
 * Order: onRequestStart (there is a connection) → onResponseStart (head) → onResponseData* → onResponseEnd, or onResponseError
 * at any point. An app that leaves ends the connection to the fleet; a fleet that breaks off ends the app's.
 */
import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { toApp } from './headers.ts';
import type { AnswerHeaders } from './headers.ts';

/**
 * How it ended. NoConnection: nothing has been sent. Broken: something may have been, and no answer came. Cut: the answer was broken
 * off. Left: the app did not wait.
 */
export type Ending =
  | { readonly end: 'Answered' | 'Left' }
  | { readonly end: 'NoConnection' | 'Broken' | 'Cut'; readonly error: Error };

export interface PassageEvents {
  /** The head of the answer is here. */
  readonly onHead: () => void;
  readonly onBytes: (bytes: number) => void;
}

type Stage = 'Waiting' | 'Sent' | 'Answer' | 'Over';

export class Passage implements Dispatcher.DispatchHandler {
  /** Settles once, and never rejects. */
  readonly ended: Promise<Ending>;
  readonly #response: ServerResponse;
  readonly #events: PassageEvents;
  readonly #end: (ending: Ending) => void;
  #stage: Stage = 'Waiting';
  /** Fields after the body were announced. */
  #trails = false;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(response: ServerResponse, events: PassageEvents) {
    this.#response = response;
    this.#events = events;
    ({ promise: this.ended, resolve: this.#end } = Promise.withResolvers<Ending>());
  }

  /** The app has left. Before there is a connection, nothing can be taken back: nothing will be sent on it. */
  leave(): void {
    if (this.#stage === 'Over') return;
    this.#finish({ end: 'Left' });
    this.#controller?.abort(new Error('the app has left'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#stage === 'Over') return controller.abort(new Error('the app has left'));
    this.#controller = controller;
    this.#stage = 'Sent';
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (status < 200 || this.#stage !== 'Sent') return;
    this.#stage = 'Answer';
    this.#events.onHead();
    const response = this.#response;
    const mayTrail = headers['content-length'] === undefined && response.req.httpVersion === '1.1' && response.req.method !== 'HEAD' && status !== 204 && status !== 304;
    const head = toApp(headers, mayTrail);
    this.#trails = 'trailer' in head;
    response.writeHead(status, head);
    // a stream's first event may be a while away
    response.flushHeaders();
    response.on('drain', () => { if (controller.paused) controller.resume(); });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stage !== 'Answer') return;
    this.#events.onBytes(chunk.length);
    if (!this.#response.write(chunk)) controller.pause();
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailers: AnswerHeaders): void {
    if (this.#stage !== 'Answer') return;
    const response = this.#response;
    if (this.#trails) response.addTrailers(toApp(trailers, false));
    response.end();
    this.#finish({ end: 'Answered' });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#stage === 'Over') return;
    const end = this.#stage === 'Waiting' ? 'NoConnection' : this.#stage === 'Sent' ? 'Broken' : 'Cut';
    // an answer without its end: the app must not take it for whole
    if (end === 'Cut') this.#response.destroy();
    this.#finish({ end, error });
  }

  #finish(ending: Ending): void {
    this.#stage = 'Over';
    this.#end(ending);
  }
}
