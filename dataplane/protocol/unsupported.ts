/**
 * Errors of a conversion: a field that the other protocol cannot express, and a malformed field.
 */
import { RequestFault } from './call-facts.ts';

const MAX_PATH = 100;

/** `why`: the reason, which follows a colon: what the other protocol lacks, or offers instead. */
export function unsupported(param: string, upstream: string, why?: string): RequestFault {
  const path = param.length > MAX_PATH ? `${param.slice(0, MAX_PATH)}…` : param;
  const reason = why === undefined ? '' : `: ${why}`;
  const message =
    `The provider of this model speaks ${upstream}'s protocol, which "${path}" cannot be converted ` +
    `to${reason}. Leave it out, or use a model whose provider has it.`;
  return new RequestFault('unsupported_parameter', message, path);
}

export function malformed(param: string, what: string): RequestFault {
  return new RequestFault('invalid_request', `The field "${param}" must be ${what}.`, param);
}
