/** Plans how a request is adapted to a candidate's platform. */
import type { PlatformPlan } from '../protocol/platforms/platform-request.ts';
import type { Candidate } from '../state/state.ts';

export interface AdaptedCall {
  readonly stream: boolean;
  /** The client's headers that are forwarded to the provider. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns undefined if the channel serves the protocol's own API. */
export function platformPlanOf(
  {
    target: { platform = 'Direct', apiVersion = '', betas: betaRules },
    upstreamModel,
  }: Pick<Candidate, 'target' | 'upstreamModel'>,
  { stream, headers }: AdaptedCall,
): PlatformPlan | undefined {
  if (platform === 'Direct' && !betaRules) return undefined;
  const betas = headers['anthropic-beta'];
  return { platform, apiVersion, model: upstreamModel, stream, betas, betaRules };
}
