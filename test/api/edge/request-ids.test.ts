/** Every response has a request id of the gateway's own (docs/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { openaiStream, anthropicMessage } from '../../support/provider-answers.ts';
import { chat, get, message, post, startWorld, tidyUp } from '../../support/api/world.ts';
import type { World } from '../../support/api/world.ts';

let world: World;
beforeAll(async () => { world = await startWorld(); });
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

describe('request ids', () => {
  it('are on every response, streams, refusals and free endpoints included, and are the gateway\'s own', async () => {
    world.openai.script(openaiStream());
    world.anthropic.script(anthropicMessage());
    const answers = await Promise.all([
      post(world, '/v1/chat/completions', chat('gpt-model', { stream: true })), post(world, '/v1/messages', message()),
      post(world, '/v1/messages/count_tokens', message()), post(world, '/v1/chat/completions', 'no json'),
      get(world, '/v1/models'), get(
        world, '/v1/key',
      ), get(world, '/v1/usage/nothing'), get(world, '/pricing'), get(world, '/pricing.json'), get(world, '/nothing'),
      get(world, '/v1/chat/completions'), get(world, '/v1/key', { 'no-key': '1' }), get(world, '/v1/models/%ZZ'),
    ]);
    const ids = answers.map(({ headers }) => headers.get('x-request-id') ?? '');
    for (const [index, id] of ids.entries()) {
      assert.match(id, /^req_[0-9a-f]{32}$/);
      assert.equal(answers[index]?.headers.get('request-id'), id);
    }
    assert.equal(new Set(ids).size, ids.length);
  });
});
