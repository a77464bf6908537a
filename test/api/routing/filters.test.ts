/** A group with only some of a route's models and channels. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, describe, it } from 'vitest';
import { openaiChat } from '../../support/provider-answers.ts';
import { chat, get, post } from '../../support/api/test-stack.ts';
import { FILTERED_KEY, startFourChannels } from '../../support/worlds/four-channels.ts';

const { stack, script, call, endTest, stop } = await startFourChannels();
afterAll(stop);
afterEach(endTest);

describe("a group's filters", () => {
  it('hide models and channels', async () => {
    script(openaiChat({ content: '0' }), openaiChat({ content: '1' }), openaiChat({ content: '2' }));
    assert.equal((await call({}, { 'x-api-key': FILTERED_KEY })).json().choices[0].message.content, '2');
    assert.equal(
      (await post(stack, '/v1/chat/completions', chat('hidden-model'), { 'x-api-key': FILTERED_KEY })).status,
      404,
    );
    assert.deepEqual(
      (await get(stack, '/v1/models', { 'x-api-key': FILTERED_KEY })).json().data.map(({ id }: { id: string }) => id),
      ['four-model'],
    );
  });
});
