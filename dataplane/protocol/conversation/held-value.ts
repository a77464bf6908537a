/**
 * Formats of a response that are no object. Providers hold a model to the schema of an object only: any other value is
 * asked for as the one member of an object, and taken out of it as the response comes.
 */
import type { HeldValue } from '../converter.ts';
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import type { ConversationEvent, TextDelta } from './events.ts';
import { isObjectFormat } from './formats.ts';
import type { ResponseFormat } from './request.ts';

const MEMBER = 'answer';
const BEGINNING = `{"${MEMBER}":`;
const BEGINNING_WITH_BLANKS = new RegExp(`^\\s*\\{\\s*"${MEMBER}"\\s*:\\s*(?=\\S)`);
/** Blanks may stand in it. */
const MAX_BEGINNING = 100;
/** The end of the object that is held back: a model writes few blanks there. */
const MAX_END = 100;
const END = ' \t\r\n}';

export interface ObjectFormat {
  readonly format: Extract<ResponseFormat, { readonly type: 'Schema' }>;
  /** Undefined: the object is what the client asked for. */
  readonly held: HeldValue | undefined;
}

/** The format as the schema of an object; undefined: it has no schema. */
export function asObjectFormat(given: ResponseFormat): ObjectFormat | undefined {
  switch (given.type) {
    case 'Json':
      return undefined;
    case 'Words': {
      if (given.words.length === 0) return undefined;
      const schema = objectWith({ type: 'string', enum: given.words });
      const format = { type: 'Schema' as const, schema, name: undefined, description: undefined, strict: undefined };
      return { format, held: 'Word' };
    }
    case 'Schema':
      return isObjectFormat(given)
        ? { format: given, held: undefined }
        : { format: { ...given, schema: objectWith(given.schema) }, held: 'Json' };
  }
}

/** References within a schema begin at its root, where its definitions stay. */
function objectWith({ $schema: _dialect, $defs, definitions, ...schema }: JsonRecord): JsonRecord {
  return {
    type: 'object',
    properties: { [MEMBER]: schema },
    required: [MEMBER],
    additionalProperties: false,
    ...(isRecord($defs) && { $defs }),
    ...(isRecord(definitions) && { definitions }),
  };
}

/** The text of a candidate that is held back. */
interface OpenText {
  /** Plain: the model has written no such object, and its text stays as it is. */
  state: 'Beginning' | 'Value' | 'Plain';
  text: string;
}

/** Takes the value out of the object, piece by piece; a word comes whole. */
export class HeldValueReader {
  readonly #held: HeldValue;
  readonly #texts = new Map<number, OpenText>();

  constructor(held: HeldValue) {
    this.#held = held;
  }

  read(events: readonly ConversationEvent[]): readonly ConversationEvent[] {
    return events.flatMap((event): readonly ConversationEvent[] => {
      if (event.type === 'text-delta') return this.#add(event);
      return event.type === 'finish' ? [...this.#end(event.candidate), event] : [event];
    });
  }

  #add({ candidate, text }: TextDelta): readonly ConversationEvent[] {
    const open = this.#texts.get(candidate ?? 0) ?? { state: 'Beginning', text: '' };
    this.#texts.set(candidate ?? 0, open);
    open.text += text;
    if (open.state === 'Beginning') begin(open);
    return deltas(candidate, this.#takeReady(open));
  }

  #takeReady(open: OpenText): string {
    const { text, state } = open;
    if (state === 'Beginning' || (state === 'Value' && this.#held === 'Word')) return '';
    const end = state === 'Plain' ? text.length : Math.max(endOfContent(text), text.length - MAX_END);
    open.text = text.slice(end);
    return text.slice(0, end);
  }

  #end(candidate: number | undefined): readonly ConversationEvent[] {
    const open = this.#texts.get(candidate ?? 0);
    this.#texts.delete(candidate ?? 0);
    if (!open) return [];
    return deltas(candidate, open.state === 'Value' ? this.#lastOf(open.text) : open.text);
  }

  #lastOf(text: string): string {
    if (this.#held === 'Word') {
      const word = parseEventData(BEGINNING + text)?.[MEMBER];
      return typeof word === 'string' ? word : text;
    }
    const end = text.lastIndexOf('}');
    return end < 0 ? text : text.slice(0, end).trimEnd();
  }
}

/** Leaves out the beginning of the object, once that is whole. */
function begin(open: OpenText): void {
  const beginning = BEGINNING_WITH_BLANKS.exec(open.text.slice(0, MAX_BEGINNING));
  if (beginning) {
    open.state = 'Value';
    open.text = open.text.slice(beginning[0].length);
  } else if (open.text.length > MAX_BEGINNING || !BEGINNING.startsWith(open.text.replace(/\s/g, '')))
    open.state = 'Plain';
}

/** Where what may be the end of the object begins. */
function endOfContent(text: string): number {
  let end = text.length;
  while (end > 0 && END.includes(text.charAt(end - 1))) end--;
  return end;
}

function deltas(candidate: number | undefined, text: string): readonly ConversationEvent[] {
  return text === '' ? [] : [{ type: 'text-delta', ...(candidate !== undefined && { candidate }), text }];
}
