/**
 * Writes a stream of chunks: the role first, then text, reasoning and calls as they come, and once the response is over
 * the finish_reason of each candidate, usage if the client asked for it, and [DONE].
 */
import { decodeUtf8 } from '../../bytes.ts';
import type { CitationEvent, ConversationEvent, FinishEvent, TokenProbability } from '../../conversation/events.ts';
import type { ReasoningProof } from '../../conversation/reasoning.ts';
import { writeJson } from '../../json-value.ts';
import { DONE } from '../../openai/done.ts';
import type { StreamWriteContext, StreamWriter } from '../client.ts';
import { ChunkWriter } from './chunk-writer.ts';
import {
  completionId,
  finishReasonOf,
  isWrittenWhole,
  serviceTierOf,
  writeCall,
  writeCitations,
  writeImage,
  writeLogProbabilities,
  writeReasoningDetail,
  writeUsage,
} from './write-parts.ts';

/** A comment, which clients ignore. */
const KEEP_ALIVE = ': ping\n\n';
const END = decodeUtf8(DONE);

export class ChunkStreamWriter implements StreamWriter {
  readonly #context: StreamWriteContext;
  readonly #choices: ChoiceWriter[] = [];
  #writer: ChunkWriter | undefined;

  constructor(context: StreamWriteContext) {
    this.#context = context;
  }

  write(event: ConversationEvent): string {
    switch (event.type) {
      case 'ping':
        return KEEP_ALIVE;
      case 'start': {
        const writer = this.#open(event.model);
        return this.#choice(0, writer).opening();
      }
      // they are written at the end, or elsewhere
      case 'error':
        return '';
      default:
        return this.#choice(event.candidate ?? 0, this.#open(undefined)).write(event);
    }
  }

  end(): string {
    const usage = this.#context.usage();
    const writer = this.#open(undefined);
    this.#choice(0, writer);
    const tier = serviceTierOf(usage);
    const choices = this.#choices.map((choice) => choice.end(tier)).join('');
    return choices + (this.#context.wantsStreamUsage ? writer.usage(writeUsage(usage)) : '') + END;
  }

  #open(model: string | undefined): ChunkWriter {
    const { id, createdSeconds, model: asked, wantsStreamUsage } = this.#context;
    this.#writer ??= new ChunkWriter({ id: completionId(id), createdSeconds, model: model ?? asked }, wantsStreamUsage);
    return this.#writer;
  }

  #choice(index: number, writer: ChunkWriter): ChoiceWriter {
    while (this.#choices.length <= index)
      this.#choices.push(new ChoiceWriter(this.#choices.length, writer, this.#context));
    return this.#choices[index] ?? new ChoiceWriter(index, writer, this.#context);
  }
}

type ChoiceEvent = Exclude<ConversationEvent, { type: 'start' | 'error' | 'ping' }>;

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly position: number;
  /** It is written once it is complete. */
  readonly isWhole: boolean;
  text: string;
}

/** Writes one choice. What belongs to earlier text is written before the next event. */
class ChoiceWriter {
  readonly #index: number;
  readonly #writer: ChunkWriter;
  readonly #context: StreamWriteContext;
  #started = false;
  #calls = 0;
  #call: OpenCall | undefined;
  #reasonings = 0;
  /** The text of the reasoning that is open. */
  #reasoning: string | undefined;
  #citations: CitationEvent[] = [];
  #tokens: TokenProbability[] = [];
  #refused = false;
  #finish: FinishEvent | undefined;

  constructor(index: number, writer: ChunkWriter, context: StreamWriteContext) {
    this.#index = index;
    this.#writer = writer;
    this.#context = context;
  }

