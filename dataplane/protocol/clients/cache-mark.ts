/** Anthropic's cache breakpoints, which clients of other dialects set too. */
import type { CacheMark } from '../conversation/request.ts';
import { isRecord } from '../fields.ts';

/** A client's breakpoint; undefined: there is none. */
export function cacheMark(control: unknown): CacheMark | undefined {
  if (!isRecord(control)) return undefined;
  const { ttl } = control;
  return { ttl: ttl === '1h' || ttl === '5m' ? ttl : undefined };
}
