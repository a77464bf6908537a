/**
 * An answer that is not a stream and too large to hold: it passes through as it comes, all but its last piece, and its usage is
 * read from its two ends, where providers write it.
 */
import { readUsageAtEnds } from '../protocol/usage-at-ends.ts';
import { answerHeaders } from './answer-headers.ts';
import type { CallRecord, Ending, Forwarded, PipelineDeps } from './context.ts';

/** Enough for the usage object and what stands around it. */
const END_BYTES = 64 * 1024;

interface LargeAnswer {
  readonly record: CallRecord;
  /** What was held until the answer proved too large; emptied as it passes on. */
  readonly held: Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
}

/** Throws UpstreamFailure where the provider breaks off. */
export async function relayLarge(deps: PipelineDeps, forwarded: Forwarded, { record, held, rest }: LargeAnswer): Promise<Ending> {
  const { reply, converter } = forwarded;
  const head = Buffer.concat(held, END_BYTES);
  record.firstByteAt = deps.clock.monotonicMs();
  reply.start(forwarded.response.status, answerHeaders(forwarded));
  let size = 0;
  let last: Buffer = Buffer.alloc(0);
  for await (const piece of piecesOf(held, rest)) {
    size += piece.length;
    if (record.meter) record.meter = { ...record.meter, outputBytes: size };
    const all = Buffer.concat([last, piece]);
    const cut = Math.max(0, all.length - END_BYTES);
    if (cut > 0) await reply.write(all.subarray(0, cut));
    last = all.subarray(cut);
  }
  record.meter = readUsageAtEnds(converter.client, { head, tail: last, size });
  return reply.gone ? { kind: 'ClientGone' } : { kind: 'Streamed', last };
}

/** A client that does not read keeps what it has not taken, and no more. */
async function* piecesOf(held: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  for (let piece = held.shift(); piece; piece = held.shift()) yield piece;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
