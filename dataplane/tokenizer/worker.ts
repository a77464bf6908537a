/**
 * The tokenizer's thread: its vocabulary has megabytes, which nobody but this thread loads, and its work never holds up a call.
 * What is longer than it can do in its time is answered as far as it came.
 */
import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { CountReply, CountRequest } from './messages.ts';
import { slicesOf } from './slices.ts';

/** For one request. */
const MAX_MS = 500;
/** Words such as <|endoftext|> are text here, not signs. */
const PLAIN = { disallowedSpecial: new Set<string>() };

function count({ id, texts }: CountRequest): CountReply {
  const endsAt = performance.now() + MAX_MS;
  let tokens = 0;
  let length = 0;
  for (const slice of slicesOf(texts)) {
    tokens += countTokens(slice, PLAIN);
    length += slice.length;
    if (performance.now() > endsAt) break;
  }
  return { id, tokens, length };
}

const port = parentPort;
port?.on('message', (request: CountRequest) => port.postMessage(count(request)));
