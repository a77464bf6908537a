/** Converts the Parrot's responses to chat completions: whole ones, and streams of words that end with their usage. */
import type {
  ResponseContext,
  ConvertedResponse,
  Meter,
  StreamEnd,
  StreamRequest,
} from '../../../../../dataplane/protocol/converter.ts';
import { failStream } from '../../../../../dataplane/protocol/stream-errors.ts';
import type { EventHandler } from '../../../../../dataplane/protocol/event-stream.ts';
import { isRecord, stringOf, textOf, utf8Bytes } from '../../../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../../../dataplane/protocol/fields.ts';
import { parseEventData, parseObject } from '../../../../../dataplane/protocol/json-value.ts';
import { DONE } from '../../../../../dataplane/protocol/openai/done.ts';
import { readStreamError } from '../../../../../dataplane/protocol/provider-errors.ts';
import { writeEvent } from '../../../../../dataplane/protocol/sse.ts';
import type { SseEvent } from '../../../../../dataplane/protocol/sse.ts';
import { fillUsage, meterOf, UNREPORTED_USAGE, readTokenCount } from '../../../../../dataplane/protocol/usage.ts';

/** Usage is checked: readTokenCount accepts only plausible counts. */
function meter(counts: unknown, outputBytes: number): Meter {
  const { heard, said } = isRecord(counts) ? counts : {};
  return meterOf({ ...UNREPORTED_USAGE, input: readTokenCount(heard), output: readTokenCount(said) }, outputBytes);
}

function writeUsage(metered: Meter, estimatedInputTokens: number): JsonRecord {
  const { input = 0, output = 0 } = fillUsage(metered, estimatedInputTokens);
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** Throws SyntaxError if it is not a response. */
export function convertResponse(body: Uint8Array, answer?: ResponseContext): ConvertedResponse {
  const { said, bird, counts } = parseObject(body);
  if (typeof said !== 'string') throw new SyntaxError('the answer says nothing');
  const metered = meter(counts, utf8Bytes(said));
  const completion = {
    id: `chatcmpl-${answer?.id ?? ''}`,
    object: 'chat.completion',
    created: answer?.createdSeconds ?? 0,
    model: bird,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: said, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: writeUsage(metered, answer?.estimatedInputTokens ?? 0),
  };
  return { body: Buffer.from(JSON.stringify(completion)), meter: metered };
}

/** `{"word"}` repeatedly, then `{"counts"}`, which is the end. */
export class WordsToChunks implements EventHandler {
  readonly #request: StreamRequest;
  #outputBytes = 0;
  #counts: unknown;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return meter(this.#counts, this.#outputBytes);
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    const data = event.data === undefined ? undefined : parseEventData(event.data);
    if (!data) return [];
    if (data['squawk'] !== undefined) {
      this.#end = failStream('OpenAI', readStreamError(data['squawk']), this.#request.id);
      return [];
    }
    const word = textOf(data['word']);
    this.#outputBytes += utf8Bytes(word);
    if (isRecord(data['counts'])) return this.#close(data['counts']);
    return word === undefined ? [] : [this.#chunk({ role: 'assistant', content: word }, null)];
  }

  /** Without its end, the stream was cut off. */
  finish(): StreamEnd {
    return this.#end ?? { outcome: 'Cut' };
  }

  /** The last event is held back until the call is settled. */
  #close(counts: JsonRecord): readonly Uint8Array[] {
    this.#counts = counts;
    this.#end = { outcome: 'Complete', last: DONE };
    const usage = this.#write({ choices: [], usage: writeUsage(this.meter, this.#request.estimatedInputTokens) });
    return [this.#chunk({}, 'stop'), ...(this.#request.wantsStreamUsage ? [usage] : [])];
  }

  #chunk(delta: JsonRecord, finishReason: string | null): Uint8Array {
    return this.#write({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
  }

  #write(rest: JsonRecord): Uint8Array {
    const { id, createdSeconds, model } = this.#request;
    return writeEvent(
      JSON.stringify({
        id: `chatcmpl-${stringOf(id)}`,
        object: 'chat.completion.chunk',
        created: createdSeconds,
        model,
        ...rest,
      }),
    );
  }
}
