/** Identifies the caller of a request. */
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../pipeline/context.ts';

/** The caller whom the request's head names (early-refusal.ts). Throws on a public endpoint, which is a defect. */
export function callerOf({ caller }: Pick<FastifyRequest, 'caller'>): Caller {
  if (!caller) throw new Error('the request was not authenticated');
  return caller;
}
