/**
 * Counts tokens with a tokenizer library on a worker thread, where keys take turns. It always returns a count: a long
 * text is counted in part and extrapolated, and if the thread fails or too many counts wait, four bytes count as a
 * token.
 */
import { createFairWorker } from '../fair-worker.ts';
import type { FairWorkerOptions } from '../fair-worker.ts';
import type { CountReply, CountRequest } from './messages.ts';
import { truncateTexts } from './slices.ts';

export interface Tokenizer {
  /**
   * Counts the tokens of all texts, in OpenAI's vocabulary o200k_base. Never rejects. @param key counts for different
   * keys take turns
   */
  count(key: string, texts: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

export type TokenizerOptions = Pick<FairWorkerOptions, 'onFault' | 'idleMs'>;

/** The most UTF-16 units that one count reads. The rest is assumed to resemble the beginning. */
const MAX_LENGTH = 1_000_000;
/** The most counts that wait for the thread, each of which takes half a second at most. */
const MAX_OF_KEY = 4;
const MAX_IN_ALL = 64;
const UNITS_PER_TOKEN = 4;

export function createTokenizer(options: TokenizerOptions): Tokenizer {
  const module = new URL('./worker.ts', import.meta.url);
  const worker = createFairWorker<CountRequest, CountReply>({
    ...options,
    module,
    maxOfKey: MAX_OF_KEY,
    maxInAll: MAX_IN_ALL,
  });
  return {
    async count(key, texts) {
      const length = texts.reduce((sum, text) => sum + text.length, 0);
      if (length === 0) return 0;
      const reply = await worker.run(key, { texts: truncateTexts(texts, MAX_LENGTH) });
      if (reply && reply.length > 0) return Math.ceil((reply.tokens * length) / reply.length);
      return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / UNITS_PER_TOKEN);
    },
    close: () => worker.close(),
  };
}
