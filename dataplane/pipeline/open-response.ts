/**
 * Opens a provider's response as far as it takes to know whether it is one: reads a whole response, and a stream until
 * something of it can be sent. Providers and proxies before them report failures with the status 200 too, and nothing
 * has been sent to the client then, so that the next channel can be tried.
 */
import { LARGE_BODY_BYTES } from '../memory-budget.ts';
import { sealedKindOf } from '../protocol/openai/sealed-response.ts';
import type { SealedKind } from '../protocol/openai/sealed-response.ts';
import type { SealingContext } from '../sealing/channel-seal.ts';
import { FailedResponse } from '../protocol/failed-response.ts';
import type { ConvertedResponse, Meter, ProviderError, StreamConverter, StreamEnd } from '../protocol/converter.ts';
import { decodeUtf8 } from '../protocol/bytes.ts';
import { OutputSize } from '../protocol/output-tally.ts';
import { parseEventData } from '../protocol/json-value.ts';
import { readErrorIn } from '../protocol/provider-errors.ts';
import { holdsOnlyPings } from '../protocol/sse.ts';
import { statusOfError } from '../protocol/stream-errors.ts';
import { hasOutput, UNREPORTED_USAGE } from '../protocol/usage.ts';
import { correctReport } from './channel-call.ts';
import { createsJob } from './context.ts';
import type { Answered, CallRecord, Opening, PipelineDeps } from './context.ts';
import type { AttemptFailure } from './failures.ts';
import { readLargeEvents } from './large-events.ts';
import type { EventReading } from './large-events.ts';
import { responseContext, responseSealing } from './response-context.ts';

/** A response up to this size is buffered until it is settled, so that its headers can carry its cost. */
export const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

/** The largest response that is read whole, because it is converted or sealed. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
/** Pings of this size are sent without waiting for what follows. */
const MAX_PING_BYTES = 64 * 1024;
/** The most that is kept of a stream without events, for the error that it may be. */
const MAX_ERROR_BYTES = 64 * 1024;

/** The status that an unreadable response stands for. */
const BAD_GATEWAY = 502;
const EMPTY: Uint8Array = Buffer.alloc(0);

type Failure = Extract<AttemptFailure, { readonly kind: 'Refused' }>;

/** Returns the failure if the response is none. Rejects with UpstreamFailure if it breaks off. */
export async function openResponse(
  deps: PipelineDeps,
  answered: Answered,
  record: CallRecord,
): Promise<Opening | Failure> {
  const { stream, wholeTypes } = answered.admitted.routed.call;
  const type = answered.response.headers['content-type'] ?? '';
  const isStream = stream && !isJson(type) && wholeTypes?.test(type) !== true;
  const opened = await (isStream ? openStream(deps, answered, record) : openWhole(deps, answered, record));
  if (opened.kind === 'Refused') forgetResponse(record, answered, opened);
  return opened;
}

/** True if the provider goes on with the response after the call. */
export function isInBackground({
  admitted: {
    routed: { call },
  },
}: Answered): boolean {
  return call.background === true;
}

/** The attempt has failed after all, and costs nothing, unless it has begun a batch under an id that nobody knows. */
function forgetResponse(record: CallRecord, { admitted }: Answered, { mayBeJob }: Failure): void {
  record.received.hold(0, admitted.routed.key);
  record.meter = undefined;
  record.writeFailure = undefined;
  record.produced = false;
  record.sent = mayBeJob === true && admitted.routed.call.together !== undefined;
  correctReport(record.attempts, 'error');
}

async function openStream(deps: PipelineDeps, answered: Answered, record: CallRecord): Promise<Opening | Failure> {
  const { wantsStreamUsage, model } = answered.admitted.routed.call;
  const stream = answered.converter.stream({ ...responseContext(deps, answered), wantsStreamUsage, model });
  record.meter = new RunningMeter(stream);
  record.writeFailure = stream.fail;
  const pieces = answered.response.body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let first: Uint8Array = EMPTY;
  let size = 0;
  while (!stream.terminal) {
    const next = await pieces.next();
    if (next.done) break;
    const bytes = await pushPiece(deps, { stream, answered, record, pieces }, next.value);
    first = first.length === 0 ? bytes : Buffer.concat([first, bytes]);
    if (commits(first, answered, stream)) return { kind: 'Stream', stream, pieces, first };
    if (size < MAX_ERROR_BYTES) read.push(next.value);
    size += next.value.length;
  }
  const rest = await readRest(deps, { stream, answered, record, pieces });
  first = first.length === 0 ? rest : Buffer.concat([first, rest]);
  const end = stream.end();
  const failure = failureOf(end, answered, { stream, read });
  if (failure) await pieces.return?.();
  return failure ?? { kind: 'Stream', stream, pieces, first, end };
}

