/**
 * Reasoning in the response. Clients show the summary, so the text streams as one; reasoning that nobody has proved is
 * also the item's content, because its model may want it back. Encrypted content is what the gateway sealed for the
 * next call.
 */
import { writeJson } from '../../json-value.ts';
import { itemMembers, placeMembers } from './output-item.ts';
import type { ItemContext, ItemStatus, OutputItem } from './output-item.ts';

export class ReasoningItem implements OutputItem {
  json = '';
  readonly #context: ItemContext;
  readonly #place: string;
  #text = '';
  #isOpen = false;
  #isProved = false;
  #encrypted: string | undefined;

  constructor(context: ItemContext) {
    this.#context = context;
    this.#place = placeMembers(context);
  }

  get isProved(): boolean {
    return this.#isProved;
  }

  get text(): string {
    return this.#text;
  }

  open(): string {
    const { events, index } = this.#context;
    return events.write('response.output_item.added', itemMembers(index, this.#write('in_progress')));
  }

  add(text: string): string {
    const { events } = this.#context;
    const place = `${this.#place},"summary_index":0`;
    const opening = this.#isOpen
      ? ''
      : events.write('response.reasoning_summary_part.added', `${place},"part":{"type":"summary_text","text":""}`);
    this.#isOpen = true;
    this.#text += text;
    return opening + events.write('response.reasoning_summary_text.delta', `${place},"delta":${JSON.stringify(text)}`);
  }

  /** Its maker has signed it. `sealed`: with the proof; undefined: the gateway was given no sealing key. */
  prove(sealed: string | undefined): void {
    this.#isProved = true;
    this.#encrypted = sealed;
  }

  /** The text, sealed for clients that return it no other way. */
  keep(sealed: string): void {
    this.#encrypted = sealed;
  }

  close(status: ItemStatus): string {
    const { events, index } = this.#context;
    const closing = this.#isOpen ? this.#closeSummary() + (this.#isProved ? '' : this.#writeContent()) : '';
    this.json = this.#write(status);
    return closing + events.write('response.output_item.done', itemMembers(index, this.json));
  }

  #closeSummary(): string {
    const { events } = this.#context;
    const place = `${this.#place},"summary_index":0`;
    const text = JSON.stringify(this.#text);
    return (
      events.write('response.reasoning_summary_text.done', `${place},"text":${text}`) +
      events.write('response.reasoning_summary_part.done', `${place},"part":{"type":"summary_text","text":${text}}`)
    );
  }

  /** Written at once, because the summary has streamed the text already. */
  #writeContent(): string {
    const { events } = this.#context;
    const place = `${this.#place},"content_index":0`;
    const text = JSON.stringify(this.#text);
    return (
      events.write('response.content_part.added', `${place},"part":{"type":"reasoning_text","text":""}`) +
      events.write('response.reasoning_text.done', `${place},"text":${text}`) +
      events.write('response.content_part.done', `${place},"part":{"type":"reasoning_text","text":${text}}`)
    );
  }

  #write(status: string): string {
    const text = this.#text;
    return writeJson({
      id: this.#context.id,
      type: 'reasoning',
      status,
      summary: text === '' ? [] : [{ type: 'summary_text', text }],
      ...(text !== '' && !this.#isProved && { content: [{ type: 'reasoning_text', text }] }),
      ...(this.#encrypted !== undefined && { encrypted_content: this.#encrypted }),
    });
  }
}
