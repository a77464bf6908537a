/** Ids of calls, each of which is another in a response, and as far as can be seen in a conversation. */

/** Of the request's id: OpenAI takes no ids of more than 40 characters. */
const ID_LENGTH = 24;
/** Ids that are numbers only: models that give them begin anew with each response. */
const NUMBERED = /^(?:call|tool|tool_?call|toolu|fc|function)?[_-]?\d{1,4}$/i;

export class CallIds {
  readonly #prefix: string;
  readonly #taken = new Set<string>();
  #count = 0;

  constructor(requestId: string) {
    const suffix = requestId.replace(/^(?:req|chatcmpl|msg)[-_]/, '').replace(/[^a-zA-Z0-9_-]/g, '_');
    this.#prefix = `call_${suffix.slice(-ID_LENGTH)}_`;
  }

  /** The id of the next call, by that of the provider; undefined: it gives none. */
  idOf(given: string | undefined): string {
    const isOwn = given !== undefined && !NUMBERED.test(given) && !this.#taken.has(given);
    const id = isOwn ? given : `${this.#prefix}${this.#count}`;
    this.#count++;
    this.#taken.add(id);
    return id;
  }
}
