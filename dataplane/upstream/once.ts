/**
 * A request's body that can be taken once. undici keeps what it was given until the answer's last byte, which for a stream is
 * minutes after the body was sent; a context has megabytes.
 */
import type { Dispatcher } from 'undici';

type SentBody = NonNullable<Dispatcher.DispatchOptions['body']> | null;

/** From here on the bytes are worth a few steps more. */
const LARGE_BYTES = 64 * 1024;

/** What undici is to send, and how long it is where undici cannot tell. */
export function sendOnce(body: Uint8Array | undefined): { readonly body: SentBody; readonly length?: number } {
  if (body === undefined || body.length < LARGE_BYTES) return { body: body ?? null };
  const once: unknown = new OnceBody(body);
  // an iterable is one of undici's bodies, if only by its documentation: its types for dispatch leave it out
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { body: once as SentBody, length: body.length };
}

class OnceBody implements Iterable<Uint8Array>, Iterator<Uint8Array, undefined> {
  #bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<Uint8Array, undefined> {
    const value = this.#bytes;
    this.#bytes = undefined;
    return value ? { done: false, value } : { done: true, value: undefined };
  }
}
