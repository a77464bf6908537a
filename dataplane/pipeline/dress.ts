/** How a candidate's platform dresses a request. */
import type { Dress } from '../protocol/platforms/dress.ts';
import type { Candidate } from '../state/state.ts';

export interface DressedCall {
  readonly stream: boolean;
  /** The client's headers that are forwarded to the provider. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Undefined: as the protocol's own API has it. */
export function dressOf(
  { target: { platform = 'Direct', apiVersion = '', betas: betaRules }, upstreamModel }:
  Pick<Candidate, 'target' | 'upstreamModel'>,
  { stream, headers }: DressedCall,
): Dress | undefined {
  if (platform === 'Direct' && !betaRules) return undefined;
  const betas = headers['anthropic-beta'];
  return { platform, apiVersion, model: upstreamModel, stream, betas, betaRules };
}
