/**
 * Counts tokens with a tokenizer's library, in a thread of its own that is started when somebody asks and ended when nobody has
 * for a minute. It always answers: a text that is too long is counted in part, and where the thread cannot be had or is too busy,
 * a token is taken for four bytes.
 */
import { Worker } from 'node:worker_threads';
import type { CountReply } from './messages.ts';
import { truncateTexts } from './slices.ts';

export interface Tokenizer {
  /** Tokens of the texts together, as a current vocabulary of OpenAI has them (o200k_base). Never rejects. */
  count(texts: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

export interface TokenizerOptions {
  /** Told of a thread that could not be started, or ended by itself. */
  readonly onFault: (error: unknown) => void;
  /** After so long without a question the thread is ended. */
  readonly idleMs?: number;
}

interface Waiting {
  readonly answered: (answer: CountReply | undefined) => void;
}

/** Of one question; what is beyond is taken to be like what is before. In UTF-16 units. */
const MAX_LENGTH = 1_000_000;
/** Questions that wait for the thread; one takes half a second at most. */
const MAX_WAITING = 16;
const IDLE_MS = 60_000;
const UNITS_PER_TOKEN = 4;

export function createTokenizer({ onFault, idleMs = IDLE_MS }: TokenizerOptions): Tokenizer {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let latest = 0;
  let closed = false;

  const end = (of: Worker): void => {
    if (worker !== of) return;
    worker = undefined;
    clearTimeout(idle);
    for (const { answered } of waiting.values()) answered(undefined);
    waiting.clear();
  };
  const rest = (of: Worker): void => {
    clearTimeout(idle);
    idle = setTimeout(() => { end(of); void of.terminate(); }, idleMs);
    idle.unref();
  };
  const start = (): Worker => {
    const started = new Worker(new URL('./worker.ts', import.meta.url));
    started.unref();
    started.on('message', (answer: CountReply) => {
      waiting.get(answer.id)?.answered(answer);
      waiting.delete(answer.id);
      if (waiting.size === 0) rest(started);
    });
    started.on('error', (error) => onFault(error));
    started.on('exit', () => end(started));
    return started;
  };
  const ask = (texts: readonly string[]): Promise<CountReply | undefined> => {
    if (closed || waiting.size >= MAX_WAITING) return Promise.resolve(undefined);
    const id = ++latest;
    const to = worker ??= start();
    clearTimeout(idle);
    return new Promise((answered) => {
      waiting.set(id, { answered });
      to.postMessage({ id, texts }, []);
    });
  };

  return {
    async count(texts) {
      const length = texts.reduce((sum, text) => sum + text.length, 0);
      if (length === 0) return 0;
      const answer = await ask(truncateTexts(texts, MAX_LENGTH));
      if (!answer || answer.length === 0) return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / UNITS_PER_TOKEN);
      return Math.ceil(answer.tokens * length / answer.length);
    },
    async close() {
      closed = true;
      const ending = worker;
      if (!ending) return;
      end(ending);
      await ending.terminate();
    },
  };
}
