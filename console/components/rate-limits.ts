/** [P] How pages show limits by the minute. */
import type { RateLimits } from '#crds/types.gen.ts';
import { pluralize } from '#web/format.ts';

const UNITS = [
  ['requestsPerMinute', 'request'],
  ['inputTokensPerMinute', 'input token'],
  ['outputTokensPerMinute', 'output token'],
] as const satisfies readonly (readonly [keyof RateLimits, string])[];

/** "600 requests, 100,000 input tokens"; empty if nothing is limited. */
export function rateText(limits: RateLimits | undefined): string {
  return UNITS.flatMap(([field, unit]) => {
    const amount = limits?.[field];
    return amount === undefined ? [] : [pluralize(amount, unit)];
  }).join(', ');
}
