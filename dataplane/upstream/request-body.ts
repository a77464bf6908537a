/**
 * Prepares the body of a request for undici. undici keeps a buffer until the response has ended, which for a stream is
 * minutes after it was sent. A large body is therefore passed as an iterable, which releases its bytes once they are
 * read.
 */
import type { Dispatcher } from 'undici';

type Body = NonNullable<Dispatcher.DispatchOptions['body']> | null;

/** A smaller body is passed as a buffer, which undici sends in fewer steps. */
const LARGE_BYTES = 64 * 1024;

/** The caller sets content-length: undici does not know how long an iterable is. */
export function requestBody(body: Uint8Array | undefined): Body {
  if (body === undefined || body.length < LARGE_BYTES) return body ?? null;
  const iterable: unknown = readOnce(body);
  // undici's documentation names iterables among the bodies; its type of dispatch leaves them out
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return iterable as Body;
}

function readOnce(body: Uint8Array): Iterable<Uint8Array> {
  const left = [body];
  return {
    [Symbol.iterator]: () => ({
      next: () => {
        const value = left.pop();
        return value ? { done: false, value } : { done: true, value: undefined };
      },
    }),
  };
}
