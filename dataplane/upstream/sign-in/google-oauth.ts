/** Access tokens of Google Cloud: by a service account's key, by federation, or from the metadata server. */
import { sign } from 'node:crypto';
import type { SignIn } from '../upstream.ts';
import { exchangeForGoogle } from './google-federation.ts';
import type { PodIdentity } from './identity.ts';
import { askForJson, parseObject, readAccessToken, SignInError } from './token-request.ts';
import type { Issued } from './token-source.ts';

type GoogleOAuth = Extract<SignIn, { way: 'GoogleOAuth' }>;

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const JWT_SECONDS = 3600;
const METADATA_HOST = 'metadata.google.internal';
const METADATA_PATH = '/computeMetadata/v1/instance/service-accounts/default/token';

/** Throws SignInError. */
export async function requestGoogleToken({ credential }: GoogleOAuth, pod: PodIdentity): Promise<Issued<string>> {
  const file = credential && (parseObject(credential.reveal()) ?? {});
  if (file?.['type'] === 'external_account') return exchangeForGoogle(file, SCOPE, pod);
  const answer = file
    ? await askWithKey(file, pod)
    : await askForJson({
        method: 'GET',
        url: `http://${pod.env['GCE_METADATA_HOST'] ?? METADATA_HOST}${METADATA_PATH}`,
        headers: { 'metadata-flavor': 'Google' },
      });
  return readAccessToken(answer, pod.nowMs());
}

function askWithKey(
  file: Readonly<Record<string, unknown>>,
  pod: PodIdentity,
): Promise<Readonly<Record<string, unknown>>> {
  const { client_email: email, private_key: key, private_key_id: keyId, token_uri: uri } = file;
  if (typeof email !== 'string' || typeof key !== 'string' || typeof uri !== 'string')
    throw new SignInError('BAD_CREDENTIAL', 'the Secret holds no service account');
  const issuedAt = Math.floor(pod.nowMs() / 1000);
  const assertion = signJwt(key, [
    { alg: 'RS256', typ: 'JWT', ...(typeof keyId === 'string' && { kid: keyId }) },
    { iss: email, scope: SCOPE, aud: uri, iat: issuedAt, exp: issuedAt + JWT_SECONDS },
  ]);
  return askForJson({ method: 'POST', url: uri, form: { grant_type: JWT_BEARER, assertion }, by: pod.toTokenServices });
}

function signJwt(key: string, parts: readonly object[]): string {
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  try {
    return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
  } catch {
    // the error's text may quote the key
    throw new SignInError('BAD_CREDENTIAL', 'the private key of the service account cannot be used');
  }
}
