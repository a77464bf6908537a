/**
 * A response that is not a stream and too large to buffer: it passes through as it arrives, all but its last piece. Its
 * usage is read from its two ends, where providers write it.
 */
import { readUsageAtEnds } from '../protocol/usage-at-ends.ts';
import type { CallOutcome, CallRecord, Forwarded, PipelineDeps } from './context.ts';
import { clientHeaders } from './response-headers.ts';

/** Enough for the usage object and what surrounds it. */
const END_BYTES = 64 * 1024;

interface LargeResponse {
  readonly record: CallRecord;
  /** The pieces until the response proved too large; emptied as they pass on. */
  readonly held: Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
}

/** Throws UpstreamFailure where the provider breaks off. */
export async function relayLarge(
  deps: PipelineDeps, forwarded: Forwarded, { record, held, rest }: LargeResponse,
): Promise<CallOutcome> {
  const { reply } = record.received;
  const head = Buffer.concat(held, END_BYTES);
  record.firstByteAt = deps.clock.monotonicMs();
  reply.start(forwarded.response.status, clientHeaders(forwarded));
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
  record.meter = readUsageAtEnds(forwarded.converter.client, { head, tail: last, size });
  return reply.gone ? { kind: 'ClientGone' } : { kind: 'Streamed', last };
}

/** Back-pressure: a client that reads slowly makes the gateway keep what it has not taken, and no more. */
async function* piecesOf(held: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let piece = held.shift(); piece; piece = held.shift()) yield piece;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
