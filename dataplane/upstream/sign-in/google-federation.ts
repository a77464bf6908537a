/**
 * Google's workload identity federation: a token of another issuer, from a file or an address, is exchanged for one of
 * Google, and that one for a service account's where the configuration names one.
 */
import { readTokenFile } from './identity.ts';
import type { PodIdentity } from './identity.ts';
import { askForJson, askForToken, parseObject, readAccessToken, SignInError } from './token-request.ts';
import type { Issued } from './token-source.ts';

type Fields = Readonly<Record<string, unknown>>;

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

/** `config`: the JSON file with the type external_account. Throws SignInError. */
export async function exchangeForGoogle(config: Fields, scope: string, pod: PodIdentity): Promise<Issued<string>> {
  const audience = textOf(config, 'audience');
  const answer = await askForJson({
    method: 'POST',
    url: textOf(config, 'token_url'),
    form: {
      grant_type: GRANT,
      audience,
      scope,
      requested_token_type: ACCESS_TOKEN,
      subject_token_type: textOf(config, 'subject_token_type'),
      subject_token: await subjectToken(fieldsOf(config['credential_source']), pod),
    },
    by: pod.toTokenServices,
  });
  const federated = readAccessToken(answer, pod.nowMs());
  const impersonation = config['service_account_impersonation_url'];
  return typeof impersonation === 'string' ? impersonate(impersonation, federated.value, { scope, pod }) : federated;
}

interface Impersonation {
  readonly scope: string;
  readonly pod: PodIdentity;
}

async function impersonate(url: string, token: string, asked: Impersonation): Promise<Issued<string>> {
  const { accessToken, expireTime } = await askForJson({
    method: 'POST',
    url,
    headers: { authorization: `Bearer ${token}` },
    json: { scope: [asked.scope], lifetime: '3600s' },
    by: asked.pod.toTokenServices,
  });
  const expiresAtMs = typeof expireTime === 'string' ? Date.parse(expireTime) : Number.NaN;
  if (typeof accessToken !== 'string' || Number.isNaN(expiresAtMs))
    throw new SignInError('BAD_ANSWER', "the service account's token has no end");
  return { value: accessToken, expiresAtMs };
}

async function subjectToken(source: Fields, { toTokenServices: by }: PodIdentity): Promise<string> {
  const { file, url, headers, format } = source;
  if (typeof file === 'string') return inFormat(await readTokenFile(file), fieldsOf(format));
  if (typeof url !== 'string')
    throw new SignInError('BAD_CREDENTIAL', 'credential_source has neither a file nor an url');
  const sent = Object.entries(fieldsOf(headers)).map(([name, value]) => [name, String(value)] as const);
  return inFormat(await askForToken({ method: 'GET', url, headers: Object.fromEntries(sent), by }), fieldsOf(format));
}

/** The text itself, or a member of it. */
function inFormat(text: string, { type, subject_token_field_name: name }: Fields): string {
  if (type !== 'json') return text.trim();
  const token = typeof name === 'string' ? parseObject(text)?.[name] : undefined;
  if (typeof token !== 'string') throw new SignInError('BAD_ANSWER', 'there is no subject token in it');
  return token;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function textOf(config: Fields, name: string): string {
  const value = config[name];
  if (typeof value !== 'string') throw new SignInError('BAD_CREDENTIAL', `the configuration has no ${name}`);
  return value;
}
