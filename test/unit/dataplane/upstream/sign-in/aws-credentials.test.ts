/** Access keys of a pod: EKS Pod Identity, and the node's metadata service. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { requestAccessKey } from '../../../../../dataplane/upstream/sign-in/aws-credentials.ts';
import { startMockProvider } from '../../../../support/mock-provider.ts';
import type { MockProvider } from '../../../../support/mock-provider.ts';
import { json } from '../../../../support/provider-answers.ts';

const SIGN_IN = { way: 'AwsSigV4', region: 'eu-west-1', service: 'bedrock', credential: undefined } as const;
const ANSWER = json({
  AccessKeyId: 'ASIAPOD',
  SecretAccessKey: 'pod-secret',
  Token: 'pod-session',
  Expiration: '2026-01-02T04:00:00Z',
});
const KEY = {
  value: { accessKeyId: 'ASIAPOD', secretAccessKey: 'pod-secret', sessionToken: 'pod-session' },
  expiresAtMs: Date.UTC(2026, 0, 2, 4),
};

let service: MockProvider;
const pod = (env: Record<string, string>): Parameters<typeof requestAccessKey>[1] => ({
  env,
  nowMs: () => 0,
  random: () => 0,
});

beforeAll(async () => {
  service = await startMockProvider();
});
afterAll(() => service.stop());

describe('requestAccessKey', () => {
  it("requests them from the agent of EKS Pod Identity with the pod's token", async () => {
    service.clear();
    service.script(ANSWER);
    assert.deepEqual(
      await requestAccessKey(
        SIGN_IN,
        pod({
          AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.url}/v1/credentials`,
          AWS_CONTAINER_AUTHORIZATION_TOKEN: 'agent-token',
        }),
      ),
      KEY,
    );
    assert.deepEqual(
      [service.requests[0]?.path, service.requests[0]?.headers.authorization],
      ['/v1/credentials', 'agent-token'],
    );
  });
  it('requests them from the metadata service with a token of its own', async () => {
    service.clear();
    service.script({ steps: ['metadata-token'] }, { steps: ['node-role\n'] }, ANSWER);
    assert.deepEqual(await requestAccessKey(SIGN_IN, pod({ AWS_EC2_METADATA_SERVICE_ENDPOINT: service.url })), KEY);
    assert.deepEqual(
      service.requests.map(({ method, path }) => `${method} ${path}`),
      [
        'PUT /latest/api/token',
        'GET /latest/meta-data/iam/security-credentials/',
        'GET /latest/meta-data/iam/security-credentials/node-role',
      ],
    );
    assert.ok(
      service.requests.slice(1).every(({ headers }) => headers['x-aws-ec2-metadata-token'] === 'metadata-token'),
    );
  });
  it('reports a response without a key', async () => {
    service.clear();
    service.script(json({ Code: 'AssumeRoleUnauthorizedAccess' }));
    await assert.rejects(requestAccessKey(SIGN_IN, pod({ AWS_CONTAINER_CREDENTIALS_FULL_URI: service.url })), {
      name: 'SignInError',
      code: 'BAD_ANSWER',
    });
  });
});
