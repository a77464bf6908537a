/** The mock provider itself: what it records, and that gates, cuts and stalls do what they say. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { CUT, RESET, STALL, gate, refusingUrl, startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import {
  anthropicMessage, anthropicStream, breakAt, gated, insertAt, openaiChat, openaiStream,
} from '../../support/provider-answers.ts';

let provider: MockProvider;
beforeAll(async () => { provider = await startMockProvider(); });
afterAll(() => provider.stop());
beforeEach(() => provider.clear());

function post(body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(`${provider.url}/v1/x?y=1`, {
    method: 'POST', body: JSON.stringify(body), headers: { 'X-Test': 'one' }, ...(signal ? { signal } : {}),
  });
}

function dataLines(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
}

describe('mock provider', () => {
  it('records requests and plays the replies in order, the last one again and again', async () => {
    provider.script(openaiChat({ content: 'one' }), anthropicMessage({ content: ['two', ' words'] }));
    assert.match(await (await post({ model: 'm' })).text(), /"message":\{"role":"assistant","content":"one"/);
    for (const _ of [1, 2]) {
      assert.match(await (await post({})).text(), /"text":"two words".*"output_tokens":2/);
    }
    assert.equal(provider.requests.length, 3);
    const [request] = provider.requests;
    assert.equal(request?.path, '/v1/x?y=1');
    assert.equal(request?.headers['x-test'], 'one');
    assert.deepEqual(request?.json(), { model: 'm' });
    assert.deepEqual(request?.produced.tokens, 1);
  });

  it('sends the usage chunk as stream_options ask, and counts what it produced', async () => {
    provider.script(openaiStream(['a', 'b', 'c']));
    const without = dataLines(await (await post({ stream: true })).text());
    const withUsage = dataLines(await (await post({ stream: true, stream_options: { include_usage: true } })).text());
    assert.equal(without.length, 6);
    assert.equal(withUsage.length, 7);
    assert.equal(without.at(-1), '[DONE]');
    assert.match(withUsage.at(-2) ??
      '', /"choices":\[\],"usage":\{"total_tokens":13,"prompt_tokens":10,"completion_tokens":3\}/);
    assert.deepEqual(provider.requests.map((each) => each.produced.tokens), [3, 3]);
  });

  it('waits at a gate before the head and within the body', async () => {
    const head = gated(anthropicStream(['a', 'b']));
    const middle = gate();
    provider.script(insertAt(head.reply, 3, middle));
    let answered = false;
    const pending = post({}).then((response) => { answered = true; return response; });
    await head.gate.reached;
    assert.equal(answered, false);
    assert.equal(provider.inFlight, 1);
    head.gate.open();
    const response = await pending;
    await middle.reached;
    assert.equal((await provider.request(0)).produced.tokens, 1);
    middle.open();
    const text = await response.text();
    assert.equal((await provider.request(0)).produced.tokens, 2);
    assert.match(text, /message_stop/);
    assert.equal(provider.mostInFlight, 1);
  });

  it('cuts and resets within the body', async () => {
    for (const end of [CUT, RESET]) {
      provider.script(breakAt(openaiStream(['a', 'b', 'c']), 2, end));
      const response = await post({});
      assert.equal(response.status, 200);
      await assert.rejects(response.text(), TypeError);
    }
    for (const request of provider.requests) {
      await request.over;
      assert.deepEqual(request.produced, { ...request.produced, tokens: 1, complete: false });
      assert.equal(request.clientGone, false);
    }
  });

  it('stalls until the client gives up, and notices that', async () => {
    provider.script(breakAt(openaiStream(['a', 'b']), 2, STALL));
    const control = new AbortController();
    const response = await post({}, control.signal);
    const reader = response.body?.getReader();
    await reader?.read();
    control.abort();
    const request = await provider.request(0);
    await request.over;
    assert.equal(request.clientGone, true);
  });

  it('decides by the request', async () => {
    provider.script((request) =>
      ({ status: request.json()['status'] === 1 ? 418 : 200, headers: { 'retry-after': '7' }, steps: [] }));
    const response = await post({ status: 1 });
    assert.equal(response.status, 418);
    assert.equal(response.headers.get('retry-after'), '7');
    assert.equal((await post({})).status, 200);
  });

  it('knows a port where nothing listens', async () => {
    await assert.rejects(fetch(await refusingUrl()), TypeError);
  });
});
