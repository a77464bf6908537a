/**
 * The tokenizer's thread. Its vocabulary has megabytes, which no other thread loads. A text that it cannot count in its
 * time is answered as far as it came.
 */
import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { Posted, Replied } from '../fair-worker.ts';
import type { CountReply, CountRequest } from './messages.ts';
import { slicesOf } from './slices.ts';

/** The longest time spent on one request. */
const MAX_MS = 500;
/** Words such as <|endoftext|> are text here, not signs. */
const PLAIN = { disallowedSpecial: new Set<string>() };

function count({ texts }: CountRequest): CountReply {
  const endsAt = performance.now() + MAX_MS;
  let tokens = 0;
  let length = 0;
  for (const slice of slicesOf(texts)) {
    tokens += countTokens(slice, PLAIN);
    length += slice.length;
    if (performance.now() > endsAt) break;
  }
  return { tokens, length };
}

const port = parentPort;
port?.on('message', ({ job }: Posted<CountRequest>) => {
  port.postMessage({ reply: count(job) } satisfies Replied<CountReply>);
});
