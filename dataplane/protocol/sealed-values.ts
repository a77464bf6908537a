/**
 * Values that only the account which made them can use: a provider's encrypted reasoning, ids of what it keeps. The
 * gateway seals them on their way to the client, together with the channel, and opens them when they come back.
 */
import { isRecord } from './fields.ts';

/** The prefix of every sealed value. */
export const SEALED_PREFIX = 'mgw1_';
const SEALED = /^mgw1_[a-z]{1,16}_[\w-]+$/;

/** A sealed value's content and origin. */
export interface SealedData {
  readonly kind: string;
  /** The id of the channel that made the data. */
  readonly channel: string;
  readonly data: string;
  /** Whether what it names may contain images. */
  readonly images: boolean;
}

/** Seals for the channel that serves a call. */
export interface ChannelSeal {
  /** The id of the channel that serves the call. */
  readonly channel: string;
  /** `kind` has 1 to 16 letters from a to z, and stays readable; nothing else does. */
  seal(kind: string, data: string): string;
  /** A one-way value in place of this one, the same for the account's every call, and another one for other accounts. */
  ofAccount(value: string): string;
  /** Undefined: not sealed by this gateway, or for another account. The channel and the kind may be any. */
  open(sealed: string): SealedData | undefined;
}

/** Whether this looks like a value that a gateway sealed, perhaps another one. No provider understands it. */
export function isSealed(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(SEALED_PREFIX) && SEALED.test(value);
}

/** The sealed id of a response or a conversation, as itself or in an object; undefined: there is none. */
export function sealedIdIn(value: unknown): string | undefined {
  const id = isRecord(value) ? value['id'] : value;
  return isSealed(id) ? id : undefined;
}
