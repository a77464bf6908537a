/** [P] Limits by the minute: their fields in forms, and how pages show them. */
import type { RateLimits } from '#crds/types.gen.ts';
import { pluralize } from '#web/format.ts';

export const RATE_FIELDS = [
  'requestsPerMinute',
  'inputTokensPerMinute',
  'outputTokensPerMinute',
] as const satisfies readonly (keyof RateLimits)[];
export type RateField = (typeof RATE_FIELDS)[number];

export const RATE_LABELS: Readonly<Record<RateField, string>> = {
  requestsPerMinute: 'Requests per minute',
  inputTokensPerMinute: 'Input tokens per minute',
  outputTokensPerMinute: 'Output tokens per minute',
};

const UNITS: Readonly<Record<RateField, string>> = {
  requestsPerMinute: 'request',
  inputTokensPerMinute: 'input token',
  outputTokensPerMinute: 'output token',
};

/** One value for each field. */
export function eachRate<T>(valueOf: (field: RateField) => T): Readonly<Record<RateField, T>> {
  return {
    requestsPerMinute: valueOf('requestsPerMinute'),
    inputTokensPerMinute: valueOf('inputTokensPerMinute'),
    outputTokensPerMinute: valueOf('outputTokensPerMinute'),
  };
}

/** "600 requests, 100,000 input tokens"; empty if nothing is limited. */
export function rateText(limits: RateLimits | undefined): string {
  return RATE_FIELDS.flatMap((field) => {
    const amount = limits?.[field];
    return amount === undefined ? [] : [pluralize(amount, UNITS[field])];
  }).join(', ');
}
