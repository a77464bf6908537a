/**
 * Writes the events of one stream of the Responses dialect, each with its number in the stream.
 */

export class EventWriter {
  #next = 0;

  /** `members`: JSON without braces; the type stands in the data and in the event line. */
  write(type: string, members: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#next++},${members}}\n\n`;
  }
}
