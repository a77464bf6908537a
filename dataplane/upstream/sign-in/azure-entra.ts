/**
 * Access tokens of Microsoft Entra: by a client secret, by the pod's workload identity, or without either by the node's
 * managed identity.
 */
import type { SignIn } from '../upstream.ts';
import { readTokenFile, requireVariable } from './identity.ts';
import type { PodIdentity } from './identity.ts';
import { askForJson, readAccessToken } from './token-request.ts';
import type { Issued } from './token-source.ts';

type AzureEntra = Extract<SignIn, { way: 'AzureEntra' }>;

const METADATA = 'http://169.254.169.254';
const AUTHORITY = 'https://login.microsoftonline.com';
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Throws SignInError. */
export async function requestEntraToken(signIn: AzureEntra, pod: PodIdentity): Promise<Issued<string>> {
  if (!signIn.credential && pod.env['AZURE_FEDERATED_TOKEN_FILE'] === undefined) return askMetadata(signIn, pod);
  const tenant = signIn.tenantId === '' ? requireVariable(pod, 'AZURE_TENANT_ID') : signIn.tenantId;
  const clientId = signIn.clientId === '' ? requireVariable(pod, 'AZURE_CLIENT_ID') : signIn.clientId;
  const answer = await askForJson({
    method: 'POST',
    url: `${authorityOf(signIn, pod)}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
    form: {
      client_id: clientId,
      scope: signIn.scope,
      grant_type: 'client_credentials',
      ...(await proofOf(signIn, pod)),
    },
    by: pod.toTokenServices,
  });
  return readAccessToken(answer, pod.nowMs());
}

/** Azure's own libraries read `AZURE_POD_IDENTITY_AUTHORITY_HOST` too. */
async function askMetadata({ scope, clientId }: AzureEntra, pod: PodIdentity): Promise<Issued<string>> {
  const host = (pod.env['AZURE_POD_IDENTITY_AUTHORITY_HOST'] ?? METADATA).replace(/\/+$/, '');
  const query = new URLSearchParams({
    'api-version': '2018-02-01',
    resource: scope.replace(/\/\.default$/, ''),
    ...(clientId !== '' && { client_id: clientId }),
  });
  const answer = await askForJson({
    method: 'GET',
    url: `${host}/metadata/identity/oauth2/token?${query.toString()}`,
    headers: { metadata: 'true' },
  });
  return readAccessToken(answer, pod.nowMs());
}

function authorityOf({ authority }: AzureEntra, { env }: PodIdentity): string {
  return (authority === '' ? (env['AZURE_AUTHORITY_HOST'] ?? AUTHORITY) : authority).replace(/\/+$/, '');
}

async function proofOf({ credential }: AzureEntra, pod: PodIdentity): Promise<Record<string, string>> {
  if (credential) return { client_secret: credential.reveal() };
  const assertion = await readTokenFile(requireVariable(pod, 'AZURE_FEDERATED_TOKEN_FILE'));
  return { client_assertion_type: JWT_BEARER, client_assertion: assertion };
}
