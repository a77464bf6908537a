/**
 * Converts content blocks of a message to parts of a candidate. Thinking that must come back goes into the signature of
 * the part after it.
 */
import type { ConversionNotes } from '../converter.ts';
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeSignature } from '../gemini/thought-signature.ts';
import { parseLossless } from '../json-value.ts';
import { sealThinking } from '../responses/sealed-thinking.ts';
import type { SealedThinking } from '../responses/sealed-thinking.ts';
import type { ChannelSeal } from '../sealed-values.ts';
import { fromToolUseId } from '../tool-ids.ts';

export interface PartsContext {
  readonly notes: ConversionNotes | undefined;
  readonly seal: ChannelSeal | undefined;
}

type Parts = readonly JsonRecord[];
const NO_PARTS: Parts = [];

/** A block while its deltas come. Methods return the parts to send. */
export interface OpenBlock {
  add(delta: JsonRecord): Parts;
  stop(): Parts;
}

interface Started {
  /** Parts for what the block begins with. */
  readonly parts: Parts;
  readonly block: OpenBlock;
}

export class AnswerParts {
  readonly #context: PartsContext;
  /** Sealed thinking that no part has carried yet. */
  #sealed: string[] = [];
  /** A call's arguments were no JSON: it was cut off, or the model wrote none. */
  malformedCall = false;

  constructor(context: PartsContext) {
    this.#context = context;
  }

  /** Undefined: a block without a counterpart. */
  open(block: JsonRecord): Started | undefined {
    switch (block['type']) {
      case 'text':
        return this.#openText(block);
      case 'thinking':
        return this.#openThinking(block);
      case 'redacted_thinking':
        return this.#openRedacted(block);
      case 'tool_use':
        return { parts: NO_PARTS, block: this.#openCall(block) };
      default:
        return undefined;
    }
  }

  /** The last part: an empty text that carries thinking which no other part has carried. */
  close(): Parts {
    return this.#sealed.length > 0 ? [this.#signed({ text: '' })] : NO_PARTS;
  }

  #openText(block: JsonRecord): Started {
    const add = (text: unknown): Parts => (textOf(text) === undefined ? NO_PARTS : [this.#signed({ text })]);
    return { parts: add(block['text']), block: { add: ({ text }) => add(text), stop: () => NO_PARTS } };
  }

  #openThinking(block: JsonRecord): Started {
    let thinking = '';
    let signature = stringOf(block['signature']);
    const add = (text: unknown): Parts => {
      thinking += stringOf(text);
      return textOf(text) === undefined || this.#context.notes?.includeThoughts !== true
        ? NO_PARTS
        : [{ text, thought: true }];
    };
    return {
      parts: add(block['thinking']),
      block: {
        add: ({ thinking: text, signature: piece }) => {
          signature += stringOf(piece);
          return add(text);
        },
        stop: () => {
          if (signature !== '') this.#keep({ type: 'thinking', thinking, signature });
          else if (this.#context.notes?.keepsReasoning === true && thinking !== '')
            this.#keep({ type: 'reasoning', text: thinking });
          return NO_PARTS;
        },
      },
    };
  }

  #openRedacted({ data }: JsonRecord): Started {
    this.#keep({ type: 'redacted_thinking', data: stringOf(data) });
    return { parts: NO_PARTS, block: { add: () => NO_PARTS, stop: () => NO_PARTS } };
  }

  /** Some providers send the input whole, in the block's start. */
  #openCall({ id, name, input }: JsonRecord): OpenBlock {
    let text = '';
    return {
      add: ({ partial_json: piece }) => {
        text += stringOf(piece);
        return NO_PARTS;
      },
      stop: () => {
        const args = text === '' ? (isRecord(input) ? input : {}) : parseArguments(text);
        this.malformedCall ||= args === undefined;
        if (!args) return NO_PARTS;
        const client = this.#context.notes?.toolNames?.get(stringOf(name)) ?? name;
        return [this.#signed({ functionCall: { id: fromToolUseId(stringOf(id)), name: client, args } })];
      },
    };
  }

  #keep(thinking: SealedThinking): void {
    const { seal } = this.#context;
    if (seal) this.#sealed.push(sealThinking(seal, thinking));
  }

  #signed(part: JsonRecord): JsonRecord {
    if (this.#sealed.length === 0) return part;
    const thoughtSignature = writeSignature(this.#sealed);
    this.#sealed = [];
    return { ...part, thoughtSignature };
  }
}

/** Undefined: they are no JSON object. */
function parseArguments(text: string): JsonRecord | undefined {
  try {
    const value = parseLossless(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