  /** The first chunk, with the role; empty after the first call. */
  opening(): string {
    if (this.#started) return '';
    this.#started = true;
    return this.#writer.delta(this.#index, { role: 'assistant', content: '' });
  }

  write(event: ChoiceEvent): string {
    const opening = this.opening();
    return opening + (event.type === 'citation' ? '' : this.#citeSources()) + this.#writeEvent(event);
  }

  end(serviceTier: string | undefined): string {
    const { notes } = this.#context;
    const rest = this.opening() + this.#citeSources() + this.#endCall();
    const detail = this.#finish?.reason === 'Refusal' && !this.#refused ? this.#finish.detail : undefined;
    const refusal = detail === undefined ? '' : this.#writer.text(this.#index, 'refusal', { text: detail });
    const reason = finishReasonOf(this.#finish?.reason, notes);
    const logProbabilities = this.#takeTokens();
    return rest + refusal + this.#writer.finish(this.#index, reason, { serviceTier, logProbabilities });
  }

  #writeEvent(event: ChoiceEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.#endReasoning(undefined) + this.#text('content', event.text);
      case 'refusal-delta':
        this.#refused = true;
        return this.#endReasoning(undefined) + this.#text('refusal', event.text);
      case 'reasoning-delta':
        this.#reasoning = (this.#reasoning ?? '') + event.text;
        return this.#text('reasoning_content', event.text);
      case 'reasoning-end':
        return this.#endReasoning(event.proof);
      case 'call-start':
        return this.#endReasoning(undefined) + this.#endCall() + this.#startCall(event);
      case 'call-delta':
        return this.#addArguments(event.text);
      case 'call-end':
        return this.#endCall();
      case 'image':
        return this.#endReasoning(undefined) + this.#writer.delta(this.#index, { images: [writeImage(event)] });
      default:
        this.#keep(event);
        return '';
    }
  }

  /** What is written with a later event, or at the end. */
  #keep(event: Extract<ChoiceEvent, { type: 'citation' | 'log-probabilities' | 'finish' }>): void {
    if (event.type === 'citation') this.#citations.push(event);
    else if (event.type === 'finish') this.#finish = event;
    else this.#tokens.push(...event.tokens);
  }

  #text(member: 'content' | 'reasoning_content' | 'refusal', text: string): string {
    if (text === '') return '';
    const logProbabilities = member === 'content' ? this.#takeTokens() : undefined;
    return this.#writer.text(this.#index, member, { text, logProbabilities });
  }

  #takeTokens(): string | undefined {
    if (this.#tokens.length === 0) return undefined;
    const written = writeLogProbabilities(this.#tokens);
    this.#tokens = [];
    return written && writeJson(written);
  }

  #citeSources(): string {
    if (this.#citations.length === 0) return '';
    const annotations = writeCitations(this.#citations);
    this.#citations = [];
    return annotations.length > 0 ? this.#writer.delta(this.#index, { annotations }) : '';
  }

  /** The text was sent as it came, and is sent again with its proof, so that the client can return both. */
  #endReasoning(proof: ReasoningProof | undefined): string {
    const isOpen = this.#reasoning !== undefined;
    const text = this.#reasoning ?? '';
    this.#reasoning = undefined;
    // what only its maker can read is a piece of its own
    if (isOpen && proof && 'redacted' in proof) this.#reasonings++;
    if (!isOpen && !proof) return '';
    const detail = writeReasoningDetail(text, proof, this.#reasonings++);
    return detail ? this.#writer.delta(this.#index, { reasoning_details: [detail] }) : '';
  }

  #startCall({ id, name }: { readonly id: string; readonly name: string }): string {
    const { notes } = this.#context;
    const position = this.#calls++;
    this.#call = { id, name, position, isWhole: isWrittenWhole(name, notes), text: '' };
    if (this.#call.isWhole) return '';
    const call = { index: position, ...writeCall({ id, name, text: '' }, notes) };
    return this.#writer.delta(this.#index, { tool_calls: [call] });
  }

  #addArguments(text: string): string {
    if (!this.#call || text === '') return '';
    this.#call.text += text;
    return this.#call.isWhole ? '' : this.#writer.arguments(this.#index, this.#call.position, text);
  }

  /** Arguments that never came are an empty object: clients parse the joined arguments. */
  #endCall(): string {
    const call = this.#call;
    if (!call) return '';
    this.#call = undefined;
    if (!call.isWhole) return call.text === '' ? this.#writer.arguments(this.#index, call.position, '{}') : '';
    return this.#writeWhole(call);
  }

  /** An older client's function_call is one call. */
  #writeWhole({ id, name, position, text: given }: OpenCall): string {
    const { notes } = this.#context;
    const call = writeCall({ id, name, text: given === '' ? '{}' : given }, notes);
    if (notes?.legacyFunctions !== true)
      return this.#writer.delta(this.#index, { tool_calls: [{ index: position, ...call }] });
    return position === 0 ? this.#writer.delta(this.#index, call) : '';
  }
}
