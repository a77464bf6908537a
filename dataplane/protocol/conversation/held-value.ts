/**
 * Formats of a response that are no object. Providers hold a model to the schema of an object only: any other value is
 * asked for as the one member of an object, and taken out of it as the response comes.
 */
import type { HeldValue } from '../converter.ts';
import { parseJson } from '../parse-json.ts';
import { objectWithMember } from '../schema-member.ts';
import type { ConversationEvent, TextDelta } from './events.ts';
import { isObjectFormat } from './formats.ts';
import { JsonValueScan } from './json-value-scan.ts';
import type { ResponseFormat } from './request.ts';

const MEMBER = 'answer';
const BEGINNING = `{"${MEMBER}":`;
const BEGINNING_WITH_BLANKS = new RegExp(`^\\s*\\{\\s*"${MEMBER}"\\s*:\\s*(?=\\S)`);
/** Blanks may stand in it. */
const MAX_BEGINNING = 100;

export interface ObjectFormat {
  readonly format: Extract<ResponseFormat, { readonly type: 'Schema' }>;
  /** Undefined: the object is what the client asked for. */
  readonly held: HeldValue | undefined;
}

/** The format as the schema of an object; undefined: it has none, or one that cannot be the schema of a member. */
export function asObjectFormat(given: ResponseFormat): ObjectFormat | undefined {
  switch (given.type) {
    case 'Json':
      return undefined;
    case 'Words': {
      if (given.words.length === 0) return undefined;
      const schema = objectWithMember(MEMBER, { type: 'string', enum: given.words });
      const format = { type: 'Schema' as const, name: undefined, description: undefined, strict: undefined };
      return schema && { format: { ...format, schema }, held: 'Word' };
    }
    case 'Schema': {
      if (isObjectFormat(given)) return { format: given, held: undefined };
      const schema = objectWithMember(MEMBER, given.schema);
      return schema && { format: { ...given, schema }, held: 'Json' };
    }
  }
}

/** The text of a candidate, as far as it has come. */
interface OpenText {
  /** Plain: the model has written no such object, and its text stays as it is. */
  state: 'Beginning' | 'Value' | 'End' | 'Plain';
  /** What has come and is held back: what may be the object's beginning, or a word that is not complete. */
  text: string;
  readonly scan: JsonValueScan;
}

/** A text ends before them; it goes on after a reasoning, whose proof may come within it. */
const END_TEXT: ReadonlySet<ConversationEvent['type']> = new Set(['call-start', 'refusal-delta', 'image', 'finish']);

/** Takes the value out of the object, piece by piece; a word comes whole. What follows the value is left out. */
export class HeldValueReader {
  readonly #held: HeldValue;
  readonly #texts = new Map<number, OpenText>();

  constructor(held: HeldValue) {
    this.#held = held;
  }

  read(events: readonly ConversationEvent[]): readonly ConversationEvent[] {
    return events.flatMap((event): readonly ConversationEvent[] => {
      if (event.type === 'text-delta') return this.#add(event);
      const candidate = 'candidate' in event ? event.candidate : undefined;
      return [...this.#endBefore(event.type, candidate), event];
    });
  }

  #add({ candidate, text }: TextDelta): readonly ConversationEvent[] {
    const open = this.#texts.get(candidate ?? 0) ?? { state: 'Beginning', text: '', scan: new JsonValueScan() };
    this.#texts.set(candidate ?? 0, open);
    return deltas(candidate, this.#take(open, text));
  }

  /** Adds the piece, and takes what of the text is ready. */
  #take(open: OpenText, piece: string): string {
    switch (open.state) {
      case 'Beginning':
        open.text += piece;
        return begin(open) ? this.#take(open, takeAll(open)) : '';
      case 'Value':
        return this.#takeValue(open, piece);
      case 'End':
        return '';
      case 'Plain':
        return piece;
    }
  }

  #takeValue(open: OpenText, piece: string): string {
    const end = open.scan.endIn(piece);
    if (end !== undefined) open.state = 'End';
    open.text += piece.slice(0, end);
    if (this.#held === 'Json') return takeAll(open);
    return end === undefined ? '' : wordOf(takeAll(open));
  }

  #endBefore(type: ConversationEvent['type'], candidate: number | undefined): readonly ConversationEvent[] {
    const open = this.#texts.get(candidate ?? 0);
    if (!open || !END_TEXT.has(type)) return [];
    this.#texts.delete(candidate ?? 0);
    return deltas(candidate, open.text);
  }
}

/** Leaves out the beginning of the object, once that is whole. Returns whether it is known how the text begins. */
function begin(open: OpenText): boolean {
  const beginning = BEGINNING_WITH_BLANKS.exec(open.text.slice(0, MAX_BEGINNING));
  if (beginning) {
    open.state = 'Value';
    open.text = open.text.slice(beginning[0].length);
    return true;
  }
  if (open.text.length <= MAX_BEGINNING && BEGINNING.startsWith(open.text.replace(/\s/g, ''))) return false;
  open.state = 'Plain';
  return true;
}

function takeAll(open: OpenText): string {
  const { text } = open;
  open.text = '';
  return text;
}

/** The word without quotes; a value that is no word stays as it is. */
function wordOf(value: string): string {
  try {
    const word = parseJson(value);
    return typeof word === 'string' ? word : value;
  } catch {
    return value;
  }
}

function deltas(candidate: number | undefined, text: string): readonly ConversationEvent[] {
  return text === '' ? [] : [{ type: 'text-delta', ...(candidate !== undefined && { candidate }), text }];
}
