/** The messages between the main thread and the tokenizer's worker thread. */
export interface CountRequest {
  readonly texts: readonly string[];
}

export interface CountReply {
  readonly tokens: number;
  /** How far it came in its time, in UTF-16 units. */
  readonly length: number;
}