/** Whether the client is to get the first bytes of a stream: pings alone do not tell whether the provider responds. */
function commits(first: Uint8Array, { admitted }: Answered, { passesBytes = false }: StreamConverter): boolean {
  const isEvents = admitted.routed.call.streamType === undefined && !passesBytes;
  return first.length > 0 && !(isEvents && first.length <= MAX_PING_BYTES && holdsOnlyPings(first));
}

/** Undefined: the stream is a response, or what it produced is billed. */
function failureOf(
  end: StreamEnd,
  answered: Answered,
  { stream, read }: { readonly stream: StreamConverter; readonly read: readonly Uint8Array[] },
): Failure | undefined {
  if (end.outcome === 'Complete' || hasOutput(stream.meter) || isInBackground(answered)) return undefined;
  const { model } = answered.admitted.routed.call;
  return end.outcome === 'Failed' ? failed(model, end.error) : unreadable(model, Buffer.concat(read));
}

/**
 * Converts a chunk. If it has more text for a client that has disconnected, and the policy is Cancel, cancels the
 * stream.
 */
export async function pushPiece(deps: PipelineDeps, read: StreamRead, piece: Uint8Array): Promise<Uint8Array> {
  const { stream } = read;
  const held = isHeld(stream);
  const bytes = push(read, piece);
  return held || isHeld(stream) ? readHeld(deps, read, bytes) : bytes;
}

/** Converts a large event that the provider's stream has ended within. */
export async function readRest(deps: PipelineDeps, read: StreamRead): Promise<Uint8Array> {
  read.stream.endOfInput?.();
  return readHeld(deps, read, EMPTY);
}

/** Whether the stream holds so much that it counts, or waits for another thread. */
function isHeld({ large, pendingBytes = 0 }: StreamConverter): boolean {
  return large !== undefined || pendingBytes >= LARGE_BODY_BYTES;
}

/** The rest of a response is not read if there is no room for it. */
async function readHeld(deps: PipelineDeps, read: StreamRead, bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await readLargeEvents(readingOf(deps, read), read.stream, bytes);
  } catch (error) {
    await stopReading(read.record, read.pieces);
    throw error;
  }
}

/** Ends the exchange with the provider, whose response is not read to its end, and frees what decodes it. */
export async function stopReading({ abort }: CallRecord, pieces: AsyncIterator<Uint8Array>): Promise<void> {
  abort.abort();
  await pieces.return?.();
}

/** A stream that is read. */
export interface StreamRead {
  readonly stream: StreamConverter;
  readonly answered: Answered;
  readonly record: CallRecord;
  readonly pieces: AsyncIterator<Uint8Array>;
}

function readingOf(deps: PipelineDeps, { answered, record: { received } }: StreamRead): EventReading {
  const { key } = answered.admitted.routed;
  return {
    worker: deps.bodyWorker,
    key: key.uid,
    sealing: () => responseSealing(deps, answered),
    hold: (bytes) => received.hold(bytes, key),
  };
}

function push(
  { stream, answered: { admitted }, record: { received, abort } }: StreamRead,
  piece: Uint8Array,
): Uint8Array {
  if (!received.reply.gone || admitted.candidate.clientDisconnect !== 'Cancel') return stream.push(piece);
  const { outputBytes } = stream.meter;
  const bytes = stream.push(piece);
  if (!stream.meter.final && stream.meter.outputBytes > outputBytes) abort.abort();
  return bytes;
}

