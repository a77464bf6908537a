/** The demo provider's prompt cache: the beginnings of conversations that it has seen, for as long as it runs. */
import { createHash } from 'node:crypto';

const MOST_ENTRIES = 1_000;

export interface PromptCache {
  /** Returns whether this beginning was seen before, and adds it. */
  seen(beginning: readonly string[]): boolean;
}

export function createPromptCache(): PromptCache {
  const entries = new Set<string>();
  return {
    seen(beginning) {
      const key = createHash('sha256').update(JSON.stringify(beginning)).digest('base64');
      if (entries.has(key)) return true;
      entries.add(key);
      const oldest = entries.values().next();
      if (entries.size > MOST_ENTRIES && !oldest.done) entries.delete(oldest.value);
      return false;
    },
  };
}
