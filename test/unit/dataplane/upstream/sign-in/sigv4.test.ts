/** Signatures, compared with vectors of another implementation of the specification. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { signRequest } from '../../../../../dataplane/upstream/sign-in/sigv4.ts';

const KEY = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'token-example',
};
const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const SIGNED = 'content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token';

describe('signRequest', () => {
  it("encodes a model's colon twice in the signed path", async () => {
    const body =
      '{"anthropic_version":"bedrock-2023-05-31","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}';
    const headers = await signRequest(
      {
        method: 'POST',
        host: 'bedrock-runtime.eu-west-1.amazonaws.com',
        contentType: 'application/json',
        path: '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke',
        body: Buffer.from(body),
      },
      KEY,
      { scope: { region: 'eu-west-1', service: 'bedrock' }, nowMs: NOW_MS },
    );
    assert.deepEqual(headers, {
      authorization:
        `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-west-1/bedrock/aws4_request, ` +
        `SignedHeaders=${SIGNED}, Signature=22cce3b50f85403ebd7450060ea0f3798ac0d1c0e80f8fbaf16e803c2527292c`,
      'x-amz-content-sha256': 'f4d78fc2785b44789662c0e3bea21fc5e8f54ca69b232186b3e5d1bb74e3ade7',
      'x-amz-date': '20260102T030405Z',
      'x-amz-security-token': 'token-example',
    });
  });
  it('uses the service of the channel', async () => {
    const { authorization } = await signRequest(
      {
        method: 'POST',
        host: 'bedrock-mantle.us-east-1.api.aws',
        contentType: 'application/json',
        path: '/openai/v1/responses',
        body: Buffer.from('{"model":"gpt-4o","input":"hello"}'),
      },
      KEY,
      { scope: { region: 'us-east-1', service: 'bedrock-mantle' }, nowMs: NOW_MS },
    );
    assert.match(authorization ?? '', /Signature=363d667fa7936b98d9e0ac35fffea936ae31966fbbf94f62c40514c9283ea3e1$/);
  });
});
