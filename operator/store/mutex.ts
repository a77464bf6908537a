/** [P] Mutual exclusion of asynchronous work: each piece begins once the one before it has ended. */

/** Runs a piece of work once those before it have ended, well or badly; its outcome is the caller's alone. */
type Mutex = <T>(work: () => Promise<T>) => Promise<T>;

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => undefined); // whoever asked is told
    return next;
  };
}
