/** The messages between the main thread and the tokenizer's worker thread. */
export interface CountRequest {
  readonly texts: readonly string[];
}

export interface CountReply {
  readonly tokens: number;
  /** The length of the text that was counted within the time, in UTF-16 units. */
  readonly length: number;
}
