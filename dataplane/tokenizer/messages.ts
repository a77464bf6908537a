/** The messages between the main thread and the tokenizer's worker thread. */
export interface CountRequest {
  readonly id: number;
  readonly texts: readonly string[];
}

export interface CountReply {
  readonly id: number;
  readonly tokens: number;
  /** Of the texts, how far it came in its time, in UTF-16 units. */
  readonly length: number;
}
