/**
 * Responses (POST /v1/responses), which pass through: OpenAI client, OpenAI provider. Only the model's name and
 * max_output_tokens change. A stream ends with the event that holds the final response (completed, incomplete,
 * cancelled or failed), or with an error.
 */
import type {
  ConvertedJob,
  Converter,
  Jobs,
  LargeEvent,
  LargeEventRead,
  Meter,
  ProviderError,
  ReadEvent,
  RequestPlan,
  StreamEnd,
  StreamFailure,
  StreamRequest,
  UpstreamBody,
} from '../converter.ts';
import { failedResponse, writeFailedStream, writeStreamError } from './failed-stream.ts';
import { failResponse } from '../stream-errors.ts';
import { openEventStream } from '../event-stream.ts';
import type { EventHandler } from '../event-stream.ts';
import { isGiven, isRecord, itemsOf, recordOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { DroppedFields } from '../dropped-fields.ts';
import { editObject, editsOf } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import { parseObject, writeJson } from '../json-value.ts';
import { readStreamError } from '../provider-errors.ts';
import { UNCHANGED, withoutProviderTools } from '../provider-tools.ts';
import type { ToolDialect } from '../provider-tools.ts';
import { writeEvent } from '../sse.ts';
import type { SseEvent } from '../sse.ts';
import { setCacheKey } from './cache-key.ts';
import { SEARCH_OPTIONS } from './facts.ts';
import { throwIfError } from './failures.ts';
import { meterResponse, ResponseMeter } from './response-meter.ts';
import { readEvent } from './response-event.ts';
import { openRequest, ResponseSeals } from './response-seals.ts';
import { runsAtClient } from './response-tools.ts';
import { isJobId } from './videos.ts';

/** An event of this size or more is read and sealed on the worker thread. */
const LARGE_EVENT_BYTES = 64 * 1024;
/** An image that a provider's tool generated comes in one event. */
const MAX_EVENT_BYTES = 128 * 1024 * 1024;

export const responsesConverter: Converter = {
  client: 'OpenAI',
  upstream: 'OpenAI',
  request: (body, parsed, plan) => editRequest(body, parsed, plan),
  response: (body, answer) => {
    const response = parseObject(body);
    if (!isGiven(response['status'])) throwIfError(response);
    if (!Array.isArray(response['output']) && !isGiven(response['status']))
      throw new SyntaxError('the answer is not a response');
    const sealed = new ResponseSeals(answer?.seal, answer?.notes?.sealedIds).apply(body, response);
    const job = runningJob(response);
    return { body: sealed, meter: meterResponse(response), failed: isEmptyFailure(response), ...(job && { job }) };
  },
  stream: (request) =>
    openEventStream(new ResponsePassthrough(request), {
      client: 'OpenAI',
      requestId: request.id,
      maxEventBytes: MAX_EVENT_BYTES,
    }),
};

const TOOLS: ToolDialect = { runsAtClient, needsTools: [], field: SEARCH_OPTIONS, nests: true };

/** The request to POST /v1/responses or below it, with the provider's own values. Throws RequestFault. */
export function editRequest(
  body: Uint8Array,
  parsed: JsonRecord,
  plan: RequestPlan,
  path = '/responses',
): UpstreamBody {
  const { upstreamModel, maxOutputTokens, scanned, seal, providerTools } = plan;
  const dropped = new DroppedFields();
  const changed =
    providerTools === 'Drop' ? withoutProviderTools(body, parsed, { dialect: TOOLS, dropped }) : UNCHANGED;
  const opening = { seal, continuesKept: continuesKept(plan), input: changed.get('input') };
  const { edits: opened, leftOut, sealedIds } = openRequest(body, parsed, opening);
  if (leftOut !== undefined) dropped.add(leftOut);
  const edits = new Map<string, JsonEdit>([...editsOf(changed), ...opened]);
  setCacheKey(edits, parsed, plan);
  if (parsed['model'] !== upstreamModel) edits.set('model', JSON.stringify(upstreamModel));
  if (maxOutputTokens !== undefined && parsed['max_output_tokens'] !== maxOutputTokens)
    edits.set('max_output_tokens', String(maxOutputTokens));
  return {
    path,
    body: editObject(body, edits, scanned),
    dropped: dropped.params,
    ...(sealedIds.size > 0 && { notes: { sealedIds } }),
  };
}

/** The input begins with items that the gateway keeps. */
function continuesKept({ storage }: Pick<RequestPlan, 'storage'>): boolean {
  return storage?.previousId !== undefined || storage?.conversationId !== undefined;
}

/** A response that the provider makes in the background is stored under its id, and is read until it has ended. */
export const responseJobs: Jobs = {
  path: (id) => `/responses/${encodeURIComponent(id)}`,
  read(body) {
    const job = jobOf(parseObject(body));
    if (!job) throw new SyntaxError('the answer names no response');
    return job;
  },
};

/** The job that a whole response is about; undefined: none that runs. Throws SyntaxError if it cannot be asked for. */
function runningJob(response: JsonRecord): ConvertedJob | undefined {
  const { background } = response;
  if (background === false) return undefined;
  const job = jobOf(response);
  if (!job && background === true) throw new SyntaxError('the answer has no id to fetch it by');
  return job?.state === 'Running' ? job : undefined;
}

/** Undefined: the response has no id that can be asked for. */
function jobOf(response: JsonRecord): ConvertedJob | undefined {
  const { id } = response;
  return typeof id === 'string' && isJobId(id) ? { id, ...readResponseState(response) } : undefined;
}

/** The state and the usage of a stored response. An unknown status counts as running. */
export function readResponseState(response: JsonRecord): Pick<ConvertedJob, 'state' | 'consumed'> {
  const { status } = response;
  const state = ENDED[stringOf(status)] ?? 'Running';
  return { state, consumed: { meter: meterResponse(response), cancelled: status === 'cancelled' } };
}

const ENDED: Readonly<Partial<Record<string, ConvertedJob['state']>>> = {
  completed: 'Completed',
  incomplete: 'Completed',
  failed: 'Failed',
  cancelled: 'Failed',
};

/** The response failed without usage or output. */
export function isEmptyFailure({ status, usage, output }: JsonRecord): boolean {
  return status === 'failed' && !isRecord(usage) && itemsOf(output).length === 0;
}

const ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.cancelled']);

class ResponsePassthrough implements EventHandler {
  readonly #request: StreamRequest;
  readonly #responseMeter = new ResponseMeter();
  readonly #seals: ResponseSeals;
  /** As its latest event has it, with the provider's own values. */
  #response: JsonRecord | undefined;
  #sequenceNumber = -1;
  /** The response, as the latest event about it says; undefined if it is not in the background. */
  #job: ConvertedJob | undefined;
  /** Set by the terminal event or an error. */
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#seals = new ResponseSeals(request.seal, request.notes?.sealedIds);
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#responseMeter.meter;
  }

  get job(): ConvertedJob | undefined {
    return this.#job;
  }

  large({ raw }: SseEvent): LargeEvent | undefined {
    if (raw.length < LARGE_EVENT_BYTES || !this.#request.seal) return undefined;
    return { bytes: raw, known: this.#seals.known };
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    return this.#take(readEvent(event, this.#seals));
  }

  handleRead(read: LargeEventRead): readonly Uint8Array[] {
    this.#seals.learn(read.sealed);
    return this.#take(read);
  }

  #take({ bytes, type, data, error }: ReadEvent): readonly Uint8Array[] {
    if (error) {
      this.#end = this.#failed(error);
      return [];
    }
    return data ? this.#handleData(bytes, data, type) : [bytes];
  }

  /** `sealed`: the event's bytes. */
  #handleData(sealed: Uint8Array, data: JsonRecord, type: string): readonly Uint8Array[] {
    const { response, delta, sequence_number: number } = data;
    if (typeof number === 'number') this.#sequenceNumber = number;
    if (type.endsWith('.delta')) this.#responseMeter.addDelta(delta);
    const ended = ENDS.has(type) || type === 'response.failed';
    if (isRecord(response)) {
      this.#response = response;
      this.#responseMeter.addResponse(response, ended);
      this.#job = response['background'] === false ? undefined : jobOf(response);
    }
    if (!ended) return [sealed];
    this.#end =
      type === 'response.failed'
        ? this.#failedResponse(data, recordOf(response))
        : { outcome: 'Complete', last: sealed };
    return [];
  }

  finish(): StreamEnd {
    return this.#end ?? { outcome: 'Cut' };
  }

  /** What ends a stream that its provider breaks off. */
  fail(failure: StreamFailure): Uint8Array {
    const seen = { response: this.#response, sequenceNumber: this.#sequenceNumber };
    if (this.#response?.['background'] === true && this.#job?.state === 'Running')
      return writeStreamError(seen, failure.message);
    if (!this.#response) return writeFailedStream(this.#request, failure);
    const data = failedResponse(seen, failure);
    return this.#seals.apply(writeEvent(writeJson(data), 'response.failed'), data);
  }

  #failed(given: ProviderError): StreamEnd {
    const { error, failure } = failResponse(given);
    return { outcome: 'Failed', error, last: this.fail(failure) };
  }

  /** Clients read the response in this event, so that it is kept, with a redacted error message. */
  #failedResponse(data: JsonRecord, response: JsonRecord): StreamEnd {
    const providerError = recordOf(response['error']);
    const end = this.#failed(readStreamError({ error: providerError }));
    if (end.outcome !== 'Failed') return end;
    const error = { ...providerError, message: end.error.message };
    const last = writeEvent(writeJson({ ...data, response: { ...response, error } }), 'response.failed');
    return { ...end, last: this.#seals.apply(last, data) };
  }
}
