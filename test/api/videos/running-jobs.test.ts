/** The limit of jobs, videos and background responses, that one key may have running at a time. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { serveBackground } from '../../support/background-provider.ts';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { KEYS } from '../../support/manifests.ts';
import { nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const MAX = 3;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls) }),
    maxRunningJobs: MAX,
    // nobody polls
    timers: { every: () => () => undefined },
  });
  serveBackground(stack.openai);
});
afterAll(() => stack.stop());

function start(): Promise<Answer> {
  return post(stack, '/v1/responses', { model: 'renamed-model', input: 'hello', background: true });
}

describe('a key with as many running jobs as it may have', () => {
  it('gets no more, however many are started at once, until one has ended', async () => {
    const started = await Promise.all(Array.from({ length: 10 }, start));
    const made = started.filter(({ status }) => status === 200);
    const refused = started.filter(({ status }) => status === 429);
    assert.deepEqual([made.length, refused.length], [MAX, 10 - MAX]);
    assert.equal(stack.openai.requests.length, MAX, 'a refused call was sent');
    for (const { headers } of refused) assert.equal(headers.get('retry-after'), '10');
    assert.match(refused[0]?.json().error.message, /videos, background responses and batches running .* \(3\)/);

    // a call that leaves no job is served
    const plain = await post(stack, '/v1/chat/completions', { model: 'gpt-model', messages: [] });
    assert.notEqual(plain.status, 429);

    const url = `${stack.gateway.url}/v1/responses/${made[0]?.json().id}`;
    const headers = { authorization: `Bearer ${KEYS.main}` };
    assert.equal((await fetch(`${url}/cancel`, { method: 'POST', headers })).status, 200);
    assert.equal((await start()).status, 200);
    assert.equal((await start()).status, 429);
    assert.ok(nothingLeaks(stack), 'a refused call left a hold or a slot');
  });
});
