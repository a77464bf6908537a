/**
 * The fields of one request that a conversion leaves out although they have a meaning, because the model does not take
 * them. The response names them in a header.
 */

/** The header names at most so many fields. */
const MAX_FIELDS = 32;

export class DroppedFields {
  readonly #params = new Set<string>();

  /** The paths, in the order in which they were dropped; undefined: none. */
  get params(): readonly string[] | undefined {
    return this.#params.size > 0 ? [...this.#params].slice(0, MAX_FIELDS) : undefined;
  }

  add(param: string): void {
    this.#params.add(param);
  }

  /** Returns the value if the model takes it. Otherwise drops the field, unless it has no value or the default. */
  keepIf<T>(taken: boolean, param: string, value: T | undefined, defaultValue?: T): T | undefined {
    if (taken) return value;
    if (value !== undefined && value !== defaultValue) this.add(param);
    return undefined;
  }
}
