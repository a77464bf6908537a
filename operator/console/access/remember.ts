/**
 * Answers that are kept for a moment. What is asked twice at once is asked once; an answer that could not be had is not kept, and
 * when there are too many of them all are forgotten.
 */

interface Remembered<V> {
  /** `keepMs`: how long an answer like this one holds. */
  get(key: string, ask: () => Promise<V>): Promise<V>;
  forget(): void;
}

interface Kept<V> {
  readonly answer: Promise<V>;
  /** Undefined: it is not there yet. */
  untilMs: number | undefined;
}

export function remember<V>({ nowMs, keepMs, most }: { readonly nowMs: () => number; readonly keepMs: (answer: V) => number; readonly most: number }): Remembered<V> {
  let kept = new Map<string, Kept<V>>();

  async function ask(key: string, question: () => Promise<V>): Promise<V> {
    if (kept.size >= most) kept = new Map();
    const within = kept;
    const entry: Kept<V> = { answer: question(), untilMs: undefined };
    within.set(key, entry);
    try {
      const answer = await entry.answer;
      entry.untilMs = nowMs() + keepMs(answer);
      return answer;
    } catch (error) {
      within.delete(key);
      throw error;
    }
  }

  return {
    get(key, question) {
      const known = kept.get(key);
      if (known && (known.untilMs === undefined || nowMs() < known.untilMs)) return known.answer;
      return ask(key, question);
    },
    forget() { kept = new Map(); },
  };
}

/** As Promise.all over a mapping, with so many at once. The first failure ends it. */
export async function mapSome<T, R>(items: readonly T[], atOnce: number, map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at];
      if (item !== undefined) results[at] = await map(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return results;
}
