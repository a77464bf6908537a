/**
 * Writes the chunks of a stream of Google's protocol: whole events with data and nothing else, because some of Google's
 * SDKs take blank lines and comments for data. The last chunk has the finish reasons and the usage.
 */
import type {
  CallDelta,
  CallEnd,
  CallStart,
  ConversationEvent,
  FinishEvent,
  LogProbabilitiesEvent,
  ReasoningDelta,
  ReasoningEnd,
  TokenProbability,
} from '../../conversation/events.ts';
import type { JsonRecord } from '../../fields.ts';
import type { StreamWriteContext, StreamWriter } from '../client.ts';
import { PartsWriter, writeCandidate, writeGenerated } from './write-response.ts';

/** A candidate while its events come. */
interface OpenCandidate {
  readonly parts: PartsWriter;
  /** Of the reasoning that is open. */
  reasoning: string;
  call: { readonly id: string; readonly name: string; text: string } | undefined;
  readonly logProbabilities: TokenProbability[];
  finish: FinishEvent | undefined;
}

export class ChunkStreamWriter implements StreamWriter {
  readonly #context: StreamWriteContext;
  readonly #candidates = new Map<number, OpenCandidate>();
  #model: string;
  #begun = false;

  constructor(context: StreamWriteContext) {
    this.#context = context;
    this.#model = context.model;
  }

  write(event: ConversationEvent): string {
    switch (event.type) {
      case 'start':
        this.#model = event.model ?? this.#model;
        return '';
      case 'ping':
      case 'citation':
      case 'error':
        return '';
      default:
        return this.#writeContent(event);
    }
  }

  end(): string {
    if (this.#candidates.size === 0) this.#candidateAt(0);
    const candidates = [...this.#candidates].map(([index, open]) => {
      const rest = [...this.#endReasoning(open), ...this.#endCall(open), ...open.parts.close()];
      const { finish, logProbabilities, parts } = open;
      return writeCandidate(index, rest, { finish, logProbabilities, malformedCall: parts.malformedCall });
    });
    const { id, usage } = this.#context;
    return eventText(writeGenerated(candidates, { id, model: this.#model, usage: usage() }));
  }

  /** The first hidden piece of reasoning or of a call shows that the response has begun. */
  #writeContent(event: CandidateEvent): string {
    const index = event.candidate ?? 0;
    const parts = this.#addTo(this.#candidateAt(index), event);
    const begins = !this.#begun && event.type !== 'finish';
    this.#begun ||= begins;
    return parts.length > 0 || begins ? this.#chunk([writeCandidate(index, parts)]) : '';
  }

  #candidateAt(index: number): OpenCandidate {
    const open = this.#candidates.get(index) ?? {
      parts: new PartsWriter(this.#context),
      reasoning: '',
      call: undefined,
      logProbabilities: [],
      finish: undefined,
    };
    this.#candidates.set(index, open);
    return open;
  }

  #addTo(open: OpenCandidate, event: CandidateEvent): readonly JsonRecord[] {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        return [...this.#endReasoning(open), ...open.parts.text(event.text)];
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#addReasoning(open, event);
      case 'image':
        return open.parts.write({ type: 'Image', mediaType: event.mediaType, data: event.data });
      case 'log-probabilities':
      case 'finish':
        return this.#addEnd(open, event);
      default:
        return this.#addCall(open, event);
    }
  }

  #addCall(open: OpenCandidate, event: CallStart | CallDelta | CallEnd): readonly JsonRecord[] {
    if (event.type === 'call-end') return this.#endCall(open);
    if (event.type === 'call-delta') {
      if (open.call) open.call.text += event.text;
      return [];
    }
    open.call = { id: event.id, name: event.name, text: '' };
    return this.#endReasoning(open);
  }

  #addReasoning(open: OpenCandidate, event: ReasoningDelta | ReasoningEnd): readonly JsonRecord[] {
    if (event.type === 'reasoning-delta') {
      open.reasoning += event.text;
      return open.parts.thought(event.text);
    }
    open.parts.keep({ text: open.reasoning, proof: event.proof });
    open.reasoning = '';
    return [];
  }

  #addEnd(open: OpenCandidate, event: LogProbabilitiesEvent | FinishEvent): readonly JsonRecord[] {
    if (event.type === 'finish') open.finish = event;
    else open.logProbabilities.push(...event.tokens);
    return [];
  }

  /** Reasoning that ends without a proof. */
  #endReasoning(open: OpenCandidate): readonly JsonRecord[] {
    if (open.reasoning !== '') open.parts.keep({ text: open.reasoning, proof: undefined });
    open.reasoning = '';
    return [];
  }

  #endCall(open: OpenCandidate): readonly JsonRecord[] {
    const { call } = open;
    open.call = undefined;
    return call ? open.parts.call({ type: 'ToolCall', id: call.id, name: call.name, arguments: call.text }) : [];
  }

  #chunk(candidates: readonly JsonRecord[]): string {
    return eventText(writeGenerated(candidates, { id: this.#context.id, model: this.#model }));
  }
}

type CandidateEvent = Exclude<ConversationEvent, { readonly type: 'start' | 'ping' | 'citation' | 'error' }>;

function eventText(json: string): string {
  return `data: ${json}\n\n`;
}
