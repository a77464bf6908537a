/** A ledger that does not answer, endpoint by endpoint (docs/errors.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '../../../dataplane/ledger/ledger.ts';
import { chat, get, message, post, startWorld, tidyUp } from '../../support/api/world.ts';
import type { World } from '../../support/api/world.ts';

let world: World;
beforeAll(async () => { world = await startWorld(); });
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

describe('a ledger that does not respond', () => {
  it('causes 503 with retry-after on every endpoint that needs it, and on no other', async () => {
    const { ledger } = world.gateway;
    const [hold, readKey, readUsage] =
      [ledger.hold.bind(ledger), ledger.readKey.bind(ledger), ledger.readUsage.bind(ledger)];
    const unavailable = (): Promise<never> => Promise.reject(new LedgerUnavailable('gone'));
    Object.assign(ledger, { hold: unavailable, readKey: unavailable, readUsage: unavailable });
    try {
      const openai = [await post(
        world, '/v1/chat/completions', chat(),
      ), await get(world, '/v1/key'), await get(world, '/v1/usage/req_1')];
      for (const answer of openai) assert.deepEqual([
        answer.status, answer.json().error.type, answer.json().error.code,
      ], [503, 'server_error', 'ledger_unavailable']);
      const anthropic = await post(world, '/v1/messages', message());
      assert.deepEqual([anthropic.status, anthropic.json().error.type], [503, 'api_error']);
      for (const answer of [...openai, anthropic]) assert.ok(Number(answer.headers.get('retry-after')) >= 1);
      assert.equal(world.openai.requests.length + world.anthropic.requests.length, 0);
      assert.equal((await get(world, '/v1/models')).status, 200);
      assert.equal((await get(world, '/pricing')).status, 200);
    } finally {
      Object.assign(ledger, { hold, readKey, readUsage });
    }
  });
});
