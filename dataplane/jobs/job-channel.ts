/**
 * [P] Finds the channel that created a job in the current configuration, and the concurrency limits of a request to it.
 */
import { GatewayError } from '../errors.ts';
import type { JobRecord, CountLimit } from '../ledger/ledger.ts';
import type { Jobs } from '../protocol/converter.ts';
import { providerOf } from '../protocol/providers.ts';
import { channelLimits } from '../state/limits.ts';
import type { State } from '../state/state.ts';
import type { UpstreamTarget } from '../upstream/upstream.ts';

export interface JobTarget {
  readonly target: UpstreamTarget;
  /** The group's limits on this channel and the channel's own. */
  readonly limits: readonly CountLimit[];
}

export interface JobChannel extends JobTarget {
  /** The provider's paths and responses for jobs of this kind. */
  readonly jobs: Jobs;
}

/**
 * Returns undefined if the channel is no longer configured or its provider has no such jobs. A channel is identified by
 * its route's name and its own name, so that other edits do not matter.
 */
export function channelOf(
  state: State,
  { origin, terms }: Pick<JobRecord, 'origin' | 'terms'>,
): JobChannel | undefined {
  const found = jobTargetOf(state, origin);
  const endpoints = found && providerOf(found.target.protocol).endpoints;
  // of these, only background responses are billed at their end
  const jobs = terms === undefined ? endpoints?.videos : endpoints?.responseJobs;
  return found && jobs && { ...found, jobs };
}

/** The same for a job of any kind. */
export function jobTargetOf(state: State, origin: JobRecord['origin']): JobTarget | undefined {
  const target = state.targets.get(origin.channel);
  return target && { target, limits: channelLimits(state, origin) };
}

export function channelRemoved(): GatewayError {
  return new GatewayError(
    'upstream_error',
    [
      'The channel that made it is no longer configured, so that nothing can be asked of its provider.',
      'The platform team can restore it under its old name.',
    ].join(' '),
  );
}
