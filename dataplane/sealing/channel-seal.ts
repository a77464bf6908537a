/**
 * A seal for one call at one channel: what it seals names the channel, and opens only in calls of the same account.
 * What a client keeps of another account's call says nothing to it.
 */
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { createSealer } from './seal.ts';

/** Plain values, which may cross to another thread. */
export interface SealingContext {
  /** Of the gateway; the first seals. */
  readonly keys: readonly Uint8Array[];
  /** The id of the channel that serves the call. */
  readonly channel: string;
  /** "namespace/name" of the account that pays for it. */
  readonly account: string;
}

/** Between the account and the data; no account has it in its name. */
const SEPARATOR = '\n';

export function createChannelSeal({ keys, channel, account }: SealingContext): ChannelSeal {
  const sealer = createSealer(keys);
  const owner = account + SEPARATOR;
  return {
    channel,
    seal: (kind, data) => sealer.seal(kind, channel, owner + data),
    open(sealed) {
      const opened = sealer.open(sealed);
      return opened?.data.startsWith(owner) ? { ...opened, data: opened.data.slice(owner.length) } : undefined;
    },
  };
}
