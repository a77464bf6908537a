/**
 * Counts what must end before a server closes: responses until their clients have received them, and calls until they
 * are settled, which is later if the client has left.
 */

export interface InFlight {
  /** Counts one more, until the returned function is called. */
  begin(): () => void;
  /** Resolves when nothing is in flight. */
  ended(): Promise<void>;
}

export function createInFlight(): InFlight {
  let count = 0;
  const waiting: (() => void)[] = [];
  const end = (): void => {
    if (--count > 0) return;
    for (const resolve of waiting.splice(0)) resolve();
  };
  return {
    begin() {
      count++;
      return end;
    },
    ended: () =>
      count === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push(resolve);
          }),
  };
}
