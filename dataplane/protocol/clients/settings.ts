/** Reads settings with the client's paths. */
import type { Located } from '../conversation/request.ts';

/** Undefined: the client does not set it. */
export function located<Value>(value: Value | undefined, path: string): Located<Value> | undefined {
  return value === undefined ? undefined : { value, path };
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
