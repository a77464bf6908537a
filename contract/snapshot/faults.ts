/** [P] Collects all faults of an object, so that a rejection names all of them at once. */
import type { SnapshotKind } from './kinds.gen.ts';
import type { Key, NameFilter } from './snapshot.gen.ts';

/** One fault of one object of a snapshot. The message contains no secret. */
export interface SnapshotFault {
  readonly kind: SnapshotKind;
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
}

/** A proxy's response to a snapshot, which it applies as a whole or rejects. */
export type ApplyResult =
  { readonly accepted: true } | { readonly accepted: false; readonly rejected: readonly SnapshotFault[] };

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Adds the faults of one object to a list that all objects share. */
export class FaultCollector {
  readonly #faults: SnapshotFault[];
  readonly #kind: SnapshotKind;
  readonly #object: Named;

  constructor(faults: SnapshotFault[], kind: SnapshotKind, object: Named) {
    this.#faults = faults;
    this.#kind = kind;
    this.#object = object;
  }

  /** Adds the message if the condition does not hold. */
  expect(holds: boolean, message: string): void {
    const { namespace, name } = this.#object;
    if (!holds) this.#faults.push({ kind: this.#kind, namespace, name, message });
  }
}

/** Adds a fault for each empty or repeated name of a list. */
export function expectNames(to: FaultCollector, path: string, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (name === '') to.expect(false, `${path}: a name is empty`);
    if (seen.has(name)) to.expect(false, `${path}: "${name}" is there twice`);
    seen.add(name);
  }
}

/** Adds a fault for a filter without names, which would mean "none", whereas an absent filter means "all". */
export function expectFilter(to: FaultCollector, path: string, filter: NameFilter | undefined): void {
  if (!filter) return;
  if (filter.names.length === 0) to.expect(false, `${path}: an empty list; leave it out to mean all`);
  expectNames(to, path, filter.names);
}

/** What a key, an account, a group's entry or a channel states; absent: any number. */
export type StatedLimits = Pick<Key, 'maxConcurrency' | 'rateLimits'>;

/** Adds a fault for each limit of 0, which would block every call. `prefix` is empty or ends in ": ". */
export function expectLimits(to: FaultCollector, prefix: string, { maxConcurrency, rateLimits }: StatedLimits): void {
  const stated = {
    max_concurrency: maxConcurrency,
    'rate_limits: requests_per_minute': rateLimits?.requestsPerMinute,
    'rate_limits: input_tokens_per_minute': rateLimits?.inputTokensPerMinute,
    'rate_limits: output_tokens_per_minute': rateLimits?.outputTokensPerMinute,
  };
  for (const [path, limit] of Object.entries(stated))
    if (limit !== undefined && limit < 1) to.expect(false, `${prefix}${path}: must be at least 1`);
}
