/**
 * Refusals of a conversion, by name: of what the other side's protocol cannot express, and of what is not well-formed.
 */
import { RequestFault } from './call-facts.ts';

const MOST_SHOWN = 100;

/** `why`: what the other protocol has instead, or has not. */
export function unsupported(param: string, upstream: string, why?: string): RequestFault {
  const shown = param.length > MOST_SHOWN ? `${param.slice(0, MOST_SHOWN)}…` : param;
  return new RequestFault('unsupported_parameter',
    `The provider of this model speaks ${upstream}'s protocol, which "${shown}" cannot be converted to${why === undefined ? '' : `: ${why}`}. Leave it out, or use a model whose provider has it.`, shown);
}

export function malformed(param: string, what: string): RequestFault {
  return new RequestFault('invalid_request', `The field "${param}" must be ${what}.`, param);
}
