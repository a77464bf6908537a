/** Calls that time out at their provider, which may charge for them although there is no response. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { STALL } from '../../support/mock-provider.ts';
import { openaiStream } from '../../support/provider-answers.ts';
import { chat, get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { metric, routeManifest } from './route-world.ts';

const TIMEOUTS = 'timeouts: {firstByteSeconds: 1, wholeSeconds: 1, idleSeconds: 1}';
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'timeouts.yaml':
        routeManifest('free', openaiUrl, { channel: TIMEOUTS }) +
        routeManifest('billed', openaiUrl, { channel: TIMEOUTS, spec: '  onTimeout: BillHold' }) +
        routeManifest('films', openaiUrl, {
          channel: TIMEOUTS,
          spec: '  onTimeout: BillHold',
          model: 'endpoints: [Images]',
          quota: 'quotaType: Request, requestUsd: "0.04"',
        }),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

describe('a provider that times out before any output', () => {
  it('costs nothing by default', async () => {
    stack.openai.script({ beforeHead: [STALL], steps: [] });
    const { spent } = await spending(stack);
    const answer = await post(stack, '/v1/chat/completions', chat('free-model'));
    assert.equal(answer.status, 502);
    assert.equal((await spending(stack)).spent, spent);
    const usage = (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
    assert.deepEqual([usage.status, usage.cost_usd], ['Failed', '0.00']);
  });
  it('costs the hold under BillHold, streaming or not, with SSE comments or without', async () => {
    for (const stream of [true, false]) {
      const comments = { ...openaiStream([]), steps: [': thinking\n\n', STALL] };
      stack.openai.script({ beforeHead: [STALL], steps: [] }, stream ? comments : { beforeHead: [STALL], steps: [] });
      for (const _each of [1, 2]) {
        const body = chat('billed-model', { stream, max_tokens: 500 });
        const answer = await post(stack, '/v1/chat/completions', body);
        const usage = (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
        assert.deepEqual([usage.status, usage.usage_source, usage.output_tokens], ['ProviderCut', 'Partial', 500]);
        const input = Buffer.byteLength(JSON.stringify(body)) + 128 + 16;
        assert.equal(usage.input_tokens, input);
        assert.equal(Number(usage.cost_usd), (input * 3_125 + 500 * 10_000) / 1e9);
      }
    }
  });
  it('costs the price per request', async () => {
    stack.openai.script({ beforeHead: [STALL], steps: [] });
    const { spent } = await spending(stack);
    await post(stack, '/v1/images/generations', { model: 'films-model', prompt: 'a cat', n: 2 });
    assert.equal((await spending(stack)).spent - spent, 80_000_000n);
  });
});

it('has the key that provokes timeouts counted in the metrics', async () => {
  const series = 'modelgateway_key_timeouts_total{key="team/main"}';
  const before = await metric(stack, series);
  stack.openai.script({ beforeHead: [STALL], steps: [] });
  await post(stack, '/v1/chat/completions', chat('free-model'));
  stack.openai.script({ ...openaiStream(['a']), steps: [...openaiStream(['a']).steps.slice(0, 2), STALL] });
  await post(stack, '/v1/chat/completions', chat('free-model', { stream: true }));
  assert.equal((await metric(stack, series)) - before, 2);
});
