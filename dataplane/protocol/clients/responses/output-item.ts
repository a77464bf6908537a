/**
 * Output items of the Responses dialect while they are written: each is added empty, grows by deltas, and is sent again
 * as a whole when it is done. Methods return the text of the events to send.
 */
import type { EventWriter } from './event-writer.ts';

/** What an item needs of its response. */
export interface ItemContext {
  readonly events: EventWriter;
  readonly id: string;
  /** Of the item in the response's output. */
  readonly index: number;
}

export type ItemStatus = 'completed' | 'incomplete';

export interface OutputItem {
  /** The item's events so far: it was added. */
  open(): string;
  /** Its last events. */
  close(status: ItemStatus): string;
  /** The whole item as JSON, once it is closed. */
  readonly json: string;
}

/** `"output_index":…,"item":…`, for the events that add an item and finish it. */
export function itemMembers(index: number, json: string): string {
  return `"output_index":${index},"item":${json}`;
}

/** `"item_id":…,"output_index":…`, which all other events of an item have. */
export function placeMembers({ id, index }: ItemContext): string {
  return `"item_id":${JSON.stringify(id)},"output_index":${index}`;
}
