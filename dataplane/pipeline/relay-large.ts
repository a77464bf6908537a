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
  /** What was held until the answer proved too large. */
  readonly held: readonly Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
}

/** Throws UpstreamFailure where the provider breaks off. */
export async function relayLarge(deps: PipelineDeps, forwarded: Forwarded, { record, held, rest }: LargeAnswer): Promise<Ending> {
  const { reply, converter } = forwarded;
  const first = Buffer.concat(held);
  const head = Buffer.from(first.subarray(0, END_BYTES));
  record.firstByteAt = deps.clock.monotonicMs();
  reply.start(forwarded.response.status, answerHeaders(forwarded));
  let size = first.length;
  let last: Buffer = first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    await reply.write(last.subarray(0, Math.max(0, last.length - END_BYTES)));
    last = Buffer.concat([last.subarray(Math.max(0, last.length - END_BYTES)), next.value]);
    size += next.value.length;
    if (record.meter) record.meter = { ...record.meter, outputBytes: size };
  }
  record.meter = readUsageAtEnds(converter.upstream, { head, tail: last, size });
  return reply.gone ? { kind: 'ClientGone' } : { kind: 'Streamed', last };
}
