/**
 * [P] Finds the channel that created a job in the current configuration, and the concurrency limits of a request to it.
 */
import { GatewayError } from '../errors.ts';
import type { JobRecord, SlotLimit } from '../ledger/ledger.ts';
import type { VideoJobs } from '../protocol/provider.ts';
import { providerOf } from '../protocol/providers.ts';
import { channelSlots } from '../state/limits.ts';
import type { State } from '../state/state.ts';
import type { UpstreamTarget } from '../upstream/upstream.ts';

export interface JobChannel {
  readonly route: string;
  readonly channel: string;
  readonly target: UpstreamTarget;
  /** The provider's paths and responses for jobs. */
  readonly videos: VideoJobs;
  /** The group's slot on this channel and the channel's own slot, if a maximum is configured. */
  readonly slots: readonly SlotLimit[];
}

/**
 * Returns undefined if the channel is no longer configured or its provider has no videos. A channel is identified by
 * its route's name and its own name, so that other edits do not matter.
 */
export function channelOf(state: State, { origin }: Pick<JobRecord, 'origin'>): JobChannel | undefined {
  const target = state.targets.get(origin.channel);
  const videos = target && providerOf(target.protocol).videos;
  if (!videos) return undefined;
  const slash = origin.channel.indexOf('/');
  const [route, channel] = [origin.channel.slice(0, slash), origin.channel.slice(slash + 1)];
  return { route, channel, target, videos, slots: channelSlots(state, origin) };
}

export function channelRemoved(): GatewayError {
  return new GatewayError('upstream_error', [
    'The channel that made this video is no longer configured, so that nothing can be asked of its provider.',
    'The platform team can restore it under its old name.',
  ].join(' '));
}
