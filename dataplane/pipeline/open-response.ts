/**
 * Opens a provider's response as far as it takes to know whether it is one: reads a whole response, and a stream until
 * something of it can be sent. Providers and proxies before them report failures with the status 200 too, and nothing
 * has been sent to the client then, so that the next channel can be tried.
 */
import { FailedResponse } from '../protocol/failed-response.ts';
import type { ConvertedResponse, Meter, ProviderError, StreamConverter, StreamEnd } from '../protocol/converter.ts';
import { decodeUtf8 } from '../protocol/bytes.ts';
import { parseEventData } from '../protocol/json-value.ts';
import { readErrorIn } from '../protocol/provider-errors.ts';
import { holdsOnlyPings } from '../protocol/sse.ts';
import { statusOfError } from '../protocol/stream-errors.ts';
import { hasOutput, UNREPORTED_USAGE } from '../protocol/usage.ts';
import type { AttemptFailure } from './attempt.ts';
import { createsJob } from './context.ts';
import type { Answered, CallRecord, Opening, PipelineDeps } from './context.ts';
import { responseContext } from './response-context.ts';

/** A response up to this size is buffered until it is settled, so that its headers can carry its cost. */
export const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

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
  const isStream = answered.admitted.routed.call.stream && !isJson(answered.response.headers);
  const opened = await (isStream ? openStream(deps, answered, record) : openWhole(deps, answered, record));
  if (opened.kind === 'Refused') forgetResponse(record);
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

/** The attempt has failed after all, and costs nothing. */
function forgetResponse(record: CallRecord): void {
  record.meter = undefined;
  record.writeFailure = undefined;
  record.produced = record.sent = false;
  const last = record.attempts.at(-1);
  if (last) record.attempts[record.attempts.length - 1] = { ...last, outcome: 'error' };
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
    const bytes = pushPiece(stream, next.value, answered, record);
    first = first.length === 0 ? bytes : Buffer.concat([first, bytes]);
    if (commits(first, answered)) return { kind: 'Stream', stream, pieces, first };
    if (size < MAX_ERROR_BYTES) read.push(next.value);
    size += next.value.length;
  }
  const end = stream.end();
  const failure = failureOf(end, answered, { stream, read });
  if (failure) await pieces.return?.();
  return failure ?? { kind: 'Stream', stream, pieces, first, end };
}

/** Whether the client is to get the first bytes of a stream: pings alone do not tell whether the provider responds. */
function commits(first: Uint8Array, { admitted }: Answered): boolean {
  const isEvents = admitted.routed.call.streamType === undefined;
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
export function pushPiece(
  stream: StreamConverter,
  piece: Uint8Array,
  { admitted }: Answered,
  { received, abort }: CallRecord,
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
  // no image has come before the response is whole
  const images = answered.admitted.routed.call.kind === 'Images' ? { images: 0 } : {};
  let size = 0;
  for (let next = await reader.next(); !next.done; next = await reader.next()) {
    pieces.push(next.value);
    size += next.value.length;
    // only the size of an incomplete response is metered
    record.produced = true;
    record.meter = { reported: UNREPORTED_USAGE, final: false, outputBytes: size, ...images };
    if (size > MAX_BUFFERED_BYTES && mayPassThrough(answered)) return { kind: 'Large', buffered: pieces, rest: reader };
  }
  const [only] = pieces;
  const bytes = only && pieces.length === 1 ? only : Buffer.concat(pieces, size);
  const converted = convertWhole(deps, answered, bytes);
  return 'kind' in converted ? converted : { kind: 'Whole', converted };
}

function convertWhole(deps: PipelineDeps, answered: Answered, bytes: Uint8Array): ConvertedResponse | Failure {
  const { call } = answered.admitted.routed;
  try {
    return answered.converter.response(bytes, responseContext(deps, answered));
  } catch (error) {
    if (error instanceof FailedResponse) return failed(call.model, error.error);
    if (!(error instanceof SyntaxError)) throw error;
    return unreadable(call.model, bytes, createsJob(call));
  }
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

/** A job may have been made by a response that cannot be read, so that another channel must not make one more. */
function unreadable(model: string, bytes: Uint8Array, mayBeJob = false): Failure {
  const error = readErrorIn(bytes);
  if (error) return failed(model, error);
  const says = `The provider of "${model}" answered ${describe(bytes)}.`;
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

/** True unless the whole response is needed, for a conversion or to read a job's id. */
function mayPassThrough({ converter, admitted }: Answered): boolean {
  return converter.client === converter.upstream && !createsJob(admitted.routed.call);
}

/** True if the provider ignored `stream` and responds with JSON. */
function isJson(headers: Readonly<Record<string, string>>): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '');
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
