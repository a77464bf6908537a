/** Features of a request that a model must allow. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, describe, it } from 'vitest';
import { anthropicMessage, openaiChat } from '../../support/provider-answers.ts';
import { chat, message, post } from '../../support/api/test-stack.ts';
import { startFourChannels } from '../../support/worlds/four-channels.ts';

const { stack, script, call, endTest, stop } = await startFourChannels();
afterAll(stop);
afterEach(endTest);

describe("a feature that the model's allow names", () => {
  it('is passed on, and refused for models that do not name it', async () => {
    script(openaiChat());
    const asks: readonly Record<string, unknown>[] = [
      { service_tier: 'priority' },
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'file', file: { file_id: 'file-1' } }],
          },
        ],
      },
      { web_search_options: {} },
    ];
    for (const more of asks) {
      assert.equal((await call(more)).status, 200, JSON.stringify(more));
      const refused = await post(stack, '/v1/chat/completions', chat('gpt-model', more));
      assert.deepEqual([refused.status, refused.json().error.code], [400, 'not_allowed'], JSON.stringify(more));
      assert.match(
        refused.json().error.message,
        /ask the platform team to allow (ServiceTiers|FileReferences|ServerTools)/,
      );
    }
    script(anthropicMessage());
    for (const more of [
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }],
          },
        ],
      },
    ]) {
      assert.equal((await post(stack, '/v1/messages', message('messages-model', more))).status, 200);
      const refused = await post(stack, '/v1/messages', message('claude-model', more));
      assert.deepEqual([refused.status, refused.json().error.type], [400, 'invalid_request_error']);
      assert.match(refused.json().error.message, /ask the platform team to allow (FileReferences|ServerTools)/);
    }
  });
});
