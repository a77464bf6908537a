/**
 * Reads output items, whole or as the events of a stream, into events. An item's end has all of it: what no event said
 * before is taken from there.
 */
import type { ConversationEvent } from '../../conversation/events.ts';
import { Sequence } from '../../conversation/sequence.ts';
import type { CallPiece } from '../../conversation/sequence.ts';
import { convertedFields } from '../../field-table.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { clientToolName } from '../chat-provider.ts';
import type { ResponseReadContext } from '../chat-provider.ts';
import { CallIds } from '../openai-call-ids.ts';
import { readCitations } from '../openai-citations.ts';
import { readTokens } from '../openai-tokens.ts';
import { sealProof } from '../openai-proof.ts';
import { CALL, REASONING } from './table.ts';

/** The text of a custom tool comes as the arguments of a tool that takes one. */
const INPUT_START = '{"input":"';
const INPUT_END = '"}';

/** What deltas add to: of messages, of reasoning, and of calls. */
export type DeltaKind = 'Text' | 'Refusal' | 'Summary' | 'Reasoning' | 'Arguments' | 'Input';

/** An item while its events come. */
interface OpenItem {
  /** The provider's index of the item. */
  readonly key: unknown;
  /** The kinds of deltas that have come. */
  readonly begun: Set<DeltaKind>;
  /** Where its text begins in the text of the response. */
  readonly textStart: number;
  /** Of its summary. */
  part: unknown;
  isDone: boolean;
}

export class ItemReader {
  readonly #context: ResponseReadContext;
  readonly #sequence: Sequence;
  readonly #items = new Map<unknown, OpenItem>();
  #textLength = 0;
  /** What the model says when it refuses. */
  refusal = '';