async function openWhole(deps: PipelineDeps, answered: Answered, record: CallRecord): Promise<Opening | Failure> {
  const reader = answered.response.body[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  const isOfImages = answered.admitted.routed.call.kind === 'Images';
  let size = 0;
  for (let next = await reader.next(); !next.done; next = await reader.next()) {
    pieces.push(next.value);
    size += next.value.length;
    record.produced = true;
    record.meter = isOfImages ? NO_IMAGES : sizeMeter(pieces);
    if (size < LARGE_BODY_BYTES) continue;
    await holdWhole({ record, answered, reader }, size);
    if (size > MAX_BUFFERED_BYTES && mayPassThrough(deps, answered))
      return { kind: 'Large', buffered: pieces, rest: reader };
    if (size > MAX_WHOLE_BYTES) return tooLarge(answered, reader);
  }
  const [only] = pieces;
  const bytes = only && pieces.length === 1 ? only : Buffer.concat(pieces, size);
  const converted = await convertWhole(deps, answered, bytes);
  return 'kind' in converted ? converted : { kind: 'Whole', converted };
}

/** No image has come before the response is whole. */
const NO_IMAGES: Meter = { reported: UNREPORTED_USAGE, final: false, outputBytes: 0, images: 0 };

/** Only the size of an incomplete response is metered, and only where it breaks off. */
function sizeMeter(pieces: readonly Uint8Array[]): Meter {
  return {
    reported: UNREPORTED_USAGE,
    final: false,
    get outputBytes() {
      const output = new OutputSize();
      for (const piece of pieces) output.add(piece);
      return output.bytes;
    },
  };
}

async function tooLarge({ admitted }: Answered, rest: AsyncIterator<Uint8Array>): Promise<Failure> {
  await rest.return?.();
  const { call } = admitted.routed;
  const says = `The provider of "${call.model}" sent a response that is larger than the gateway reads.`;
  return badGateway(says, createsJob(call));
}

interface WholeRead {
  readonly record: CallRecord;
  readonly answered: Answered;
  readonly reader: AsyncIterator<Uint8Array>;
}

/** If there is no room, the rest is not read. */
async function holdWhole({ record, answered, reader }: WholeRead, size: number): Promise<void> {
  try {
    record.received.hold(size, answered.admitted.routed.key);
  } catch (error) {
    await stopReading(record, reader);
    throw error;
  }
}

async function convertWhole(
  deps: PipelineDeps,
  answered: Answered,
  bytes: Uint8Array,
): Promise<ConvertedResponse | Failure> {
  const { call } = answered.admitted.routed;
  try {
    const kind = bytes.length < LARGE_BODY_BYTES ? undefined : sealedKindOf(answered.converter);
    const sealing = kind && responseSealing(deps, answered);
    return sealing
      ? await readSealed(deps, answered, { bytes, kind, sealing })
      : answered.converter.response(bytes, responseContext(deps, answered));
  } catch (error) {
    if (error instanceof FailedResponse) return failed(call.model, error.error);
    if (!(error instanceof SyntaxError)) throw error;
    return unreadable(call.model, bytes, createsJob(call));
  }
}

interface LargeSealed {
  readonly bytes: Uint8Array;
  readonly kind: SealedKind;
  readonly sealing: SealingContext;
}

/** Reads and seals a large response on the worker thread. */
async function readSealed(
  { bodyWorker }: PipelineDeps,
  { admitted, notes }: Answered,
  { bytes, kind, sealing }: LargeSealed,
): Promise<ConvertedResponse> {
  const known = notes?.sealedIds ?? new Map<string, string>();
  const { key } = admitted.routed;
  const read = await bodyWorker.run(key.uid, { task: 'ReadResponse', kind, sealing, known }, bytes);
  if ('error' in read) throw new FailedResponse(read.error);
  return read;
}

/** The provider's error in a response of 200. */
function failed(model: string, error: ProviderError): Failure {
  const { code, ...rest } = error;
  const isNumber = /^\d+$/.test(code ?? '');
  return {
    kind: 'Refused',
    status: statusOfError(error),
    headers: error.retryAfterSeconds === undefined ? {} : { 'retry-after': String(error.retryAfterSeconds) },
    error: { ...rest, code: isNumber ? undefined : code },
    says: `The provider of "${model}" ended the answer with an error: ${error.message}`,
  };
}

function unreadable(model: string, bytes: Uint8Array, mayBeJob = false): Failure {
  const error = readErrorIn(bytes);
  if (error) return failed(model, error);
  return badGateway(`The provider of "${model}" answered ${describe(bytes)}.`, mayBeJob);
}

/** A job may have been made by a response that cannot be read, so that another channel must not make one more. */
function badGateway(says: string, mayBeJob: boolean): Failure {
  return {
    kind: 'Refused',
    status: BAD_GATEWAY,
    headers: {},
    error: { message: says, type: undefined, code: undefined },
    says,
    ...(mayBeJob && { mayBeJob }),
  };
}

function describe(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  const isComment = (line: string): boolean => line.trim() === '' || line.startsWith(':');
  if (text.split(/[\r\n]+/).every(isComment)) return 'nothing';
  return `something that is ${parseEventData(text) ? 'no response' : 'not JSON'}`;
}

/** True unless the whole response is needed, for a conversion, to read a job's id, or to seal its values. */
function mayPassThrough(deps: PipelineDeps, answered: Answered): boolean {
  const { converter, admitted } = answered;
  if (converter.client !== converter.upstream || createsJob(admitted.routed.call)) return false;
  return sealedKindOf(converter) === undefined || responseSealing(deps, answered) === undefined;
}

/** True if the provider ignored `stream` and responds with JSON. */
function isJson(contentType: string): boolean {
  return /^application\/json\b/i.test(contentType);
}

/** The meter of a running stream. It reads the stream's figures only on demand, since most events are never metered. */
class RunningMeter implements Meter {
  readonly #stream: StreamConverter;
  constructor(stream: StreamConverter) {
    this.#stream = stream;
  }
  get reported(): Meter['reported'] {
    return this.#stream.meter.reported;
  }
  get final(): boolean {
    return this.#stream.meter.final;
  }
  get outputBytes(): number {
    return this.#stream.meter.outputBytes;
  }
  get outputTexts(): readonly string[] {
    return this.#stream.meter.outputTexts ?? [];
  }
  get images(): Meter['images'] {
    return this.#stream.meter.images;
  }
  get served(): Meter['served'] {
    return this.#stream.meter.served;
  }
}
