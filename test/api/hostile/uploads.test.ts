/**
 * Unfinished uploads. Before bodies were budgeted by key, one key that held 256 MiB of them refused every other key's
 * larger prompts with 503 for five minutes.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { chat, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { requestHead, send } from './support.ts';
import type { RawConnection } from './support.ts';

const MIB = 2 ** 20;
const CHAT = '/v1/chat/completions';

describe('unfinished uploads', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await startTestStack({ maxBodyBytes: MIB, maxBufferedBytes: 8 * MIB });
  });
  afterAll(() => stack.stop());

  it('of one key cause refusals for that key only', async () => {
    const open: RawConnection[] = [];
    const upload = async (): Promise<RawConnection> => {
      const head = requestHead(CHAT, ['Host: gateway', `Authorization: Bearer ${KEYS.main}`, `Content-Length: ${MIB}`]);
      const connection = await send(stack.gateway.url, head);
      connection.write(Buffer.alloc(MIB - 1, ' '));
      open.push(connection);
      return connection;
    };
    // a quarter of the budget is two bodies; of eight, six are refused although no other key is active
    for (let count = 0; count < 8; count++) await upload();
    const refused = await Promise.race(open.map(({ response }) => response));
    assert.match(refused, /^HTTP\/1\.1 429 [\s\S]*rate_limit_exceeded/);
    stack.openai.script({ steps: [{ kind: 'send', bytes: ANSWER, tokens: 1 }] });
    const large = chat('gpt-model', { metadata: { note: 'x'.repeat(500_000) } });
    const other = await post(stack, CHAT, large, { authorization: `Bearer ${KEYS.poor}` });
    assert.notEqual(other.status, 503);
    assert.notEqual(other.status, 429);
    for (const { socket } of open) socket.destroy();
  });
});

const ANSWER = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-model',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
