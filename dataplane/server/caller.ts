/** Identifies the caller of an endpoint that costs nothing. */
import type { FastifyRequest } from 'fastify';
import type { KeyState } from '../state/state.ts';

export interface Caller {
  readonly key: KeyState;
  /** SHA-256 of the key as it was sent, in hexadecimal. */
  readonly keyHash: string;
}

/** The caller that the plugin's hook has authenticated. Throws if no hook has, which is a defect. */
export function callerOf({ caller }: Pick<FastifyRequest, 'caller'>): Caller {
  if (!caller) throw new Error('the request was not authenticated');
  return caller;
}
