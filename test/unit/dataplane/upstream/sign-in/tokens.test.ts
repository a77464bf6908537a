/** Tokens of Google by federation, and of Azure by the node's managed identity; answers of token services. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { createAuthorizer } from '../../../../../dataplane/upstream/sign-in/authorizer.ts';
import { requestEntraToken } from '../../../../../dataplane/upstream/sign-in/azure-entra.ts';
import { requestGoogleToken } from '../../../../../dataplane/upstream/sign-in/google-oauth.ts';
import { SecretValue } from '../../../../../dataplane/upstream/upstream.ts';
import { startMockProvider } from '../../../../support/mock-provider.ts';
import type { MockProvider } from '../../../../support/mock-provider.ts';
import { json } from '../../../../support/provider-answers.ts';

let service: MockProvider;
let folder: string;
const pod = (env: Record<string, string> = {}): Parameters<typeof requestGoogleToken>[1] => ({
  env,
  nowMs: () => 0,
  random: () => 0,
});

beforeAll(async () => {
  service = await startMockProvider();
  folder = await mkdtemp(join(tmpdir(), 'mgw-tokens-'));
  await writeFile(join(folder, 'token'), 'subject-of-the-pod\n');
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});
afterEach(() => service.clear());

const google = (fields: object): Parameters<typeof requestGoogleToken>[0] => ({
  way: 'GoogleOAuth',
  credential: new SecretValue(
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/pool',
      token_url: `${service.url}/v1/token`,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      ...fields,
    }),
  ),
});
const fields = (index: number): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(service.requests[index]?.body.toString()));

describe("Google's federation", () => {
  it('exchanges the token of a file', async () => {
    service.script(json({ access_token: 'federated', expires_in: 100 }));
    const issued = await requestGoogleToken(google({ credential_source: { file: join(folder, 'token') } }), pod());
    assert.deepEqual(issued, { value: 'federated', expiresAtMs: 100_000 });
    assert.deepEqual(fields(0), {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: '//iam.googleapis.com/pool',
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      subject_token: 'subject-of-the-pod',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    });
  });
  it("gets the token from an address, and a service account's token", async () => {
    service.script(
      json({ id_token: 'subject-of-the-issuer' }),
      json({ access_token: 'federated', expires_in: 100 }),
      json({ accessToken: 'impersonated', expireTime: '1970-01-01T01:00:00Z' }),
    );
    const issued = await requestGoogleToken(
      google({
        service_account_impersonation_url: `${service.url}/v1/sa:generateAccessToken`,
        credential_source: {
          url: `${service.url}/issuer`,
          headers: { metadata: 'true' },
          format: { type: 'json', subject_token_field_name: 'id_token' },
        },
      }),
      pod(),
    );
    assert.deepEqual(issued, { value: 'impersonated', expiresAtMs: 3_600_000 });
    assert.equal(service.requests[0]?.headers['metadata'], 'true');
    assert.equal(fields(1)['subject_token'], 'subject-of-the-issuer');
    assert.equal(service.requests[2]?.headers.authorization, 'Bearer federated');
  });
  it('reports what is missing, and no token', async () => {
    await assert.rejects(requestGoogleToken(google({ credential_source: {} }), pod()), { code: 'BAD_CREDENTIAL' });
    await assert.rejects(requestGoogleToken(google({ credential_source: { file: join(folder, 'none') } }), pod()), {
      code: 'NO_TOKEN_FILE',
    });
  });
});

describe("Azure's managed identity", () => {
  it('is used if the pod has no workload identity', async () => {
    service.script(json({ access_token: 'managed', expires_in: '3600' }));
    const issued = await requestEntraToken(
      {
        way: 'AzureEntra',
        credential: undefined,
        tenantId: '',
        clientId: 'client-1',
        authority: '',
        scope: 'https://ai.azure.com/.default',
      },
      pod({ AZURE_POD_IDENTITY_AUTHORITY_HOST: service.url }),
    );
    assert.equal(issued.value, 'managed');
    const [asked] = service.requests;
    assert.equal(asked?.headers['metadata'], 'true');
    assert.equal(
      asked?.path,
      '/metadata/identity/oauth2/token?api-version=2018-02-01' +
        '&resource=https%3A%2F%2Fai.azure.com&client_id=client-1',
    );
  });
  it('is never redirected to another address', async () => {
    service.script({ status: 302, headers: { location: `${service.url}/elsewhere` }, steps: [] });
    await assert.rejects(
      requestEntraToken(
        {
          way: 'AzureEntra',
          credential: new SecretValue('s'),
          tenantId: 't',
          clientId: 'c',
          scope: 'x',
          authority: service.url,
        },
        pod(),
      ),
      { code: 'HTTP_302' },
    );
    assert.equal(service.requests.length, 1);
  });
});

describe('a signature for AWS', () => {
  const KEY = new SecretValue(JSON.stringify({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }));
  const request = {
    method: 'POST',
    host: 'vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com',
    path: '/model/m/converse',
    contentType: 'application/json',
    body: undefined,
  };
  const sign = { way: 'AwsSigV4', credential: KEY, region: 'eu-west-1', service: 'bedrock' } as const;

  it("uses the region of the channel, whatever a private endpoint's host", async () => {
    const { authorization = '' } = await createAuthorizer(sign, pod()).authorize(request);
    assert.match(authorization, /\/eu-west-1\/bedrock\/aws4_request/);
  });
  it("uses AWS's Date header after a refusal, if the local clock is wrong", async () => {
    const authorizer = createAuthorizer(sign, pod());
    assert.equal((await authorizer.authorize(request))['x-amz-date'], '19700101T000000Z');
    authorizer.answered({ status: 403, headers: { date: 'Thu, 01 Jan 1970 00:03:00 GMT' } });
    assert.equal((await authorizer.authorize(request))['x-amz-date'], '19700101T000000Z');
    authorizer.answered({ status: 403, headers: { date: 'Thu, 01 Jan 1970 02:00:00 GMT' } });
    assert.equal((await authorizer.authorize(request))['x-amz-date'], '19700101T020000Z');
  });
  it('uses another key after AWS reports this one as expired', async () => {
    const key = (id: string): ReturnType<typeof json> =>
      json({
        AccessKeyId: id,
        SecretAccessKey: 's',
        Token: 't',
        Expiration: '2099-01-01T00:00:00Z',
      });
    service.script(key('ASIA1'), key('ASIA2'));
    const authorizer = createAuthorizer(
      { ...sign, credential: undefined },
      pod({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: service.url,
      }),
    );
    await authorizer.authorize(request);
    authorizer.answered({ status: 403, headers: { 'x-amzn-errortype': 'AccessDeniedException' } });
    assert.match((await authorizer.authorize(request))['authorization'] ?? '', /ASIA1/);
    authorizer.answered({ status: 403, headers: { 'x-amzn-errortype': 'ExpiredTokenException:http://x' } });
    assert.match((await authorizer.authorize(request))['authorization'] ?? '', /ASIA2/);
  });
});
