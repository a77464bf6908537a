/** Who calls an endpoint that costs nothing. */
import type { FastifyRequest } from 'fastify';
import type { KeyState } from '../state/state.ts';

export interface Caller {
  readonly key: KeyState;
  /** SHA-256 of the key as it was sent, hexadecimal. */
  readonly keyHash: string;
}

/** The caller as the plugin's hook has authenticated it. Throws where no hook has: a defect. */
export function callerOf({ caller }: Pick<FastifyRequest, 'caller'>): Caller {
  if (!caller) throw new Error('the request was not authenticated');
  return caller;
}
