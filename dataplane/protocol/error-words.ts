/**
 * A provider's error within a stream, in the client's dialect. What concerns only the gateway's own account with the provider
 * (its credential, its credit) is nobody else's business: the client hears that the provider failed.
 */
import type { Dialect } from './call-facts.ts';
import type { ProviderError, StreamEnd } from './converter.ts';
import { writeErrorEvent } from './write-error.ts';

type Kind = 'Overloaded' | 'RateLimited' | 'Invalid' | 'Own' | 'Other';

/** Types and codes of both protocols. */
const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['overloaded_error', 'Overloaded'], ['server_is_overloaded', 'Overloaded'], ['service_unavailable_error', 'Overloaded'], ['529', 'Overloaded'],
  ['rate_limit_error', 'RateLimited'], ['rate_limit_exceeded', 'RateLimited'], ['requests', 'RateLimited'], ['tokens', 'RateLimited'], ['429', 'RateLimited'],
  ['invalid_request_error', 'Invalid'], ['400', 'Invalid'], ['request_too_large', 'Invalid'],
  ['authentication_error', 'Own'], ['permission_error', 'Own'], ['billing_error', 'Own'], ['insufficient_quota', 'Own'], ['not_found_error', 'Own'],
  ['invalid_api_key', 'Own'], ['401', 'Own'], ['402', 'Own'], ['403', 'Own'], ['404', 'Own'],
]);

const OPENAI: Readonly<Record<Kind, { readonly type: string; readonly code: string | null }>> = {
  Overloaded: { type: 'server_error', code: 'upstream_error' },
  RateLimited: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  Invalid: { type: 'invalid_request_error', code: null },
  Own: { type: 'server_error', code: 'upstream_error' },
  Other: { type: 'server_error', code: 'upstream_error' },
};

const ANTHROPIC: Readonly<Record<Kind, string>> = {
  Overloaded: 'overloaded_error', RateLimited: 'rate_limit_error', Invalid: 'invalid_request_error', Own: 'api_error', Other: 'api_error',
};

/** The end of a stream that its provider broke off with an error. */
export function failStream(client: Dialect, error: ProviderError, requestId: string): StreamEnd {
  const kind = kindOf(error);
  const words = client === 'OpenAI' ? openAiWords(kind, error) : { type: ANTHROPIC[kind], code: null };
  const message = kind === 'Own' ? 'The provider ended the answer with an error.' : error.message;
  return { outcome: 'Failed', error: { ...error, message }, last: writeErrorEvent(client, { ...words, message, requestId }) };
}

/** The code is the more telling of the two. */
function kindOf({ type, code }: ProviderError): Kind {
  return KINDS.get(code ?? '') ?? KINDS.get(type ?? '') ?? 'Other';
}

function openAiWords(kind: Kind, error: ProviderError): { readonly type: string; readonly code: string | null } {
  return kind === 'Invalid' && error.code !== '400' ? { ...OPENAI[kind], code: error.code ?? null } : OPENAI[kind];
}
