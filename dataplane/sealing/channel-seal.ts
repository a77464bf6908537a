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
  /** Whether what the call makes may contain images, which its ids then say. Absent: it does not. */
  readonly images?: boolean | undefined;
}

/** Separates the account from the data, and says whether there may be images; an account's name contains neither. */
const SEPARATOR = '\n';
const IMAGES_SEPARATOR = '\r';

export function createChannelSeal({ keys, channel, account, images = false }: SealingContext): ChannelSeal {
  const sealer = createSealer(keys);
  const owner = account + (images ? IMAGES_SEPARATOR : SEPARATOR);
  return {
    channel,
    ofAccount: (value) => valueOfAccount(account, value),
    seal: (kind, data) => sealer.seal(kind, channel, owner + data),
    open(sealed) {
      const opened = sealer.open(sealed);
      if (!opened?.data.startsWith(account)) return undefined;
      const separator = opened.data.charAt(account.length);
      if (separator !== SEPARATOR && separator !== IMAGES_SEPARATOR) return undefined;
      const data = opened.data.slice(account.length + separator.length);
      return { ...opened, data, images: separator === IMAGES_SEPARATOR };
    },
  };
}
