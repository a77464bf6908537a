/**
 * Google's protocol on both sides: bytes pass through. Only the output limit changes, tools that Google would run are
 * left out where the route says so, and so is what Google refuses of earlier turns (own-contents.ts).
 */
import type { Converter, Meter, RequestPlan, StreamEnd, StreamRequest, UpstreamBody } from '../../converter.ts';
import { DroppedFields } from '../../dropped-fields.ts';
import { MAX_PICTURE_EVENT_BYTES, openEventStream } from '../../event-stream.ts';
import type { EventHandler } from '../../event-stream.ts';
import { isGiven, isRecord, itemsOf, recordOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { readGeminiStreamError } from '../../gemini/errors.ts';
import { canonicalNames } from '../../gemini/names.ts';
import { GeminiStreamMeter } from '../../gemini/stream-meter.ts';
import { readUsage } from '../../gemini/usage.ts';
import { editObject, memberBytes } from '../../json-edit.ts';
import type { JsonEdit } from '../../json-edit.ts';
import { parseEventData, parseObject, reparseLosslessly, writeJson } from '../../json-value.ts';
import { OutputTally } from '../../output-tally.ts';
import { isErrorObject } from '../../provider-errors.ts';
import type { TokenCounter } from '../../provider.ts';
import { failStream } from '../../stream-errors.ts';
import { FailedResponse } from '../../failed-response.ts';
import type { SseEvent } from '../../sse.ts';
import { meterOf } from '../../usage.ts';
import { CandidateReader } from './read-response.ts';
import { unlisted } from './read-stream.ts';
import { countBody } from './count-body.ts';
import { needsRepair, ownContents } from './own-contents.ts';
import { meterLarge } from './large-usage.ts';
import { modelPath } from './model-path.ts';

export const geminiPassthrough: Converter = {
  client: 'Gemini',
  upstream: 'Gemini',
  request: editRequest,
  response: (body) => {
    const response = parseObject(body);
    if (isErrorObject(response)) throw new FailedResponse(readGeminiStreamError(response));
    const tally = new OutputTally();
    const candidates = new CandidateReader({ id: '', notes: undefined }, tally);
    candidates.read(response);
    if (!candidates.ended) throw new SyntaxError('the response has no end');
    return { body, meter: meterOf(readUsage(response['usageMetadata']), tally.bytes) };
  },
  large: () => meterLarge(({ usageMetadata }, outputBytes) => meterOf(readUsage(usageMetadata), outputBytes)),
  stream: (request) =>
    openEventStream(new ChunkPassthrough(request), {
      client: 'Gemini',
      requestId: request.id,
      maxEventBytes: MAX_PICTURE_EVENT_BYTES,
    }),
};

/** Counts of the same protocol: the request names the model once more within what it counts. */
export const countPassthrough: TokenCounter['request'] = (body, parsed, { upstreamModel: model, platform }) => {
  const { generateContentRequest: wrapped } = canonicalNames(parsed);
  const path = modelPath(model, 'countTokens');
  if (!isRecord(wrapped)) return { path, body };
  const given = canonicalNames(reparseLosslessly(body, parsed))['generateContentRequest'];
  const counted = { ...recordOf(given), model: `models/${model}` };
  return { path, body: Buffer.from(writeJson(countBody(counted, platform))) };
};

function editRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  // both spellings of one field would have two readings
  const request = canonicalNames(parsed);
  const dropped = new DroppedFields();
  const edits = new Map<string, JsonEdit>();
  editLimit(edits, { body, parsed, request }, plan);
  if (plan.providerTools === 'Drop') dropTools(edits, { body, parsed, request }, dropped);
  if (needsRepair(request['contents'])) {
    const name = spelling(parsed, 'contents');
    edits.set(name, writeJson(ownContents(reparseLosslessly(body, parsed)[name])));
  }
  const { upstreamModel: model } = plan;
  return {
    path: modelPath(model, plan.stream === true ? 'streamGenerateContent?alt=sse' : 'generateContent'),
    body: editObject(body, edits, plan.scanned),
    dropped: dropped.params,
  };
}

interface GivenRequest {
  readonly body: Uint8Array;
  readonly parsed: JsonRecord;
  /** With names in camel case. */
  readonly request: JsonRecord;
}

/** The name by which a client wrote a field. */
function spelling(object: JsonRecord, name: string): string {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(object, snake) ? snake : name;
}

function editLimit(edits: Map<string, JsonEdit>, { body, parsed, request }: GivenRequest, plan: RequestPlan): void {
  const { maxOutputTokens: limit } = plan;
  const config = recordOf(request['generationConfig']);
  if (limit === undefined || config['maxOutputTokens'] === limit) return;
  const name = spelling(parsed, 'generationConfig');
  const given = parsed[name];
  const bytes = isRecord(given) ? memberBytes(body, name) : undefined;
  const inner = isRecord(given) ? spelling(given, 'maxOutputTokens') : 'maxOutputTokens';
  const edited = bytes && editObject(bytes, new Map([[inner, String(limit)]]));
  edits.set(name, edited ?? writeJson({ maxOutputTokens: limit }));
}

/** Tools are objects with a member for each kind of tool; the client runs only its functions. */
function dropTools(
  edits: Map<string, JsonEdit>,
  { body, parsed, request }: GivenRequest,
  dropped: DroppedFields,
): void {
  const tools = itemsOf(request['tools']).filter(isRecord);
  for (const [index, tool] of tools.entries())
    for (const name of Object.keys(tool))
      if (name !== 'functionDeclarations' && isGiven(tool[name])) dropped.add(`tools[${index}].${name}`);
  if (!dropped.params) return;
  const kept = itemsOf(canonicalNames(reparseLosslessly(body, parsed))['tools'])
    .filter(isRecord)
    .filter(({ functionDeclarations }) => isGiven(functionDeclarations))
    .map(({ functionDeclarations }) => ({ functionDeclarations }));
  edits.set('tools', kept.length > 0 ? writeJson(kept) : undefined);
}

/** Chunks pass on until one says why the response has stopped; what follows is held back until the call is settled. */
class ChunkPassthrough implements EventHandler {
  readonly #request: StreamRequest;
  readonly #streamMeter = new GeminiStreamMeter();
  readonly #candidates: CandidateReader;
  readonly #held: Uint8Array[] = [];
  #failure: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#candidates = new CandidateReader({ id: request.id, notes: undefined }, this.#streamMeter.tally);
  }

  get terminal(): boolean {
    return this.#failure !== undefined;
  }

  get meter(): Meter {
    return this.#streamMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    // comments and blank lines, which some of Google's SDKs take for data
    if (event.data === undefined) return [];
    const data = parseEventData(unlisted(event.data));
    if (data && isErrorObject(data)) {
      this.#failure = failStream('Gemini', readGeminiStreamError(data), this.#request.id);
      return [];
    }
    if (data) {
      this.#candidates.read(data);
      this.#streamMeter.add(data['usageMetadata'], this.#candidates.ended);
    }
    if (!this.#candidates.ended) return [event.raw];
    this.#held.push(event.raw);
    return [];
  }

  finish(): StreamEnd {
    if (this.#failure) return this.#failure;
    if (!this.#candidates.ended) return { outcome: 'Cut' };
    return { outcome: 'Complete', last: Buffer.concat(this.#held) };
  }
}
