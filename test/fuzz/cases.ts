/** Tells a provider which case a request belongs to, by a header that passes the gateway to every provider. */
import type { ProviderRequest } from './provider.ts';

const CASE_HEADER = 'x-stainless-fuzz-case';

/** The cases that run, with what their provider has to know of them. */
export class Cases<T> {
  readonly #running = new Map<string, T>();
  #count = 0;
  #strays = 0;

  /** Runs a case with the headers that its requests must have. */
  async run(value: T, work: (headers: Readonly<Record<string, string>>) => Promise<void>): Promise<void> {
    const id = String(this.#count++);
    this.#running.set(id, value);
    try {
      await work({ [CASE_HEADER]: id });
    } finally {
      this.#running.delete(id);
    }
  }

  /** Undefined: the case is over, or the gateway asks by itself. */
  of({ method, headers }: ProviderRequest): T | undefined {
    const id = headers.find(([name]) => name === CASE_HEADER)?.[1];
    if (id === undefined && method === 'POST') this.#strays++;
    return this.#running.get(id ?? '');
  }

  /** Throws if a case still runs, or if the provider could not tell to which one a call belongs. */
  check(): void {
    if (this.#running.size > 0) throw new Error('a case is not over');
    if (this.#strays > 0) throw new Error(`${this.#strays} calls reached the provider without their case`);
  }
}
