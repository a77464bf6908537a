/**
 * Reads the blocks of a response, whole or as the deltas of a stream, into events. One block is open at a time; another
 * one, or a delta of it, ends the open one.
 */
import type { ConversationEvent } from '../../conversation/events.ts';
import { anthropicProof } from '../../conversation/reasoning.ts';
import { convertedFields } from '../../field-table.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { fromToolUseId } from '../../tool-ids.ts';
import { clientToolName } from '../chat-provider.ts';
import type { ResponseReadContext } from '../chat-provider.ts';
import { TEXT_BLOCK, THINKING_BLOCK, TOOL_USE_BLOCK } from './table.ts';

type Events = readonly ConversationEvent[];
const NO_EVENTS: Events = [];

type OpenBlock =
  | { readonly kind: 'Text'; readonly key: unknown; readonly start: number; readonly citations: unknown[] }
  | { readonly kind: 'Thinking'; readonly key: unknown; signature: string }
  /** Some providers send the input whole, in the block's start. */
  | { readonly kind: 'Call'; readonly key: unknown; readonly input: unknown; hasDeltas: boolean };

export class BlockReader {
  readonly #notes: ResponseReadContext['notes'];
  #open: OpenBlock | undefined;
  /** Of all text so far, in UTF-16 units. */
  #length = 0;
  #calledTools = false;

  constructor({ notes }: Pick<ResponseReadContext, 'notes'>) {
    this.#notes = notes;
  }

  get calledTools(): boolean {
    return this.#calledTools;
  }

  /** `key`: the index of the block. */
  start(block: JsonRecord, key: unknown): Events {
    return [...this.close(), ...this.#begin(block, key)];
  }

  add(delta: JsonRecord, key: unknown): Events {
    const text = textOf(delta['text']);
    if (text !== undefined) return [...this.#closeUnless('Text', key), ...this.#text(text)];
    const thinking = textOf(delta['thinking']);
    if (thinking !== undefined) return [...this.#closeUnless('Thinking', key), ...thought(thinking)];
    const open = this.#open;
    return open && open.key === key ? addTo(open, delta) : NO_EVENTS;
  }

  stop(key: unknown): Events {
    return this.#open?.key === key ? this.close() : NO_EVENTS;
  }

  close(): Events {
    const open = this.#open;
    this.#open = undefined;
    switch (open?.kind) {
      case undefined:
        return NO_EVENTS;
      case 'Text':
        return open.citations.flatMap((citation) => cite(citation, open.start, this.#length));
      case 'Thinking':
        return [{ type: 'reasoning-end', proof: anthropicProof(open.signature) }];
      case 'Call':
        return [...(open.hasDeltas ? [] : wholeInput(open.input)), { type: 'call-end' }];
    }
  }

  #begin(block: JsonRecord, key: unknown): Events {
    switch (block['type']) {
      case 'text': {
        const { text, citations } = convertedFields(TEXT_BLOCK, block);
        this.#open = { kind: 'Text', key, start: this.#length, citations: [...itemsOf(citations)] };
        return this.#text(stringOf(text));
      }
      case 'thinking': {
        const { thinking, signature } = convertedFields(THINKING_BLOCK, block);
        this.#open = { kind: 'Thinking', key, signature: stringOf(signature) };
        return thought(stringOf(thinking));
      }
      case 'redacted_thinking':
        return [{ type: 'reasoning-end', proof: { maker: 'Anthropic', redacted: stringOf(block['data']) } }];
      case 'tool_use':
        return this.#beginCall(block, key);
      default:
        return NO_EVENTS;
    }
  }

  /** One without a name is no call, and nor is the input that follows. */
  #beginCall(block: JsonRecord, key: unknown): Events {
    const { id, name: sent, input } = convertedFields(TOOL_USE_BLOCK, block);
    if (textOf(sent) === undefined) return NO_EVENTS;
    this.#open = { kind: 'Call', key, input, hasDeltas: false };
    this.#calledTools = true;
    return [{ type: 'call-start', id: fromToolUseId(stringOf(id)), name: clientToolName(stringOf(sent), this.#notes) }];
  }

  #closeUnless(kind: OpenBlock['kind'], key: unknown): Events {
    return this.#open?.kind === kind && this.#open.key === key ? NO_EVENTS : this.close();
  }

  #text(text: string): Events {
    this.#length += text.length;
    return text === '' ? NO_EVENTS : [{ type: 'text-delta', text }];
  }
}

function thought(text: string): Events {
  return text === '' ? NO_EVENTS : [{ type: 'reasoning-delta', text }];
}

/** Adds a delta other than text. */
function addTo(open: OpenBlock, { signature, citation, partial_json: input }: JsonRecord): Events {
  switch (open.kind) {
    case 'Text':
      if (isRecord(citation)) open.citations.push(citation);
      return NO_EVENTS;
    case 'Thinking':
      open.signature += stringOf(signature);
      return NO_EVENTS;
    case 'Call': {
      const text = stringOf(input);
      open.hasDeltas ||= text !== '';
      return text === '' ? NO_EVENTS : [{ type: 'call-delta', text }];
    }
  }
}

function wholeInput(input: unknown): Events {
  const isEmpty = !isRecord(input) || Object.keys(input).length === 0;
  return isEmpty ? NO_EVENTS : [{ type: 'call-delta', text: writeJson(input) }];
}

/** A source without an address has no counterpart. */
function cite(citation: unknown, start: number, end: number): Events {
  if (!isRecord(citation)) return NO_EVENTS;
  const url = textOf(citation['url']) ?? textOf(citation['source']);
  return url === undefined ? NO_EVENTS : [{ type: 'citation', url, title: textOf(citation['title']), start, end }];
}
