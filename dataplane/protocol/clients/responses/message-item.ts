/**
 * A message of the response: parts of text, with annotations, and refusals.
 */
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { itemMembers, placeMembers } from './output-item.ts';
import type { ItemContext, ItemStatus, OutputItem } from './output-item.ts';

interface OpenPart {
  readonly kind: 'text' | 'refusal';
  readonly place: string;
  text: string;
  readonly annotations: JsonRecord[];
  readonly logProbabilities: JsonRecord[];
}

export class MessageItem implements OutputItem {
  json = '';
  readonly #context: ItemContext;
  readonly #place: string;
  readonly #parts: string[] = [];
  #open: OpenPart | undefined;

  constructor(context: ItemContext) {
    this.#context = context;
    this.#place = placeMembers(context);
  }

  /** UTF-16 units of the part that is open, for the places of annotations. */
  get textLength(): number {
    return this.#open?.text.length ?? 0;
  }

  open(): string {
    const { events, index } = this.#context;
    return events.write('response.output_item.added', itemMembers(index, this.#write('in_progress')));
  }

  /** Adds a piece of text with the log probabilities of its tokens, or of a refusal, which is a part of its own. */
  add(kind: 'text' | 'refusal', text: string, logProbabilities: readonly JsonRecord[] = []): string {
    const opening = this.#open?.kind === kind ? '' : this.#closePart() + this.#openPart(kind);
    const part = this.#open;
    if (!part) throw new Error('a part was opened');
    part.text += text;
    part.logProbabilities.push(...logProbabilities);
    const { events } = this.#context;
    const delta = `${part.place},"delta":${JSON.stringify(text)}`;
    return (
      opening +
      (kind === 'text'
        ? events.write('response.output_text.delta', `${delta},"logprobs":${writeJson(logProbabilities)}`)
        : events.write('response.refusal.delta', delta))
    );
  }

  /** Adds an annotation to the text so far. */
  annotate(annotation: JsonRecord): string {
    const opening = this.#open?.kind === 'text' ? '' : this.#closePart() + this.#openPart('text');
    const part = this.#open;
    if (!part) throw new Error('a part was opened');
    const index = part.annotations.push(annotation) - 1;
    return (
      opening +
      this.#context.events.write(
        'response.output_text.annotation.added',
        `${part.place},"annotation_index":${index},"annotation":${writeJson(annotation)}`,
      )
    );
  }

  close(status: ItemStatus): string {
    const { events, index } = this.#context;
    const closing = this.#closePart();
    this.json = this.#write(status);
    return closing + events.write('response.output_item.done', itemMembers(index, this.json));
  }

  #openPart(kind: OpenPart['kind']): string {
    const place = `${this.#place},"content_index":${this.#parts.length}`;
    this.#open = { kind, place, text: '', annotations: [], logProbabilities: [] };
    return this.#context.events.write('response.content_part.added', `${place},"part":${writePart(this.#open)}`);
  }

  #closePart(): string {
    const part = this.#open;
    if (!part) return '';
    this.#open = undefined;
    const json = writePart(part);
    this.#parts.push(json);
    const { events } = this.#context;
    const text = JSON.stringify(part.text);
    const done =
      part.kind === 'text'
        ? events.write(
            'response.output_text.done',
            `${part.place},"text":${text},"logprobs":${writeJson(part.logProbabilities)}`,
          )
        : events.write('response.refusal.done', `${part.place},"refusal":${text}`);
    return done + events.write('response.content_part.done', `${part.place},"part":${json}`);
  }

  #write(status: string): string {
    const head = JSON.stringify({ id: this.#context.id, type: 'message', status, role: 'assistant' });
    return `${head.slice(0, -1)},"content":[${this.#parts.join(',')}]}`;
  }
}

function writePart({ kind, text, annotations, logProbabilities }: OpenPart): string {
  return kind === 'text'
    ? writeJson({ type: 'output_text', text, annotations, logprobs: logProbabilities })
    : writeJson({ type: 'refusal', refusal: text });
}
