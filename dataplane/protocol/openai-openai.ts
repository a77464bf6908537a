/**
 * OpenAI client, OpenAI provider: bytes pass through. Only the model's name and the output limit change, and streams
 * are asked for usage, which is taken out again if the client did not ask for it.
 */
import { RequestFault } from './call-facts.ts';
import type {
  Converter,
  Meter,
  RequestPlan,
  StreamConverter,
  StreamEnd,
  StreamRequest,
  UpstreamBody,
} from './converter.ts';
import { DroppedFields } from './dropped-fields.ts';
import { setCacheKey } from './openai/cache-key.ts';
import { failStream } from './stream-errors.ts';
import { openEventStream } from './event-stream.ts';
import type { EventHandler } from './event-stream.ts';
import { isGiven, isRecord, itemsOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { editObject, editsOf, memberBytes } from './json-edit.ts';
import type { ChangedMembers, JsonEdit } from './json-edit.ts';
import { decodeUtf8 } from './bytes.ts';
import { parseEventData, parseObject } from './json-value.ts';
import { DONE, isDone } from './openai/done.ts';
import { throwIfError } from './openai/failures.ts';
import { ChunkMeter, meterCompletion } from './openai/stream-meter.ts';
import { UncalledTools } from './openai/uncalled-tools.ts';
import { isClientTool, SEARCH_OPTIONS } from './openai/facts.ts';
import { isErrorObject, readStreamError } from './provider-errors.ts';
import { withoutProviderTools } from './provider-tools.ts';
import type { ToolDialect } from './provider-tools.ts';
import { writeEvent } from './sse.ts';
import type { SseEvent } from './sse.ts';

export const openaiToOpenai: Converter = {
  client: 'OpenAI',
  upstream: 'OpenAI',
  request: editRequest,
  response: (body) => {
    const completion = parseObject(body);
    throwIfError(completion);
    if (!Array.isArray(completion['choices'])) throw new SyntaxError('the answer is not a chat completion');
    return { body: mended(body, completion['choices']), meter: meterCompletion(completion) };
  },
  stream: (request) => openChunkStream(request, new ChunkMeter()),
};

/** Passes a stream of chunks through, without usage that only the gateway asked for. */
export function openChunkStream(request: StreamRequest, meter: ChunkMeter): StreamConverter {
  return openEventStream(new ChunkPassthrough(request, meter), { client: 'OpenAI', requestId: request.id });
}

const TOOLS: ToolDialect = {
  runsAtClient: isClientTool,
  needsTools: ['parallel_tool_calls'],
  field: SEARCH_OPTIONS,
};

function editRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const dropped = new DroppedFields();
  const edits = new Map<string, JsonEdit>(
    plan.providerTools === 'Drop' ? editsOf(withoutProviderTools(body, parsed, { dialect: TOOLS, dropped })) : [],
  );
  setCacheKey(edits, parsed, plan);
  if (parsed['model'] !== plan.upstreamModel) edits.set('model', JSON.stringify(plan.upstreamModel));
  if (plan.maxOutputTokens !== undefined) editLimit(edits, parsed, plan.maxOutputTokens, plan.outputLimitField);
  if (parsed['stream'] === true) editStreamOptions(edits, body, parsed['stream_options']);
  return { path: '/chat/completions', body: editObject(body, edits, plan.scanned), dropped: dropped.params };
}

/** OpenAI refuses a request with both limits. */
function editLimit(
  edits: Map<string, JsonEdit>,
  parsed: JsonRecord,
  limit: number,
  field: RequestPlan['outputLimitField'],
): void {
  const other = field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (parsed[field] !== limit) edits.set(field, String(limit));
  if (isGiven(parsed[other])) edits.set(other, undefined);
}

/** Asks for usage. */
export function editStreamOptions(edits: Map<string, JsonEdit>, body: Uint8Array, options: unknown): void {
  if (isRecord(options) && options['include_usage'] === true) return;
  const own = isRecord(options) ? memberBytes(body, 'stream_options') : undefined;
  edits.set('stream_options', own ? editObject(own, new Map([['include_usage', 'true']])) : '{"include_usage":true}');
}

function mended(body: Uint8Array, given: unknown): Uint8Array {
  try {
    const choices = new UncalledTools().mend(given, () => body);
    return choices ? editObject(body, editsOf(new Map([['choices', choices]]))) : body;
  } catch (error) {
    // it nests too deeply to be edited
    if (!(error instanceof RequestFault) && !(error instanceof SyntaxError)) throw error;
    return body;
  }
}

class ChunkPassthrough implements EventHandler {
  readonly #request: StreamRequest;
  readonly #chunkMeter: ChunkMeter;
  readonly #uncalled = new UncalledTools();
  /** Set by the terminal event or an error. */
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest, meter: ChunkMeter) {
    this.#request = request;
    this.#chunkMeter = meter;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#chunkMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return [event.raw];
    if (isDone(event.data)) {
      // SDKs compare the data exactly: one with spaces around it would be parsed as a chunk
      this.#end = { outcome: 'Complete', last: event.data === '[DONE]' ? event.raw : DONE };
      return [];
    }
    const chunk = parseEventData(event.data);
    if (isError(event, chunk)) {
      this.#end = failStream('OpenAI', readStreamError(chunk ?? event.data), this.#request.id);
      return [];
    }
    if (!chunk) return [event.raw];
    this.#chunkMeter.add(chunk);
    return this.#mend(event, chunk);
  }

  /** One that nests too deeply to be edited stays as it is: clients ignore usage that they did not ask for. */
  #mend(event: SseEvent, chunk: JsonRecord): readonly Uint8Array[] {
    try {
      const changed = this.#changes(event, chunk);
      if (changed === 'LeftOut') return [];
      return [changed.size === 0 ? event.raw : editEventData(event, (data) => editObject(data, editsOf(changed)))];
    } catch (error) {
      if (!(error instanceof RequestFault) && !(error instanceof SyntaxError)) throw error;
      return [event.raw];
    }
  }

  /**
   * Where only the gateway asked for usage, a chunk without choices is left out, and of others the member is taken out:
   * some providers put usage into chunks with choices. `"usage":null` stays.
   */
  #changes({ data = '' }: SseEvent, { choices, usage }: JsonRecord): ChangedMembers | 'LeftOut' {
    const changed = new Map<string, unknown>();
    const mended = this.#uncalled.mend(choices, () => Buffer.from(data));
    if (mended) changed.set('choices', mended);
    if (this.#request.wantsStreamUsage || !isRecord(usage)) return changed;
    return itemsOf(choices).length === 0 ? 'LeftOut' : changed.set('usage', undefined);
  }

  /** Some providers send no [DONE]: the stream is complete once every choice has finished. */
  finish(): StreamEnd {
    return this.#end ?? (this.#chunkMeter.finished ? { outcome: 'Complete', last: DONE } : { outcome: 'Cut' });
  }
}

function isError(event: SseEvent, chunk: JsonRecord | undefined): boolean {
  if (event.event === 'error') return true;
  return chunk !== undefined && isErrorObject(chunk);
}

/** Keeps everything around the data: ids, comments, line ends. An event with several data lines is rewritten. */
function editEventData(event: SseEvent, edit: (data: Uint8Array) => Uint8Array): Uint8Array {
  const data = Buffer.from(event.data ?? '');
  const raw = Buffer.from(event.raw);
  const at = raw.indexOf(data);
  if (at < 0) return writeEvent(decodeUtf8(edit(data)), event.event);
  return Buffer.concat([raw.subarray(0, at), edit(data), raw.subarray(at + data.length)]);
}
