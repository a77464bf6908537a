/** A seal without encryption, so that golden files are readable. */
import type { ChannelSeal } from '../../../../dataplane/protocol/sealed-values.ts';

export function sealFor(channel: string): ChannelSeal {
  return {
    channel,
    ofAccount: (value) => `own:${value}`,
    seal: (kind, data) => `sealed:${JSON.stringify({ kind, channel, data })}`,
    open: (sealed) =>
      sealed.startsWith('sealed:')
        ? (JSON.parse(sealed.slice('sealed:'.length)) as ReturnType<ChannelSeal['open']>)
        : undefined,
  };
}
