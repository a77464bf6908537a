/** The paths and bodies of each cloud. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { chooseBetas } from '../../../../../dataplane/protocol/platforms/betas.ts';
import { toPlatformRequest } from '../../../../../dataplane/protocol/platforms/platform-request.ts';
import type { PlatformPlan } from '../../../../../dataplane/protocol/platforms/platform-request.ts';

const PLAN: PlatformPlan = {
  platform: 'BedrockInvoke',
  model: 'm:0',
  apiVersion: '2024-10-21',
  stream: true,
  betas: undefined,
};
const body = Buffer.from('{"model":"m:0", "stream":true,"max_tokens":1}');

describe('toPlatformRequest', () => {
  it("does not change requests to a protocol's own API", () => {
    const sent = { path: '/v1/messages', body };
    assert.equal(toPlatformRequest(sent, undefined), sent);
  });
  it('keeps all other bytes of the body', () => {
    const sent = toPlatformRequest({ path: '/v1/messages', body }, PLAN);
    assert.equal(sent.path, '/model/m%3A0/invoke-with-response-stream');
    assert.equal(Buffer.from(sent.body).toString(), '{"max_tokens":1,"anthropic_version":"bedrock-2023-05-31"}');
  });
  it('adds the version to an existing query', () => {
    const sent = toPlatformRequest({ path: '/embeddings?a=b', body }, { ...PLAN, platform: 'AzureDeployments' });
    assert.equal(sent.path, '/openai/deployments/m%3A0/embeddings?a=b&api-version=2024-10-21');
  });
});

describe('chooseBetas', () => {
  it("drops a flag's field of the body, unless another version of the flag stays", () => {
    const header = ' fast-mode-2026-02-01 ,context-management-2099-01-01,context-management-2025-06-27';
    assert.deepEqual(chooseBetas(header, 'BedrockInvoke'), {
      kept: ['context-management-2025-06-27'],
      dropped: ['fast-mode-2026-02-01', 'context-management-2099-01-01'],
      members: ['speed'],
    });
  });
  it('reports nothing for a call without flags', () => {
    assert.deepEqual(chooseBetas(undefined, 'BedrockInvoke'), { kept: [], dropped: [], members: [] });
  });
});
