/** [P] Mutual exclusion of asynchronous work: each function starts after the previous one has ended. */

/**
 * Runs a function after the earlier ones have ended, whether or not they failed. Resolves or rejects as the function
 * does.
 */
type Mutex = <T>(work: () => Promise<T>) => Promise<T>;

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => undefined); // its own caller gets the error
    return next;
  };
}
