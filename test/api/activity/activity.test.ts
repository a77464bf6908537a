/**
 * The activity that a gateway shows to owners of keys: refused and recent calls, with the API's messages and nothing
 * secret.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { ActivityBatch, ActivityEntry, ChannelStats } from '#activity/activity.ts';
import { chat, get, message, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { eventually } from '../../support/api/process.ts';
import { KEYS } from '../../support/manifests.ts';
import { gated, openaiChat, openaiError } from '../../support/provider-answers.ts';

const batches: ActivityBatch[] = [];
const told: ChannelStats[] = [];
let stack: TestStack;
let closed = false;
let broken = false;

beforeAll(async () => {
  stack = await startTestStack({
    activity: {
      async write(batch) {
        if (broken) throw new Error('the store is down');
        batches.push(batch);
      },
      async writeChannels({ channels }) {
        told.push(...channels);
      },
      async close() {
        closed = true;
      },
    },
    timers: {
      every(_ms, tick) {
        const timer = setInterval(tick, 5).unref();
        return () => clearInterval(timer);
      },
    },
  });
});
afterAll(() => stack.stop());

async function entryOf(requestId: string | null): Promise<ActivityEntry> {
  return eventually('the entry is written', () =>
    batches.flatMap(({ entries }) => entries).find(({ callId }) => callId === requestId),
  );
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

describe('the activity of keys', () => {
  it('lists every refusal with its reason and the error message', async () => {
    for (const [key, body, code, path] of [
      [KEYS.refuse, chat('gpt-model', { max_tokens: 100_000 }), 'insufficient_quota', '/v1/chat/completions'],
      [
        KEYS.poor,
        message('claude-model', { tools: [{ name: 'a', input_schema: { type: 'object' } }], max_tokens: 4_000 }),
        'credit_balance_exhausted',
        '/v1/messages',
      ],
      [KEYS.disabled, chat(), 'invalid_api_key', '/v1/chat/completions'],
      [KEYS.expired, chat(), 'invalid_api_key', '/v1/chat/completions'],
      [KEYS.orphan, chat(), 'invalid_api_key', '/v1/chat/completions'],
      [KEYS.narrow, chat('nope'), 'model_not_found', '/v1/chat/completions'],
      [KEYS.main, chat('gpt-model', { messages: 3 }), 'invalid_request', '/v1/chat/completions'],
      [KEYS.main, '{', 'invalid_json', '/v1/chat/completions'],
    ] as const) {
      const answer = await post(stack, path, body, bearer(key));
      assert.ok(answer.status >= 400, `${code}: ${answer.status}`);
      const entry = await entryOf(answer.headers.get('x-request-id'));
      assert.equal(entry.errorCode, code, answer.text);
      assert.equal(entry.refused, true);
      assert.equal(entry.httpStatus, answer.status);
      assert.equal(entry.message, answer.json().error.message);
      assert.match(entry.account, /^team\//);
    }
    const counts = batches.flatMap(({ refusals }) => refusals);
    assert.equal(
      counts.reduce((sum, { calls }) => sum + calls, 0),
      8,
    );
    assert.ok(!JSON.stringify(batches).includes('sk-test'));
  });

  it('lists no call without a valid key, and no message of a provider', async () => {
    const before = batches.length;
    await post(stack, '/v1/chat/completions', chat(), bearer('sk-unknown-00000000000000000000000000000000'));
    await get(stack, '/v1/models', bearer(KEYS.disabled));
    stack.openai.script(openaiError(400, 'your prompt "hello" is bad'));
    const answer = await post(stack, '/v1/chat/completions', chat());
    const entry = await entryOf(answer.headers.get('x-request-id'));
    assert.equal(entry.refused, false); // it was admitted, so the ledger has a record of it
    assert.equal(entry.errorCode, 'upstream_refused');
    assert.equal(entry.message, undefined);
    assert.equal(batches.slice(before).flatMap(({ entries }) => entries).length, 1);
  });

  it('lists the attempts of a call that was served', async () => {
    stack.openai.script(openaiChat());
    const answer = await post(stack, '/v1/chat/completions', chat());
    const entry = await entryOf(answer.headers.get('x-request-id'));
    assert.deepEqual(
      entry.attempts.map(({ outcome }) => outcome),
      ['ok'],
    );
    assert.ok((entry.firstByteMs ?? -1) >= 0);
  });

  it('counts the calls in flight of each channel', async () => {
    const { reply, gate } = gated(openaiChat());
    stack.openai.script(reply);
    const running = post(stack, '/v1/chat/completions', chat());
    await gate.reached;
    const busy = await eventually('a call in flight is told of', () => told.find(({ inFlight }) => inFlight === 1));
    gate.open();
    await running;
    assert.match(busy.channel, /^[\w-]+\/[\w-]+$/);
    await eventually('it has ended', () => told.at(-1)?.inFlight === 0);
  });

  it('fails no call when its store is unavailable, and closes with the gateway', async () => {
    broken = true;
    for (let at = 0; at < 5; at++) {
      stack.openai.script(openaiChat());
      assert.equal((await post(stack, '/v1/chat/completions', chat())).status, 200);
    }
    await eventually('the failure is logged', () =>
      stack.gateway.logs.find((line) => line.includes('cannot store recent and refused calls for the console')),
    );
    broken = false;
    await stack.gateway.dataplane.drain();
    assert.equal(closed, true);
  });
});
