/**
 * Bounds the memory that requests make the process hold: bodies as they are sent and decoded, the decoders' windows,
 * and responses that are read whole. All together, each key's and each account's have a limit, so that one client does
 * not lead to refusals of others.
 */
import { GatewayError } from './errors.ts';
import type { KeyState } from './state/state.ts';

/** Bodies of this size or more are read only for a known key, and are the first to be refused when memory is short. */
export const LARGE_BODY_BYTES = 64 * 1024;
/** The fraction of the budget that is reserved for small bodies, so that large ones do not exclude them. */
const SMALL_SHARE = 1 / 8;
/** The largest fractions for one key and for one account. A single body of the maximum size always fits. */
const KEY_SHARE = 1 / 4;
const ACCOUNT_SHARE = 1 / 2;
const RETRY_SECONDS = 1;

export interface MemoryLimits {
  readonly maxBodyBytes: number;
  /** The bytes that all requests together may hold; at least maxBodyBytes. */
  readonly maxBufferedBytes: number;
}

/** The key and account that bytes count against. */
export type MemoryOwner = Pick<KeyState, 'uid' | 'account'>;

export class MemoryBudget {
  #used = 0;
  readonly #keys = new Map<string, number>();
  readonly #accounts = new Map<string, number>();
  readonly #all: number;
  readonly #large: number;
  readonly #ofKey: number;
  readonly #ofAccount: number;

  constructor({ maxBodyBytes, maxBufferedBytes }: MemoryLimits) {
    this.#all = Math.max(maxBodyBytes, maxBufferedBytes);
    this.#large = Math.max(maxBodyBytes, this.#all * (1 - SMALL_SHARE));
    this.#ofKey = Math.max(maxBodyBytes, this.#all * KEY_SHARE);
    this.#ofAccount = Math.max(maxBodyBytes, this.#all * ACCOUNT_SHARE);
  }

  /** True if more than half of the budget is in use. */
  get crowded(): boolean {
    return this.#used > this.#all / 2;
  }

  /** Reserves `bytes` more for a buffer of this capacity. Returns the refusal if there is no room. */
  take(bytes: number, capacity: number, owner: MemoryOwner | undefined): GatewayError | undefined {
    const refusal = owner && this.#refuseOwner(bytes, owner);
    if (refusal) return refusal;
    if (this.#used + bytes > (capacity >= LARGE_BODY_BYTES ? this.#large : this.#all)) return tooBusy();
    this.#add(bytes, owner);
    return undefined;
  }

  giveBack(bytes: number, owner: MemoryOwner | undefined): void {
    this.#add(-bytes, owner);
  }

  /** Counts these bytes for the process only, so that a key's share has room for what is made of them. */
  disown(bytes: number, owner: MemoryOwner | undefined): void {
    this.#add(-bytes, owner);
    this.#add(bytes, undefined);
  }

  #refuseOwner(bytes: number, { uid, account }: MemoryOwner): GatewayError | undefined {
    if ((this.#keys.get(uid) ?? 0) + bytes > this.#ofKey) return ownBodies('API key');
    if ((this.#accounts.get(account) ?? 0) + bytes > this.#ofAccount) return ownBodies('account');
    return undefined;
  }

  #add(bytes: number, owner: MemoryOwner | undefined): void {
    this.#used += bytes;
    if (!owner) return;
    addTo(this.#keys, owner.uid, bytes);
    addTo(this.#accounts, owner.account, bytes);
  }
}

/** What one response holds of its owner's memory. */
export class HeldBytes {
  readonly #memory: Pick<MemoryBudget, 'take' | 'giveBack'>;
  readonly #owner: MemoryOwner;
  #bytes = 0;

  constructor(memory: Pick<MemoryBudget, 'take' | 'giveBack'>, owner: MemoryOwner) {
    this.#memory = memory;
    this.#owner = owner;
  }

  /** Throws GatewayError if there is no room. Then nothing is held, so that of several that grow one has room. */
  set(bytes: number): void {
    const more = bytes - this.#bytes;
    const refusal = more > 0 ? this.#memory.take(more, bytes, this.#owner) : undefined;
    if (refusal) {
      this.set(0);
      throw refusal;
    }
    if (more < 0) this.#memory.giveBack(-more, this.#owner);
    this.#bytes = bytes;
  }
}

/** Adds to a name's count; removes the name if its count becomes 0. */
export function addTo(counts: Map<string, number>, name: string, change: number): number {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
  return count;
}

function ownBodies(owner: 'API key' | 'account'): GatewayError {
  const message =
    `The requests in flight of this ${owner} hold as much memory as one ${owner} may. ` +
    'Try again when one of them has been answered.';
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
}

function tooBusy(): GatewayError {
  const message = 'This process holds as many request bodies as it has memory for. Try again shortly.';
  return new GatewayError('too_busy', message, { retryAfterSeconds: RETRY_SECONDS });
}
