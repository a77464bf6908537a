/**
 * Gets access keys for AWS: from the channel's Secret, or for the pod by IRSA, EKS Pod Identity, its environment or the
 * node's metadata server, in the order of AWS's SDKs.
 */
import type { SignIn } from '../upstream.ts';
import { readTokenFile } from './identity.ts';
import type { PodIdentity } from './identity.ts';
import { askForJson, askForToken, parseObject, SignInError } from './token-request.ts';
import type { Issued } from './token-source.ts';

type AwsSigV4 = Extract<SignIn, { way: 'AwsSigV4' }>;

export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const NEVER = Number.MAX_SAFE_INTEGER;
const SESSION_SECONDS = 3600;

/** Throws SignInError. */
export async function requestAccessKey({ credential, region }: AwsSigV4, pod: PodIdentity): Promise<Issued<AccessKey>> {
  const { env } = pod;
  if (credential) return { value: readKey(parseObject(credential.reveal())), expiresAtMs: NEVER };
  if (env['AWS_ACCESS_KEY_ID'] !== undefined) return { value: keyOfEnvironment(pod), expiresAtMs: NEVER };
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_CONTAINER_CREDENTIALS_FULL_URI: uri } = env;
  if (role !== undefined && file !== undefined) return assumeRole({ role, file, region }, pod);
  if (uri !== undefined) return readContainer(uri, pod);
  return readMetadata(env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] ?? 'http://169.254.169.254');
}

function keyOfEnvironment({ env }: PodIdentity): AccessKey {
  return readKey({
    accessKeyId: env['AWS_ACCESS_KEY_ID'],
    secretAccessKey: env['AWS_SECRET_ACCESS_KEY'],
    sessionToken: env['AWS_SESSION_TOKEN'],
  });
}

interface Role {
  readonly role: string;
  readonly file: string;
  readonly region: string;
}

/** IRSA: the request is unsigned, and the response is XML. */
async function assumeRole(
  { role, file, region }: Role,
  { env, toTokenServices }: PodIdentity,
): Promise<Issued<AccessKey>> {
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const xml = await askForToken({
    method: 'POST',
    url: `${(env['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.${domain}`).replace(/\/+$/, '')}/`,
    form: {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: role,
      RoleSessionName: env['AWS_ROLE_SESSION_NAME'] ?? 'model-gateway',
      DurationSeconds: String(SESSION_SECONDS),
      WebIdentityToken: await readTokenFile(file),
    },
    by: toTokenServices,
  });
  const element = (name: string): string | undefined => new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1];
  return issue(
    {
      accessKeyId: element('AccessKeyId'),
      secretAccessKey: element('SecretAccessKey'),
      sessionToken: element('SessionToken'),
    },
    element('Expiration'),
  );
}

/** EKS Pod Identity, and ECS. */
async function readContainer(uri: string, { env }: PodIdentity): Promise<Issued<AccessKey>> {
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file, AWS_CONTAINER_AUTHORIZATION_TOKEN: token } = env;
  const authorization = file === undefined ? token : await readTokenFile(file);
  return readAnswer(
    await askForJson({
      method: 'GET',
      url: uri,
      ...(authorization !== undefined && { headers: { authorization } }),
    }),
  );
}

/** The second version of the metadata service, which asks for a token first. */
async function readMetadata(endpoint: string): Promise<Issued<AccessKey>> {
  const base = `${endpoint.replace(/\/+$/, '')}/latest`;
  const token = await askForToken({
    method: 'PUT',
    url: `${base}/api/token`,
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '21600' },
  });
  const headers = { 'x-aws-ec2-metadata-token': token };
  const roles = `${base}/meta-data/iam/security-credentials/`;
  const [role = ''] = (await askForToken({ method: 'GET', url: roles, headers })).split('\n');
  return readAnswer(await askForJson({ method: 'GET', url: roles + encodeURIComponent(role.trim()), headers }));
}

function readAnswer(answer: Readonly<Record<string, unknown>>): Issued<AccessKey> {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken, Expiration: end } = answer;
  return issue({ accessKeyId, secretAccessKey, sessionToken }, end);
}

function issue(key: Readonly<Record<string, unknown>>, end: unknown): Issued<AccessKey> {
  const expiresAtMs = typeof end === 'string' ? Date.parse(end) : Number.NaN;
  if (Number.isNaN(expiresAtMs)) throw new SignInError('BAD_ANSWER', 'the access key has no end');
  return { value: readKey(key), expiresAtMs };
}

function readKey({ accessKeyId, secretAccessKey, sessionToken }: Readonly<Record<string, unknown>> = {}): AccessKey {
  if (typeof accessKeyId !== 'string' || typeof secretAccessKey !== 'string')
    throw new SignInError('BAD_ANSWER', 'there is no access key in it');
  return { accessKeyId, secretAccessKey, ...(typeof sessionToken === 'string' && { sessionToken }) };
}