  constructor(context: ResponseReadContext) {
    this.#context = context;
    const ids = new CallIds(context.id);
    this.#sequence = new Sequence({
      idOf: (given) => ids.idOf(given),
      clientName: (name) => clientToolName(name, context.notes),
    });
  }

  get calledTools(): boolean {
    return this.#sequence.calledTools;
  }

  /** The item begins. */
  start(key: unknown, item: unknown): readonly ConversationEvent[] {
    this.#itemAt(key);
    return isRecord(item) && isCall(item) ? this.#sequence.addCall({ ...callHead(item), key, text: '' }) : [];
  }

  delta(key: unknown, kind: DeltaKind, data: JsonRecord): readonly ConversationEvent[] {
    const item = this.#itemAt(key);
    if (item.isDone) return [];
    const text = stringOf(data['delta']);
    switch (kind) {
      case 'Text':
        return this.#addText(item, text, data['logprobs']);
      case 'Refusal':
        return this.#addRefusal(item, text);
      case 'Summary':
      case 'Reasoning':
        return this.#addReasoning(item, kind, { text, part: data['summary_index'] });
      case 'Arguments':
      case 'Input':
        return this.#addArguments(item, kind, text);
    }
  }

  /** The whole item: what deltas have not said, and its end. */
  end(key: unknown, given: unknown): readonly ConversationEvent[] {
    const item = this.#itemAt(key);
    if (!isRecord(given) || item.isDone) return [];
    const events = this.#readWhole(item, given);
    item.isDone = true;
    return events;
  }

  /** Whatever is open. */
  close(): readonly ConversationEvent[] {
    const open = [...this.#items.values()].filter(({ isDone, begun }) => !isDone && begun.has('Input'));
    const ends = open.flatMap(({ key }) => this.#sequence.addCall(piece(key, INPUT_END)));
    return [...ends, ...this.#sequence.close()];
  }

  #itemAt(key: unknown): OpenItem {
    const known = this.#items.get(key);
    if (known) return known;
    const item = { key, begun: new Set<DeltaKind>(), textStart: this.#textLength, part: undefined, isDone: false };
    this.#items.set(key, item);
    return item;
  }

  #add(events: readonly ConversationEvent[]): readonly ConversationEvent[] {
    return events.flatMap((event) => this.#sequence.add(event));
  }

  #addText({ begun }: OpenItem, text: string, logProbabilities: unknown): readonly ConversationEvent[] {
    if (text === '') return [];
    begun.add('Text');
    this.#textLength += text.length;
    const tokens = readTokens(logProbabilities);
    const probabilities: readonly ConversationEvent[] =
      tokens.length > 0 ? [{ type: 'log-probabilities', tokens }] : [];
    return this.#add([...probabilities, { type: 'text-delta', text }]);
  }

  #addRefusal({ begun }: OpenItem, text: string): readonly ConversationEvent[] {
    if (text === '') return [];
    begun.add('Refusal');
    this.refusal += text;
    return this.#add([{ type: 'refusal-delta', text }]);
  }

  /** Parts of a summary are paragraphs. Some providers send the reasoning itself and a summary of it. */
  #addReasoning(
    item: OpenItem,
    kind: 'Summary' | 'Reasoning',
    { text, part }: { readonly text: string; readonly part: unknown },
  ): readonly ConversationEvent[] {
    const other = kind === 'Summary' ? 'Reasoning' : 'Summary';
    if (text === '' || item.begun.has(other)) return [];
    const isNext = item.begun.has(kind) && part !== item.part;
    item.begun.add(kind);
    item.part = part;
    return this.#add([{ type: 'reasoning-delta', text: isNext ? `\n\n${text}` : text }]);
  }

  #addArguments({ key, begun }: OpenItem, kind: 'Arguments' | 'Input', text: string): readonly ConversationEvent[] {
    const start = kind === 'Input' && !begun.has(kind) ? INPUT_START : '';
    begun.add(kind);
    return this.#sequence.addCall(piece(key, start + (kind === 'Input' ? writeJson(text).slice(1, -1) : text)));
  }

  #readWhole(item: OpenItem, given: JsonRecord): readonly ConversationEvent[] {
    switch (given['type']) {
      case 'message':
        return this.#readMessage(item, given['content']);
      case 'reasoning':
        return this.#readReasoning(item, given);
      case 'function_call':
      case 'custom_tool_call':
        return this.#readCall(item, given);
      case 'image_generation_call':
        return this.#add(imageOf(given));
      default:
        return [];
    }
  }

  #readMessage(item: OpenItem, content: unknown): readonly ConversationEvent[] {
    const [hasText, hasRefusal] = [item.begun.has('Text'), item.begun.has('Refusal')];
    let start = item.textStart;
    return itemsOf(content)
      .filter(isRecord)
      .flatMap((part) => {
        if (part['type'] === 'refusal') return hasRefusal ? [] : this.#addRefusal(item, stringOf(part['refusal']));
        const text = stringOf(part['text']);
        const events = hasText ? [] : this.#addText(item, text, part['logprobs']);
        const citations = readCitations(part['annotations'], start);
        start += text.length;
        return [...events, ...this.#add(citations)];
      });
  }

  #readReasoning(item: OpenItem, given: JsonRecord): readonly ConversationEvent[] {
    const { summary, content } = convertedFields(REASONING, given);
    const hasText = item.begun.has('Summary') || item.begun.has('Reasoning');
    const text = textsOf(content, '') || textsOf(summary, '\n\n');
    const whole: readonly ConversationEvent[] = hasText || text === '' ? [] : [{ type: 'reasoning-delta', text }];
    const encrypted = textOf(given['encrypted_content']);
    const proof =
      encrypted === undefined
        ? undefined
        : sealProof({ id: stringOf(given['id']), content: encrypted }, this.#context.seal);
    return this.#add([...whole, { type: 'reasoning-end', proof }]);
  }

  #readCall(item: OpenItem, given: JsonRecord): readonly ConversationEvent[] {
    const { key } = item;
    const head = this.#sequence.addCall({ ...callHead(given), key, text: '' });
    const kind = given['type'] === 'custom_tool_call' ? 'Input' : 'Arguments';
    const whole = item.begun.has(kind) ? [] : this.#addArguments(item, kind, callText(given, kind));
    const end = kind === 'Input' ? this.#sequence.addCall(piece(key, INPUT_END)) : [];
    return [...head, ...whole, ...end, ...this.#sequence.endCall(key)];
  }
}

function piece(key: unknown, text: string): CallPiece {
  return { key, id: undefined, name: undefined, text };
}

function isCall({ type }: JsonRecord): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function callHead(item: JsonRecord): Pick<CallPiece, 'id' | 'name'> {
  const { call_id: id, name } = convertedFields(CALL, item);
  return { id: textOf(id), name: textOf(name) };
}

function callText(item: JsonRecord, kind: 'Arguments' | 'Input'): string {
  const { arguments: given, input } = convertedFields(CALL, item);
  if (kind === 'Input') return stringOf(input);
  return isRecord(given) ? writeJson(given) : stringOf(given);
}

function textsOf(parts: unknown, separator: string): string {
  return itemsOf(parts)
    .filter(isRecord)
    .map(({ text }) => stringOf(text))
    .join(separator);
}

function imageOf(item: JsonRecord): readonly ConversationEvent[] {
  const data = textOf(item['result']);
  const format = textOf(item['output_format']) ?? 'png';
  return data === undefined ? [] : [{ type: 'image', mediaType: `image/${format}`, data }];
}
