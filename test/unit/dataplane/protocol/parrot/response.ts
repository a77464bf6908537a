/** Reads the Parrot's responses into events: whole ones, and streams of words that end with their usage. */
import type { ConversationEvent } from '../../../../../dataplane/protocol/conversation/events.ts';
import type { Meter } from '../../../../../dataplane/protocol/converter.ts';
import { isRecord, textOf, utf8Bytes } from '../../../../../dataplane/protocol/fields.ts';
import { parseEventData, parseObject } from '../../../../../dataplane/protocol/json-value.ts';
import { readStreamError } from '../../../../../dataplane/protocol/provider-errors.ts';
import type { EventReader, ReadResponse } from '../../../../../dataplane/protocol/providers/chat-provider.ts';
import type { SseEvent } from '../../../../../dataplane/protocol/sse.ts';
import { meterOf, readTokenCount, UNREPORTED_USAGE } from '../../../../../dataplane/protocol/usage.ts';

const FINISH: ConversationEvent = { type: 'finish', reason: 'Stop', detail: undefined };

/** Usage is checked: readTokenCount accepts only plausible counts. */
function meter(counts: unknown, outputBytes: number): Meter {
  const { heard, said } = isRecord(counts) ? counts : {};
  return meterOf({ ...UNREPORTED_USAGE, input: readTokenCount(heard), output: readTokenCount(said) }, outputBytes);
}

/** Throws SyntaxError if it is not a response. */
export function readResponse(body: Uint8Array): ReadResponse {
  const { said, bird, counts } = parseObject(body);
  if (typeof said !== 'string') throw new SyntaxError('the response says nothing');
  const events: readonly ConversationEvent[] = [
    { type: 'start', model: textOf(bird) },
    { type: 'text-delta', text: said },
    FINISH,
  ];
  return { events, meter: meter(counts, utf8Bytes(said)) };
}

/** `{"word"}` repeatedly, then `{"counts"}`, which is the end. */
export class WordReader implements EventReader {
  #outputBytes = 0;
  #counts: unknown;
  #failed = false;
  #started = false;

  get terminal(): boolean {
    return this.#failed || this.#counts !== undefined;
  }

  get meter(): Meter {
    return meter(this.#counts, this.#outputBytes);
  }

  read(event: SseEvent): readonly ConversationEvent[] {
    const data = event.data === undefined ? undefined : parseEventData(event.data);
    if (!data) return [];
    if (data['squawk'] !== undefined) {
      this.#failed = true;
      return [{ type: 'error', error: readStreamError(data['squawk']) }];
    }
    this.#counts = data['counts'];
    const word = textOf(data['word']);
    this.#outputBytes += utf8Bytes(word);
    return [...this.#opening(), ...(word === undefined ? [] : [{ type: 'text-delta' as const, text: word }])];
  }

  /** Without its end, the stream was cut off. */
  end(): readonly ConversationEvent[] | undefined {
    return this.#counts === undefined ? undefined : [...this.#opening(), FINISH];
  }

  #opening(): readonly ConversationEvent[] {
    if (this.#started) return [];
    this.#started = true;
    return [{ type: 'start', model: undefined }];
  }
}
