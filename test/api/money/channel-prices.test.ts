/** Prices of channels: the hold uses the most expensive one, and the bill the one that served. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { gated, openaiChat, openaiError } from '../../support/provider-answers.ts';
import { KEYS } from '../../support/manifests.ts';
import { chat, get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
let stack: TestStack;

beforeAll(async () => {
  const model = (name: string): string => `{name: ${name}, contextTokens: 100000, maxOutputTokens: 4000}`;
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({
      'channels.yaml': `${HEAD}ModelRoute
metadata: {name: channels}
spec:
  models: [${model('gpt-both')}, ${model('gpt-dear')}]
  channels:
  - {name: cheap, protocol: OpenAI, baseUrl: "${openaiUrl}"}
  - {name: dear, protocol: OpenAI, baseUrl: "${anthropicUrl}", priority: 1}
---
${HEAD}PriceCatalog
metadata: {name: channels}
spec:
  models:
  - name: gpt-both
    vendor: V
    quotaType: Token
    usdPerMillion: {input: "1", output: "2"}
    channels: [{channel: channels/dear, usdPerMillion: {input: "10", output: "20"}}]
  - {name: gpt-dear, vendor: V, quotaType: Token, usdPerMillion: {input: "10", output: "20"}}
`,
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const PATH = '/v1/chat/completions';
const USAGE = { usage: { prompt_tokens: 10, completion_tokens: 100 } };
const ask = (model: string, key: keyof typeof KEYS = 'main', limit = 100): Promise<Answer> =>
  post(stack, PATH, chat(model, { max_tokens: limit }), { authorization: `Bearer ${KEYS[key]}` });

async function heldFor(model: string): Promise<bigint> {
  const { reply, gate } = gated(openaiChat(USAGE));
  stack.openai.script(reply);
  const call = ask(model);
  await Promise.race([gate.reached, call]);
  const { held } = await spending(stack);
  gate.open();
  assert.equal((await call).status, 200);
  return held;
}

describe('a call that a cheap or an expensive channel can serve', () => {
  it('has a hold for the expensive one, and is billed at the price of the channel that served it', async () => {
    assert.equal(await heldFor('gpt-both'), await heldFor('gpt-dear'));
    stack.openai.script(openaiChat(USAGE));
    const cheap = await ask('gpt-both');
    assert.equal(cheap.headers.get('x-modelgateway-cost-usd'), '0.00021'); // 10 at $1 and 100 at $2 per million
    stack.openai.script(openaiError(500, 'down'));
    stack.anthropic.script(openaiChat(USAGE));
    const dear = await ask('gpt-both');
    assert.equal(dear.headers.get('x-modelgateway-cost-usd'), '0.0021');
    const usage = await get(stack, `/v1/usage/${dear.headers.get('x-request-id')}`);
    const { channel, lines } = usage.json();
    assert.equal(channel, 'channels/dear');
    assert.deepEqual(
      lines.map((line: { rate_usd: string }) => line.rate_usd),
      ['10', '20'],
    );
  });

  it('has one hold, whichever channel serves it', async () => {
    const { ledger } = stack.gateway;
    const admit = ledger.admit.bind(ledger);
    let holds = 0;
    ledger.admit = (request) => {
      holds++;
      return admit(request);
    };
    try {
      stack.openai.script(openaiError(500, 'down'));
      stack.anthropic.script(openaiChat(USAGE));
      assert.equal((await ask('gpt-both')).status, 200);
      assert.equal(holds, 1);
    } finally {
      ledger.admit = admit;
    }
  });

  it('is served by the cheap channel if the quota is too small for the other, and not retried there', async () => {
    stack.openai.script(openaiChat(USAGE)); // 1000 tokens are $0.002 or $0.02; the quota is $0.01
    assert.equal((await ask('gpt-both', 'refuse', 1000)).status, 200);
    stack.openai.script(openaiError(500, 'down'));
    const failed = await ask('gpt-both', 'refuse', 1000);
    assert.equal(failed.status, 502, failed.text);
    assert.equal(stack.anthropic.requests.length, 0);
    assert.equal((await spending(stack, 'refuse')).spent, 210_000n);
  });

  it('never spends more than its quota, whatever fails, however many run at once', async () => {
    const CALLS = 24;
    const full = { usage: { prompt_tokens: 10, completion_tokens: 400 } };
    for (let index = 0; index < CALLS; index++)
      stack.openai.script(index % 3 === 0 ? openaiChat(full) : openaiError(503, 'overloaded'));
    for (let index = 0; index < CALLS; index++) stack.anthropic.script(openaiChat(full));
    const answers = await Promise.all(Array.from({ length: CALLS }, () => ask('gpt-both', 'small', 400)));
    assert.ok(answers.some(({ status }) => status === 200));
    const { spent, held } = await spending(stack, 'small');
    assert.ok(spent <= 10_000_000n, `spent ${spent}`);
    assert.equal(held, 0n);
    const records = await Promise.all(
      answers.map(({ headers }) => stack.gateway.ledger.readUsage('team/small', headers.get('x-request-id') ?? '')),
    );
    const billed = records.reduce((sum, record) => sum + (record?.costNanoUsd ?? 0n), 0n);
    assert.equal(billed, spent);
    assert.ok(records.every((record) => (record?.unbilledNanoUsd ?? 0n) === 0n));
    assert.ok(records.some((record) => record?.channel === 'channels/dear' && record.costNanoUsd > 0n));
  });
});
