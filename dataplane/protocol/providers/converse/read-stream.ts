/**
 * Reads the events of ConverseStream. Converse starts only the blocks of calls; those of text and reasoning begin with
 * their first piece. The usage comes after the stop reason.
 */
import type { Meter, ReportedUsage } from '../../converter.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import { anthropicProof } from '../../conversation/reasoning.ts';
import { isRecord, stringOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { parseEventData } from '../../json-value.ts';
import { OutputTally } from '../../output-tally.ts';
import { readStreamError } from '../../provider-errors.ts';
import type { SseEvent } from '../../sse.ts';
import { meterOf, UNREPORTED_USAGE } from '../../usage.ts';
import { clientToolName } from '../chat-provider.ts';
import { withoutData } from '../pings.ts';
import type { EventReader, ResponseReadContext } from '../chat-provider.ts';
import { finishOf, redactedEvent } from './read-response.ts';
import { readUsage } from './usage.ts';

const NO_EVENTS: readonly ConversationEvent[] = [];

/** The block that is open, by the provider's index. */
interface OpenBlock {
  readonly kind: 'Reasoning' | 'Call';
  readonly source: unknown;
  /** Of reasoning, as far as it has come. */
  signature: string;
}

export class ConverseEventReader implements EventReader {
  readonly #context: ResponseReadContext;
  readonly #tally = new OutputTally();
  #started = false;
  #open: OpenBlock | undefined;
  #reported: ReportedUsage = UNREPORTED_USAGE;
  #stopReason: string | undefined;
  #calledTools = false;
  #terminal = false;

  constructor(context: ResponseReadContext) {
    this.#context = context;
  }

  get terminal(): boolean {
    return this.#terminal;
  }

  get meter(): Meter {
    return meterOf(this.#reported, this.#tally);
  }

  read(event: SseEvent): readonly ConversationEvent[] {
    if (event.data === undefined) return withoutData(event);
    const data = parseEventData(event.data);
    if (event.event === 'error') return this.#fail({ type: 'error', error: readStreamError(data ?? event.data) });
    return data ? this.#readEvent(event.event, data) : NO_EVENTS;
  }

  end(): readonly ConversationEvent[] | undefined {
    if (this.#stopReason === undefined) return undefined;
    return [...this.#opening(), ...this.#close(), finishOf(this.#stopReason, this.#calledTools)];
  }

  #readEvent(name: string | undefined, data: JsonRecord): readonly ConversationEvent[] {
    switch (name) {
      case 'messageStart':
        return this.#opening();
      case 'contentBlockStart':
        return [...this.#opening(), ...this.#startCall(data)];
      case 'contentBlockDelta':
        return [...this.#opening(), ...this.#readDelta(data)];
      case 'contentBlockStop':
        return this.#open?.source === data['contentBlockIndex'] ? this.#close() : NO_EVENTS;
      case 'messageStop':
        return this.#stop(stringOf(data['stopReason']));
      case 'metadata':
        return this.#readMetadata(data);
      default:
        return NO_EVENTS;
    }
  }

  #stop(reason: string): readonly ConversationEvent[] {
    const finish = finishOf(reason, this.#calledTools);
    if (finish.type === 'error') return this.#fail(finish);
    this.#stopReason = reason;
    return this.#close();
  }

  /** Usage that comes before the stop reason is kept, and does not end the stream. */
  #readMetadata({ usage, serviceTier }: JsonRecord): readonly ConversationEvent[] {
    if (isRecord(usage)) this.#reported = readUsage(usage, serviceTier);
    this.#terminal = this.#stopReason !== undefined;
    return NO_EVENTS;
  }

  #fail(event: ConversationEvent): readonly ConversationEvent[] {
    this.#terminal = true;
    return [event];
  }

  #opening(): readonly ConversationEvent[] {
    if (this.#started) return NO_EVENTS;
    this.#started = true;
    return [{ type: 'start', model: undefined }];
  }

  /** One without a name is no call, and nor is the input that follows. */
  #startCall({ start, contentBlockIndex: source }: JsonRecord): readonly ConversationEvent[] {
    const toolUse = isRecord(start) ? start['toolUse'] : undefined;
    if (!isRecord(toolUse)) return NO_EVENTS;
    const sent = stringOf(toolUse['name']);
    this.#tally.add(sent);
    const closing = this.#close();
    if (sent === '') return closing;
    this.#open = { kind: 'Call', source, signature: '' };
    this.#calledTools = true;
    const name = clientToolName(sent, this.#context.notes);
    return [...closing, { type: 'call-start', id: stringOf(toolUse['toolUseId']), name }];
  }

  #readDelta({ delta, contentBlockIndex: source }: JsonRecord): readonly ConversationEvent[] {
    if (!isRecord(delta)) return NO_EVENTS;
    const { text, toolUse, reasoningContent } = delta;
    if (typeof text === 'string') {
      this.#tally.add(text);
      return [...this.#closeUnless(undefined, source), ...(text === '' ? [] : [{ type: 'text-delta' as const, text }])];
    }
    if (isRecord(toolUse)) return this.#readInput(stringOf(toolUse['input']), source);
    return isRecord(reasoningContent) ? this.#readReasoning(reasoningContent, source) : NO_EVENTS;
  }

  /** Input without a call is ignored. */
  #readInput(text: string, source: unknown): readonly ConversationEvent[] {
    this.#tally.add(text);
    return this.#open?.kind === 'Call' && this.#open.source === source && text !== ''
      ? [{ type: 'call-delta', text }]
      : NO_EVENTS;
  }

  #readReasoning(reasoning: JsonRecord, source: unknown): readonly ConversationEvent[] {
    const { text, signature, redactedContent } = reasoning;
    if (typeof redactedContent === 'string') return [...this.#close(), redactedEvent(redactedContent)];
    const closing = this.#closeUnless('Reasoning', source);
    this.#open ??= { kind: 'Reasoning', source, signature: '' };
    this.#open.signature += stringOf(signature);
    this.#tally.add(text);
    return typeof text === 'string' && text !== '' ? [...closing, { type: 'reasoning-delta', text }] : closing;
  }

  #closeUnless(kind: OpenBlock['kind'] | undefined, source: unknown): readonly ConversationEvent[] {
    return this.#open?.kind === kind && this.#open?.source === source ? NO_EVENTS : this.#close();
  }

  #close(): readonly ConversationEvent[] {
    const open = this.#open;
    if (!open) return NO_EVENTS;
    this.#open = undefined;
    return [
      open.kind === 'Call' ? { type: 'call-end' } : { type: 'reasoning-end', proof: anthropicProof(open.signature) },
    ];
  }
}
