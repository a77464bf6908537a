/**
 * Anthropic client, Anthropic provider: bytes pass through. Only the model's name and max_tokens change, and
 * thinking that another provider made is left out.
 */
import { isAnthropicError } from './anthropic/errors.ts';
import { ownMessages } from './anthropic/foreign-thinking.ts';
import { MessageEventMeter, meterMessage } from './anthropic/stream-meter.ts';
import { isServerTool } from './anthropic/tool-types.ts';
import type { Converter, Meter, RequestPlan, StreamEnd, StreamRequest, UpstreamBody } from './converter.ts';
import { DroppedFields } from './dropped-fields.ts';
import { FailedResponse } from './failed-response.ts';
import { failStream } from './stream-errors.ts';
import { openEventStream } from './event-stream.ts';
import type { EventHandler } from './event-stream.ts';
import type { JsonRecord } from './fields.ts';
import { editObject, editsOf, withChanges } from './json-edit.ts';
import { parseEventData, parseObject, reparseLosslessly } from './json-value.ts';
import { MESSAGE_STOP } from './anthropic/write-event.ts';
import { platformMembers } from './platforms/platform-request.ts';
import { readStreamError } from './provider-errors.ts';
import { withoutProviderTools } from './provider-tools.ts';
import type { ToolDialect } from './provider-tools.ts';
import type { SseEvent } from './sse.ts';

export const anthropicToAnthropic: Converter = {
  client: 'Anthropic',
  upstream: 'Anthropic',
  request: editRequest,
  response: (body) => {
    const message = parseObject(body);
    if (isAnthropicError(message)) throw new FailedResponse(readStreamError(message));
    if (!Array.isArray(message['content'])) throw new SyntaxError('the answer is not a message');
    return { body, meter: meterMessage(message) };
  },
  stream: (request) => openEventStream(new MessagePassthrough(request), { client: 'Anthropic', requestId: request.id }),
};

const TOOLS: ToolDialect = { runsAtClient: (tool) => !isServerTool(tool), needsTools: [] };

function editRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const dropped = new DroppedFields();
  const { upstreamModel: model, maxOutputTokens: limit, platform, scanned } = plan;
  const changed = new Map<string, unknown>(
    plan.providerTools === 'Drop' ? withoutProviderTools(body, parsed, { dialect: TOOLS, dropped }) : [],
  );
  if (parsed['model'] !== model) changed.set('model', model);
  if (limit !== undefined && parsed['max_tokens'] !== limit) changed.set('max_tokens', limit);
  const messages = ownMessages(body, parsed);
  if (messages !== undefined) changed.set('messages', messages);
  const given = (): JsonRecord => withChanges(reparseLosslessly(body, parsed), changed);
  const all = new Map([...changed, ...platformMembers({ plan: platform, given, dropped })]);
  return { path: '/v1/messages', body: editObject(body, editsOf(all), scanned), dropped: dropped.params };
}

class MessagePassthrough implements EventHandler {
  readonly #request: StreamRequest;
  readonly #eventMeter = new MessageEventMeter();
  /** Set by the terminal event or an error. */
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#eventMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    const data = event.data === undefined ? undefined : parseEventData(event.data);
    if (event.event === 'error' || (data && isAnthropicError(data))) {
      this.#end = failStream('Anthropic', readStreamError(data ?? event.data), this.#request.id);
      return [];
    }
    if (!data) return [event.raw];
    this.#eventMeter.add(data);
    if (data['type'] !== 'message_stop') return [event.raw];
    this.#end = { outcome: 'Complete', last: event.raw };
    return [];
  }

  /** Some providers send a stop reason and no message_stop: the message is complete. */
  finish(): StreamEnd {
    return (
      this.#end ??
      (this.#eventMeter.stopReason === undefined
        ? { outcome: 'Cut' }
        : { outcome: 'Complete', last: Buffer.from(MESSAGE_STOP) })
    );
  }
}
