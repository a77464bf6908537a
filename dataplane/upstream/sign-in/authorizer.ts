/** Signs a channel's requests in: one authorizer per channel, which keeps its token. */
import type { SignIn } from '../upstream.ts';
import { requestAccessKey } from './aws-credentials.ts';
import { requestEntraToken } from './azure-entra.ts';
import { requestGoogleToken } from './google-oauth.ts';
import type { PodIdentity } from './identity.ts';
import { signRequest } from './sigv4.ts';
import type { SignedRequest } from './sigv4.ts';
import { createTokenSource } from './token-source.ts';
import type { Issued } from './token-source.ts';

export interface Authorizer {
  /** The headers that sign this request in. Rejects with SignInError. */
  authorize(request: SignedRequest): Promise<Record<string, string>>;
  /** The provider answered 401: the next request gets a new token. */
  refused(): void;
}

/** Asks for nothing before the first request. */
export function createAuthorizer(signIn: SignIn, pod: PodIdentity): Authorizer {
  switch (signIn.way) {
    case 'AzureEntra': return bearer(() => requestEntraToken(signIn, pod), pod);
    case 'GoogleOAuth': return bearer(() => requestGoogleToken(signIn, pod), pod);
    case 'AwsSigV4': return kept(
      () => requestAccessKey(signIn, pod), pod,
      (key, request) => signRequest(request, key, { scope: signIn, nowMs: pod.nowMs() }),
    );
  }
}

function bearer(request: () => Promise<Issued<string>>, pod: PodIdentity): Authorizer {
  return kept(request, pod, (token) => ({ authorization: `Bearer ${token}` }));
}

function kept<T>(
  request: () => Promise<Issued<T>>, pod: PodIdentity,
  write: (value: T, request: SignedRequest) => Record<string, string> | Promise<Record<string, string>>,
): Authorizer {
  const source = createTokenSource(request, pod);
  let latest: T | undefined;
  return {
    async authorize(signed) {
      latest = await source.get();
      return write(latest, signed);
    },
    refused() {
      if (latest !== undefined) source.refuse(latest);
    },
  };
}
