/**
 * Writes a message stream: message_start with the usage so far, the blocks, of which one is open at a time, and with
 * the whole usage message_delta and message_stop.
 */
import { messageEvent, MESSAGE_STOP } from '../../anthropic/write-event.ts';
import { redactedBlock, signatureOf } from '../../anthropic/thinking-blocks.ts';
import type { ConversationEvent, FinishEvent } from '../../conversation/events.ts';
import type { ReasoningProof } from '../../conversation/reasoning.ts';
import type { JsonRecord } from '../../fields.ts';
import type { StreamWriteContext, StreamWriter } from '../client.ts';
import { callHead, messageHead, writeStop, writeUsage } from './write-response.ts';

type BlockType = 'text' | 'thinking' | 'tool_use';

const EMPTY: Readonly<Record<Exclude<BlockType, 'tool_use'>, JsonRecord>> = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
};
/** Before message_start clients expect no event. */
const COMMENT = ': ping\n\n';
const PING = messageEvent('ping', {});

export class MessageStreamWriter implements StreamWriter {
  readonly #context: StreamWriteContext;
  #started = false;
  #open: BlockType | undefined;
  #index = -1;
  #finish: FinishEvent | undefined;
  /**
   * Of the reasoning after a text: Claude Code prints nothing of a message that ends with them. For a client that has
   * not asked for thinking, of all that has no text, until the call that it led to.
   */
  readonly #heldProofs: ReasoningProof[] = [];

  constructor(context: StreamWriteContext) {
    this.#context = context;
  }

  write(event: ConversationEvent): string {
    if (event.type === 'ping') return this.#started ? PING : COMMENT;
    // a message is one candidate
    if ('candidate' in event && (event.candidate ?? 0) > 0) return '';
    return this.#opening() + this.#writeContent(event);
  }

  end(): string {
    const usage = writeUsage(this.#context.usage());
    const delta = writeStop(this.#finish);
    return this.#opening() + this.#close() + messageEvent('message_delta', { delta, usage }) + MESSAGE_STOP;
  }

  #writeContent(event: ConversationEvent): string {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        return this.#addText('text', event.text);
      case 'reasoning-delta':
        return this.#addText('thinking', event.text);
      case 'reasoning-end':
        return this.#endReasoning(event.proof);
      case 'call-start':
        return this.#begin('tool_use', { ...callHead(event), input: {} });
      case 'call-delta':
        return event.text === '' ? '' : this.#delta({ type: 'input_json_delta', partial_json: event.text });
      case 'call-end':
        return this.#close();
      case 'finish':
        this.#finish = event;
        return '';
      // the rest has no counterpart, or is written elsewhere
      default:
        return '';
    }
  }

  #opening(): string {
    if (this.#started) return '';
    this.#started = true;
    const { id, model, usage } = this.#context;
    const { details: _ofTheOutput, ...counts } = usage();
    const message = {
      ...messageHead({ id, model }),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: writeUsage({ ...counts, output: 0 }),
    };
    return messageEvent('message_start', { message });
  }

  #addText(type: 'text' | 'thinking', text: string): string {
    if (text === '') return '';
    const goesOn = this.#open === type && (this.#hidesProofs || this.#heldProofs.length === 0);
    const opening = goesOn ? '' : this.#begin(type, EMPTY[type]);
    return (
      opening + this.#delta(type === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text })
    );
  }

  /** Signs the reasoning that is open, or else an empty block of it, which follows a text only if more comes. */
  #endReasoning(proof: ReasoningProof | undefined): string {
    const isOpen = this.#open === 'thinking';
    if (!proof) return isOpen ? this.#close() : '';
    const isRedacted = redactedBlock(proof) !== undefined;
    if (isOpen && !isRedacted) return this.#sign(proof);
    if (this.#hidesProofs || (this.#open === 'text' && !isRedacted)) {
      this.#heldProofs.push(proof);
      return isOpen ? this.#close() : '';
    }
    return this.#close() + this.#writeHeldProofs() + this.#writeProof(proof);
  }

  get #hidesProofs(): boolean {
    return this.#context.notes?.hidesProofs === true;
  }

  /** A block of reasoning without a text. */
  #writeProof(proof: ReasoningProof): string {
    const redacted = redactedBlock(proof);
    if (redacted) return this.#start(redacted) + this.#event('content_block_stop', {});
    const start = this.#start(EMPTY.thinking);
    this.#open = 'thinking';
    return start + this.#sign(proof);
  }

  #sign(proof: ReasoningProof): string {
    return this.#delta({ type: 'signature_delta', signature: signatureOf(proof) }) + this.#close();
  }

  #begin(type: BlockType, block: JsonRecord): string {
    const end = this.#close();
    const text = end + (this.#hidesProofs && type !== 'tool_use' ? '' : this.#writeHeldProofs()) + this.#start(block);
    this.#open = type;
    return text;
  }

  #writeHeldProofs(): string {
    return this.#heldProofs
      .splice(0)
      .map((proof) => this.#writeProof(proof))
      .join('');
  }

  #close(): string {
    if (this.#open === undefined) return '';
    this.#open = undefined;
    return this.#event('content_block_stop', {});
  }

  #start(block: JsonRecord): string {
    this.#index++;
    return this.#event('content_block_start', { content_block: block });
  }

  #delta(delta: JsonRecord): string {
    return this.#event('content_block_delta', { delta });
  }

  #event(type: string, rest: JsonRecord): string {
    return messageEvent(type, { index: this.#index, ...rest });
  }
}
