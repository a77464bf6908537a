/**
 * [P] Providers' refusals of a ModelRoute's credential, address or model names → a condition. Proxies report each
 * refusal; nothing reports that one was fixed, so a refusal that is not repeated expires.
 */
import type { DesiredCondition } from './conditions.ts';

/**
 * A provider's refusal of the gateway's credential (401, 402, 403), or of an address or model name (404 and others).
 */
export interface Refusal {
  readonly channel: string;
  readonly status: number;
  readonly atMs: number;
}

/** How long the condition lasts after the last refusal. */
export const REFUSAL_LASTS_MS = 600_000;

const CREDENTIAL_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 407]);

/** The latest refusal of each channel, without expired ones. */
export function freshRefusals(refusals: readonly Refusal[], nowMs: number): Refusal[] {
  const latest = new Map(refusals.toSorted((a, b) => a.atMs - b.atMs).map((refusal) => [refusal.channel, refusal]));
  return [...latest.values()].filter(({ atMs }) => nowMs - atMs < REFUSAL_LASTS_MS);
}

/** The condition for fresh refusals; undefined where there is none. */
export function refusalCondition(refusals: readonly Refusal[]): DesiredCondition | undefined {
  const [first, ...others] = refusals.toSorted((a, b) => a.channel.localeCompare(b.channel, 'en'));
  if (!first) return undefined;
  const credential = CREDENTIAL_STATUSES.has(first.status);
  const said = credential
    ? `Channel "${first.channel}": the provider answers ${first.status} to the gateway's credential. Check the ` +
      `Secret that its auth names, and the provider's account.`
    : `Channel "${first.channel}": the provider answers ${first.status}. Check baseUrl, and the model names that the ` +
      `provider knows (models[].upstreamName).`;
  const more = others.length === 0
    ? ''
    : ` Likewise: ${others.map(({ channel, status }) => `"${channel}" (${status})`).join(', ')}.`;
  return { type: 'UpstreamRefused', status:
    'True', reason: credential ? 'CredentialRefused' : 'ModelRefused', message: said + more };
}
