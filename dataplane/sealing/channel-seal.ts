/**
 * Seals values for one call at one channel. A sealed value names the channel, and opens only in calls of the same
 * account, so that a client cannot use a value from another account's call.
 */
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { valueOfAccount } from './account-value.ts';
import { createSealer } from './seal.ts';

/** Plain values, which can be posted to another thread. */
export interface SealingContext {
  /** The gateway's keys; the first one seals. */
  readonly keys: readonly Uint8Array[];
  /** The id of the channel that serves the call. */
  readonly channel: string;
  /** "namespace/name" of the account that pays for it. */
  readonly account: string;
}

/** Separates the account from the data; an account's name cannot contain it. */
const SEPARATOR = '\n';

export function createChannelSeal({ keys, channel, account }: SealingContext): ChannelSeal {
  const sealer = createSealer(keys);
  const owner = account + SEPARATOR;
  return {
    channel,
    ofAccount: (value) => valueOfAccount(account, value),
    seal: (kind, data) => sealer.seal(kind, channel, owner + data),
    open(sealed) {
      const opened = sealer.open(sealed);
      return opened?.data.startsWith(owner) ? { ...opened, data: opened.data.slice(owner.length) } : undefined;
    },
  };
}
