/** Paths and bodies as each cloud has them. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { chooseBetas } from '../../../../../dataplane/protocol/platforms/betas.ts';
import { dressRequest } from '../../../../../dataplane/protocol/platforms/dress.ts';
import type { Dress } from '../../../../../dataplane/protocol/platforms/dress.ts';

const DRESS: Dress = {
  platform: 'BedrockInvoke', model: 'm:0', apiVersion: '2024-10-21', stream: true, betas: undefined,
};
const body = Buffer.from('{"model":"m:0", "stream":true,"max_tokens":1}');

describe('dressRequest', () => {
  it('leaves a protocol\'s own API as it is', () => {
    const sent = { path: '/v1/messages', body };
    assert.equal(dressRequest(sent, undefined), sent);
  });
  it('keeps all other bytes of the body', () => {
    const sent = dressRequest({ path: '/v1/messages', body }, DRESS);
    assert.equal(sent.path, '/model/m%3A0/invoke-with-response-stream');
    assert.equal(Buffer.from(sent.body).toString(), '{"max_tokens":1,"anthropic_version":"bedrock-2023-05-31"}');
  });
  it('puts the version after a query that is there', () => {
    const sent = dressRequest({ path: '/embeddings?a=b', body }, { ...DRESS, platform: 'AzureDeployments' });
    assert.equal(sent.path, '/openai/deployments/m%3A0/embeddings?a=b&api-version=2024-10-21');
  });
});

describe('chooseBetas', () => {
  it('drops a flag\'s member of the body, unless another version of the flag stays', () => {
    const header = ' fast-mode-2026-02-01 ,context-management-2099-01-01,context-management-2025-06-27';
    assert.deepEqual(chooseBetas(header, 'BedrockInvoke'), {
      kept: ['context-management-2025-06-27'], dropped: ['fast-mode-2026-02-01', 'context-management-2099-01-01'],
      members: ['speed'],
    });
  });
  it('says nothing of a call without flags', () => {
    assert.deepEqual(chooseBetas(undefined, 'BedrockInvoke'), { kept: [], dropped: [], members: [] });
  });
});
