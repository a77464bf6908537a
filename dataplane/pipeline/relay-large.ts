/**
 * Streams a response that is too large to buffer, except its end, which is sent after the settlement. The usage is read
 * by the endpoint's own meter, or else from the first and last 64 KiB, where providers write it.
 */
import { ImageCounter } from '../protocol/openai/image-counter.ts';
import type { Converter, LargeMeter, Meter } from '../protocol/converter.ts';
import { OutputSize } from '../protocol/output-tally.ts';
import { UNREPORTED_USAGE } from '../protocol/usage.ts';
import { readUsageAtEnds } from '../protocol/usage-at-ends.ts';
import type { CallOutcome, CallRecord, Forwarded, PipelineDeps } from './context.ts';
import { clientHeaders } from './response-headers.ts';

/** Enough for a usage object at the start or the end. */
const END_BYTES = 64 * 1024;

interface LargeResponse {
  readonly record: CallRecord;
  /** The chunks read so far; emptied as they are sent. */
  readonly buffered: Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
}

/** Throws UpstreamFailure if the response ends early. */
export async function relayLarge(
  deps: PipelineDeps,
  forwarded: Forwarded,
  { record, buffered, rest }: LargeResponse,
): Promise<CallOutcome> {
  const { reply } = record.received;
  const head = Buffer.concat(buffered, END_BYTES);
  record.firstByteAt = deps.clock.monotonicMs();
  reply.start(forwarded.response.status, clientHeaders(forwarded));
  const passing = new PassingMeter(forwarded);
  let last: Buffer = Buffer.alloc(0);
  for await (const piece of piecesOf(buffered, rest)) {
    if (buffered.length === 0) record.received.hold(0, forwarded.admitted.routed.key);
    passing.add(piece);
    record.meter = { reported: UNREPORTED_USAGE, final: false, ...passing.counts };
    const all = Buffer.concat([last, piece]);
    const cut = Math.max(0, all.length - END_BYTES);
    if (cut > 0) await reply.write(all.subarray(0, cut));
    last = all.subarray(cut);
  }
  record.meter = passing.finish(head, last);
  return reply.gone ? { kind: 'ClientGone' } : { kind: 'Streamed', last };
}

/** Meters a response as it passes. */
class PassingMeter {
  readonly #converter: Converter;
  readonly #counter: ImageCounter | undefined;
  readonly #large: LargeMeter | undefined;
  readonly #output = new OutputSize();

  constructor({ admitted, converter }: Forwarded) {
    this.#converter = converter;
    this.#counter = admitted.routed.call.kind === 'Images' ? new ImageCounter() : undefined;
    this.#large = converter.large?.();
  }

  /** What is known before the end. */
  get counts(): Pick<Meter, 'outputBytes' | 'images'> {
    return {
      outputBytes: this.#counter ? 0 : this.#output.bytes,
      ...(this.#counter && { images: this.#counter.images }),
    };
  }

  add(piece: Uint8Array): void {
    this.#output.add(piece);
    this.#counter?.add(piece);
    this.#large?.add(piece);
  }

  finish(head: Uint8Array, tail: Uint8Array): Meter {
    const meter =
      this.#large?.meter ?? readUsageAtEnds(this.#converter.client, { head, tail, size: this.#output.bytes });
    return this.#counter ? { ...meter, images: this.#counter.images } : meter;
  }
}

/** Yields the buffered chunks, then the rest. Each is read only after the previous one was written. */
async function* piecesOf(buffered: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let piece = buffered.shift(); piece; piece = buffered.shift()) yield piece;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
