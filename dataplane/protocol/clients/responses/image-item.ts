/** A picture that the model made, as a call of the tool that would have made it. */
import type { ImageEvent } from '../../conversation/events.ts';
import { writeJson } from '../../json-value.ts';
import { itemMembers, placeMembers } from './output-item.ts';
import type { ItemContext, ItemStatus, OutputItem } from './output-item.ts';

export class ImageItem implements OutputItem {
  json = '';
  readonly #context: ItemContext;
  readonly #data: string;
  readonly #format: string;

  constructor(context: ItemContext, { mediaType, data }: Pick<ImageEvent, 'mediaType' | 'data'>) {
    this.#context = context;
    this.#data = data;
    this.#format = mediaType.replace(/^image\//, '');
  }

  open(): string {
    const { events, index } = this.#context;
    return events.write('response.output_item.added', itemMembers(index, this.#write('in_progress', null)));
  }

  close(status: ItemStatus): string {
    const { events, index } = this.#context;
    this.json = this.#write(status, this.#data);
    return (
      events.write('response.image_generation_call.completed', placeMembers(this.#context)) +
      events.write('response.output_item.done', itemMembers(index, this.json))
    );
  }

  #write(status: string, result: string | null): string {
    const { id } = this.#context;
    return writeJson({ id, type: 'image_generation_call', status, output_format: this.#format, result });
  }
}
