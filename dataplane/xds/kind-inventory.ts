/**
 * [P] A proxy's objects of one kind: those in force, those that are pending until their round is complete, and the
 * newest versions that were refused.
 */
import type { Edit } from '../state/compile-edit.ts';

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** An object in force. */
export interface InstalledObject<M> {
  readonly version: string;
  readonly object: M;
}

/** The server's newest version of an object, before it is put in force. */
export interface PendingObject<M> {
  /** '' stands for a removal. */
  readonly version: string;
  /** Undefined for a removal or an unreadable object. */
  readonly object: M | undefined;
  /** The object's fault; '' if none is known. */
  message: string;
}

/** The result for one pending object. */
export interface CommitResult {
  readonly name: string;
  readonly version: string;
  /** The fault; '' if the object is in force. */
  readonly message: string;
}

export class KindInventory<M extends Named> {
  readonly held = new Map<string, InstalledObject<M>>();
  readonly refused = new Map<string, PendingObject<M>>();
  readonly #staged = new Map<string, PendingObject<M>>();
  readonly #decode: (bytes: Uint8Array) => M;

  constructor(decode: (bytes: Uint8Array) => M) {
    this.#decode = decode;
  }

  get staged(): ReadonlyMap<string, PendingObject<M>> {
    return this.#staged;
  }

  stage(name: string, version: string, bytes: Uint8Array): void {
    try {
      const object = this.#decode(bytes);
      const isNamed = `${object.namespace}/${object.name}` === name;
      const message = isNamed ? '' : 'the resource has another name than its object';
      this.#staged.set(name, { version, object, message });
    } catch {
      this.#staged.set(name, { version, object: undefined, message: 'the resource cannot be read' });
    }
  }

  stageRemoval(name: string): void {
    this.#staged.set(name, { version: '', object: undefined, message: '' });
  }

  unstage(): void {
    this.#staged.clear();
  }

  /** Stages refused objects again, because another object may have caused their fault. */
  stageRefused(): void {
    for (const [name, { version, object }] of this.refused) {
      if (object && !this.#staged.has(name)) this.#staged.set(name, { version, object, message: '' });
    }
  }

  /** The newest received version, refused or not. */
  received(name: string): string | undefined {
    return this.refused.get(name)?.version ?? this.held.get(name)?.version;
  }

  /**
   * All objects that would be in force with the pending ones that have no known fault. Those come last, so that of two
   * conflicting objects the newer one is refused.
   */
  objects(): M[] {
    const objects: M[] = [];
    for (const [name, { object }] of this.held) if (!this.#counts(name)) objects.push(object);
    for (const { object, message } of this.#staged.values()) if (object && message === '') objects.push(object);
    return objects;
  }

  /** Records a fault of a staged object; returns false if no staged object has this name. */
  noteFault(name: string, message: string): boolean {
    const candidate = this.#staged.get(name);
    if (!candidate || candidate.version === '') return false;
    candidate.message = candidate.message === '' ? message : `${candidate.message}; ${message}`;
    return true;
  }

  /** Records a fault for every pending object without one; returns whether there was any. */
  noteFaultOfAll(message: string): boolean {
    let found = false;
    for (const [name, candidate] of this.#staged) {
      if (candidate.message === '' && this.noteFault(name, message)) found = true;
    }
    return found;
  }

  /** The edits that the candidates make. */
  edits(): Edit<M>[] {
    const edits: Edit<M>[] = [];
    for (const [name, { object, message }] of this.#staged) {
      const before = this.held.get(name)?.object;
      if (message === '' && (before ?? object) !== undefined) edits.push({ before, after: object });
    }
    return edits;
  }

  /** Puts the pending objects in force, or only those of these names. Returns the result for each. */
  commit(names: Iterable<string> = [...this.#staged.keys()]): CommitResult[] {
    const results: CommitResult[] = [];
    for (const name of names) {
      const candidate = this.#staged.get(name);
      if (!candidate) continue;
      this.#staged.delete(name);
      this.#put(name, candidate);
      results.push({ name, version: candidate.version, message: candidate.message });
    }
    return results;
  }

  #put(name: string, candidate: PendingObject<M>): void {
    const { version, object, message } = candidate;
    if (message !== '') {
      this.refused.set(name, candidate);
      return;
    }
    this.refused.delete(name);
    if (object) this.held.set(name, { version, object });
    else this.held.delete(name);
  }

  #counts(name: string): boolean {
    return this.#staged.get(name)?.message === '';
  }
}
