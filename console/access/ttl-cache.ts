/**
 * A cache of asynchronous answers with a time to live. Concurrent questions are asked once; failures are not cached.
 */

export interface TtlCache<V> {
  /** The cached answer, or the one that `ask` gives. */
  get(key: string, ask: () => Promise<V>): Promise<V>;
  delete(key: string): void;
  clear(): void;
}

interface TtlCacheOptions<V> {
  readonly nowMs: () => number;
  /** How long an answer like this one is cached; 0: not at all. */
  readonly ttlMs: (answer: V) => number;
  /** Entries; one more clears the cache. */
  readonly maxEntries: number;
}

interface Entry<V> {
  readonly answer: Promise<V>;
  /** undefined: the answer is not there yet. */
  untilMs: number | undefined;
}

/** An empty cache. */
export function createTtlCache<V>({ nowMs, ttlMs, maxEntries }: TtlCacheOptions<V>): TtlCache<V> {
  const entries = new Map<string, Entry<V>>();
  const drop = (key: string, entry: Entry<V>): void => {
    if (entries.get(key) === entry) entries.delete(key);
  };

  async function add(key: string, ask: () => Promise<V>): Promise<V> {
    if (entries.size >= maxEntries) entries.clear();
    const entry: Entry<V> = { answer: ask(), untilMs: undefined };
    entries.set(key, entry);
    try {
      const answer = await entry.answer;
      const keptMs = ttlMs(answer);
      if (keptMs > 0) entry.untilMs = nowMs() + keptMs;
      else drop(key, entry);
      return answer;
    } catch (error) {
      drop(key, entry);
      throw error;
    }
  }

  return {
    get(key, ask) {
      const cached = entries.get(key);
      if (cached && (cached.untilMs === undefined || nowMs() < cached.untilMs)) return cached.answer;
      return add(key, ask);
    },
    delete: (key) => {
      entries.delete(key);
    },
    clear: () => entries.clear(),
  };
}
