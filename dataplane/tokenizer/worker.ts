/**
 * The tokenizer's thread, the only one that loads its vocabulary of some megabytes. If it cannot count a text within
 * its time, it replies with the count so far.
 */
import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { Posted, Replied } from '../fair-worker.ts';
import type { CountReply, CountRequest } from './messages.ts';
import { slicesOf } from './slices.ts';

/** The longest time spent on one request. */
const MAX_MS = 500;
/** Treats special tokens such as <|endoftext|> as plain text. */
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
