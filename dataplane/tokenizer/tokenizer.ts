/**
 * Counts tokens with a tokenizer's library, in a thread of its own, where keys take turns. It always answers: a text
 * that is too long is counted in part, and where the thread fails or too many counts wait, a token is taken for four
 * bytes.
 */
import { createFairWorker } from '../fair-worker.ts';
import type { FairWorkerOptions } from '../fair-worker.ts';
import type { CountReply, CountRequest } from './messages.ts';
import { truncateTexts } from './slices.ts';

export interface Tokenizer {
  /**
   * Tokens of the texts together, as a current vocabulary of OpenAI has them (o200k_base). Never rejects.
   * @param key counts for different keys take turns
   */
  count(key: string, texts: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

export type TokenizerOptions = Pick<FairWorkerOptions, 'onFault' | 'idleMs'>;

/** The most UTF-16 units that one count reads; the rest of the text is taken to be like the beginning. */
const MAX_LENGTH = 1_000_000;
/** Counts that wait for the thread; each takes half a second at most. */
const MAX_OF_KEY = 4;
const MAX_IN_ALL = 64;
const UNITS_PER_TOKEN = 4;

export function createTokenizer(options: TokenizerOptions): Tokenizer {
  const module = new URL('./worker.ts', import.meta.url);
  const worker = createFairWorker<CountRequest, CountReply>({
    ...options, module, maxOfKey: MAX_OF_KEY, maxInAll: MAX_IN_ALL,
  });
  return {
    async count(key, texts) {
      const length = texts.reduce((sum, text) => sum + text.length, 0);
      if (length === 0) return 0;
      const reply = await worker.run(key, { texts: truncateTexts(texts, MAX_LENGTH) });
      if (reply && reply.length > 0) return Math.ceil(reply.tokens * length / reply.length);
      return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / UNITS_PER_TOKEN);
    },
    close: () => worker.close(),
  };
}
