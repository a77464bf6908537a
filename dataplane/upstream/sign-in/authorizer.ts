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
  /** Reports the provider's answer. After a refusal of the token, the next request gets a new one. */
  answered(answer: ResponseHead): void;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Requests no token before the first call. */
export function createAuthorizer(signIn: SignIn, pod: PodIdentity): Authorizer {
  switch (signIn.way) {
    case 'AzureEntra':
      return bearer(() => requestEntraToken(signIn, pod), pod);
    case 'GoogleOAuth':
      return bearer(() => requestGoogleToken(signIn, pod), pod);
    case 'AwsSigV4':
      return aws(signIn, pod);
  }
}

/** AWS answers 403 with these codes for expired keys. */
const EXPIRED_KEY = /^(?:ExpiredToken|UnrecognizedClient)/;
/** AWS allows a difference of five minutes. The Date header's precision leaves a minute's margin. */
const MAX_SKEW_MS = 240_000;

/** Corrects a wrong clock by the Date header of AWS's responses, as AWS's own SDKs do. */
function aws(signIn: Extract<SignIn, { way: 'AwsSigV4' }>, pod: PodIdentity): Authorizer {
  let skewMs = 0;
  const authorizer = kept(
    () => requestAccessKey(signIn, pod),
    pod,
    (key, request) => signRequest(request, key, { scope: signIn, nowMs: pod.nowMs() + skewMs }),
  );
  return {
    authorize: (request) => authorizer.authorize(request),
    answered({ status, headers }) {
      if (status !== FORBIDDEN) return authorizer.answered({ status, headers });
      const ahead = Date.parse(headers['date'] ?? '') - pod.nowMs();
      if (Math.abs(ahead - skewMs) > MAX_SKEW_MS) skewMs = ahead;
      if (EXPIRED_KEY.test(headers['x-amzn-errortype'] ?? '')) authorizer.answered({ status: UNAUTHORIZED, headers });
    },
  };
}

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

function bearer(request: () => Promise<Issued<string>>, pod: PodIdentity): Authorizer {
  return kept(request, pod, (token) => ({ authorization: `Bearer ${token}` }));
}

function kept<T>(
  request: () => Promise<Issued<T>>,
  pod: PodIdentity,
  write: (value: T, request: SignedRequest) => Record<string, string> | Promise<Record<string, string>>,
): Authorizer {
  const source = createTokenSource(request, pod);
  let latest: T | undefined;
  return {
    async authorize(signed) {
      latest = await source.get();
      return write(latest, signed);
    },
    answered({ status }) {
      if (status === UNAUTHORIZED && latest !== undefined) source.refuse(latest);
    },
  };
}
