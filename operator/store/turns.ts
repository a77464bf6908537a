/** [P] Work that is done one piece after the other: each change is made to what the one before has left. */

/** Begins a piece once those before it have ended, well or badly; its outcome is for whoever asked. */
export function takeTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => undefined); // whoever asked is told
    return next;
  };
}
