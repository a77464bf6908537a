/** The limits of the conversations that an account keeps at providers, which cost it no money. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT } from '../../support/mock-provider.ts';
import { openaiError } from '../../support/provider-answers.ts';
import { keepState } from '../../support/state-provider.ts';
import { post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const LIMITS = { count: 3, bytes: 2_000 };
const MODEL = { model: 'renamed-model' };

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls) }),
    conversationLimits: LIMITS,
  });
  keepState(stack.openai, 'account');
});
afterAll(() => stack.stop());

const textOf = (length: number) => [{ type: 'message', role: 'user', content: 'x'.repeat(length) }];
const create = (length = 1, key: string = KEYS.main): Promise<Answer> =>
  post(stack, '/v1/conversations', { ...MODEL, items: textOf(length) }, { authorization: `Bearer ${key}` });
const add = (id: string, length: number): Promise<Answer> =>
  post(stack, `/v1/conversations/${id}/items`, { items: textOf(length) });
async function remove(id: string): Promise<void> {
  const headers = { authorization: `Bearer ${KEYS.main}` };
  const response = await fetch(`${stack.gateway.url}/v1/conversations/${id}`, { method: 'DELETE', headers });
  assert.equal(response.status, 200, await response.text());
}

function assertTooMany(answer: Answer): void {
  const { error } = answer.json();
  assert.equal(answer.status, 400);
  assert.equal(error.code, 'too_many_conversations');
  assert.match(error.message, /3 conversations and 2000 bytes .*DELETE \/v1\/conversations/);
}

describe('an account with as many conversations as it may keep', () => {
  it('creates no more, however many are asked for at once, until one is deleted', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create()));
    const made = answers.filter(({ status }) => status === 200).map((answer) => answer.json().id);
    assert.equal(made.length, LIMITS.count);
    answers.filter(({ status }) => status !== 200).forEach(assertTooMany);
    assert.equal(stack.openai.requests.length, LIMITS.count, 'a refused request was sent');
    await remove(made[0]);
    const next = await create();
    assert.equal(next.status, 200, next.text);
    assertTooMany(await create());
    for (const id of [made[1], made[2], next.json().id]) await remove(id);
  });

  it('adds no more to them than it may', async () => {
    const { id } = (await create(500)).json();
    const sent = stack.openai.requests.length;
    assertTooMany(await add(id, 1_500));
    assert.equal(stack.openai.requests.length, sent, 'a refused request was sent');
    assert.equal((await add(id, 1_000)).status, 200);
    assertTooMany(await create(500));
    await remove(id);
    const large = await create(1_500);
    assert.equal(large.status, 200);
    await remove(large.json().id);
  });

  it('has no place back if the provider may have created one without saying so', async () => {
    for (let n = 0; n < LIMITS.count; n++) {
      stack.openai.script({ headers: { 'content-type': 'application/json' }, steps: ['{"id":', CUT] });
      assert.equal((await create(1, KEYS.poor)).status, 502);
    }
    assertTooMany(await create(1, KEYS.poor));
  });

  it('has its place back if the provider creates none', async () => {
    stack.openai.script(openaiError(400, 'no'));
    for (let n = 0; n < LIMITS.count + 1; n++) assert.equal((await create()).json().error.message, 'no');
  });
});
