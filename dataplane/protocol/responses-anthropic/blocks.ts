/**
 * Converts content blocks of a message to output items.
 */
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { convertCitations } from './citations.ts';
import type { ItemSequence } from '../responses/item-sequence.ts';
import { fromToolUseId } from '../tool-ids.ts';

/** A block while its deltas come. Methods return the text of the events to send. */
export interface OpenBlock {
  add(delta: JsonRecord): string;
  stop(): string;
}

interface Started {
  /** Events for what the block begins with. */
  readonly events: string;
  readonly block: OpenBlock;
}

type Opener = (items: ItemSequence, block: JsonRecord, key: unknown) => Started;

const OPENERS: Readonly<Partial<Record<string, Opener>>> = {
  text: openText,
  thinking: openThinking,
  redacted_thinking: openRedacted,
  tool_use: openToolUse,
};

/** Undefined: a block without a counterpart. `key`: its index in the message. */
export function openBlock(items: ItemSequence, block: JsonRecord, key: unknown): Started | undefined {
  return OPENERS[stringOf(block['type'])]?.(items, block, key);
}

/** Consecutive text blocks become one text. */
function openText(items: ItemSequence, block: JsonRecord): Started {
  const start = items.textLength;
  const citations: unknown[] = [];
  const add = (text: unknown): string => (typeof text === 'string' && text !== '' ? items.addText(text) : '');
  if (Array.isArray(block['citations'])) citations.push(...(block['citations'] as unknown[]));
  return {
    events: add(block['text']),
    block: {
      add: ({ text, citation }) => {
        if (isRecord(citation)) citations.push(citation);
        return add(text);
      },
      stop: () =>
        convertCitations(citations, start, items.textLength)
          .map(({ url_citation: citation }) =>
            items.addAnnotation({
              type: 'url_citation',
              ...(isRecord(citation) ? citation : {}),
            }),
          )
          .join(''),
    },
  };
}

function openThinking(items: ItemSequence, block: JsonRecord): Started {
  let thinking = '';
  let signature = stringOf(block['signature']);
  const add = (text: unknown): string => {
    if (typeof text !== 'string' || text === '') return '';
    thinking += text;
    return items.addReasoning(text);
  };
  return {
    events: add(block['thinking']),
    block: {
      add: ({ thinking: text, signature: piece }) => {
        signature += stringOf(piece);
        return add(text);
      },
      // unsigned thinking cannot be sent back
      stop: () => (signature === '' ? items.endItem() : items.addThinking({ type: 'thinking', thinking, signature })),
    },
  };
}

function openRedacted(items: ItemSequence, { data }: JsonRecord): Started {
  return {
    events: '',
    block: { add: () => '', stop: () => items.addThinking({ type: 'redacted_thinking', data: stringOf(data) }) },
  };
}

/** Some providers send the input whole, in the block's start. */
function openToolUse(items: ItemSequence, { id, name, input }: JsonRecord, key: unknown): Started {
  const call = { key, id: fromToolUseId(stringOf(id)), name: stringOf(name) };
  let streamed = false;
  return {
    events: items.addCall({ ...call, text: '' }),
    block: {
      add: ({ partial_json: text }) => {
        if (textOf(text) === undefined) return '';
        streamed = true;
        return items.addCall({ ...call, text: stringOf(text) });
      },
      stop: () => {
        const whole = !streamed && isRecord(input) ? items.addCall({ ...call, text: writeJson(input) }) : '';
        return whole + items.endItem();
      },
    },
  };
}
