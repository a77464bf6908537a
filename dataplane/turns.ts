/**
 * Turns at something of which few may run at a time: one of each name, and a limited number in all. Names that wait take
 * turns, so that a name with many waiting delays another by at most one.
 */

export interface Turns {
  /** Resolves when the turn has come. The caller must call the function that it gets, once, at the end. */
  take(name: string): Promise<() => void>;
}

/** `max` is the most turns at a time. */
export function createTurns(max: number): Turns {
  const running = new Set<string>();
  /** Those that wait, by name, in the order of the names' turns. */
  const waiting = new Map<string, (() => void)[]>();

  const startNext = (): void => {
    if (running.size >= max) return;
    const next = [...waiting].find(([name]) => !running.has(name));
    if (!next) return;
    const [name, queue] = next;
    const start = queue.shift();
    // the name goes to the end of the queue
    waiting.delete(name);
    if (queue.length > 0) waiting.set(name, queue);
    running.add(name);
    start?.();
    startNext();
  };

  return {
    take(name) {
      return new Promise((resolve) => {
        const queue = waiting.get(name) ?? [];
        const end = (): void => {
          running.delete(name);
          startNext();
        };
        queue.push(() => resolve(end));
        waiting.set(name, queue);
        startNext();
      });
    },
  };
}
