/** Members of a message that a response has in other words. */
import { isRecord, stringOf, textOf } from '../fields.ts';

const SERVICE_TIERS: ReadonlyMap<string, string> = new Map([
  ['standard', 'default'],
  ['priority', 'priority'],
]);

/** Undefined: it is not told, or has no name in the client's dialect. */
export function serviceTierOf(usage: unknown): string | undefined {
  return isRecord(usage) ? SERVICE_TIERS.get(stringOf(usage['service_tier'])) : undefined;
}

/** The provider's explanation of a refusal, if it gives one. */
export function explanationOf(details: unknown): string | undefined {
  return isRecord(details) ? textOf(details['explanation']) : undefined;
}
