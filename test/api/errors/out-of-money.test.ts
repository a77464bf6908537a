/**
 * Errors for lack of money: used up, held by running calls, or too little for this call, with amounts, what would fit
 * and where to get more.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { anthropicMessage, gated, openaiChat } from '../../support/provider-answers.ts';
import { pattern } from '../../support/pattern.ts';
import { chat, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const NOW_MS = Date.UTC(2026, 10, 23, 12);
const KEY = (name: string): string => `sk-test-${name}-`.padEnd(43, '0');
/** Each call costs $0.04 on image-model; chats of gpt-model cost at most $10 a million output tokens. */
const SPECS: Readonly<Record<string, string>> = {
  monthly: 'quota: {limitUsd: "0.04", period: Monthly}',
  daily: 'quota: {limitUsd: "0.04", period: Daily}',
  forever: 'quota: {limitUsd: "0.04"}',
  busy: 'quota: {limitUsd: "0.0425", period: Monthly, whenShort: Refuse}',
  little: 'quota: {limitUsd: "0.01", period: Monthly, whenShort: Refuse}',
  thinker: 'quota: {limitUsd: "0.01", whenShort: Refuse}',
  tiny: 'quota: {limitUsd: "0.000000002"}',
  broke: 'accountRef: {name: broke}',
  brokebusy: 'accountRef: {name: broke-busy}',
  without: 'accountRef: {name: without}',
};
const ACCOUNTS = { broke: '0.04', 'broke-busy': '0.05', without: '0' };
const RAISE = 'The owner of the key can raise it or set it to Unlimited: ';
const GRANT = 'Whoever manages the account can grant more: ';

function keyRemedy(name: string): string {
  return `${RAISE}https://console.example/keys/team/${name} or spec.quota of ApiKey team/${name}.`;
}

function accountRemedy(name: string): string {
  return `${GRANT}https://console.example/wallet/team/${name} or spec.grants of Account team/${name}.`;
}

let stack: TestStack;
beforeAll(async () => {
  const keys = Object.entries(SPECS)
    .map(([name, spec]) => keyManifest(name, KEY(name), spec))
    .join('');
  const accounts = Object.entries(ACCOUNTS)
    .map(
      ([name, usd]) => `
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: ${name}, namespace: team}
spec: {grants: [{name: start, usd: "${usd}"}]}
---`,
    )
    .join('');
  stack = await startTestStack({
    nowMs: () => NOW_MS,
    consoleUrl: () => 'https://console.example',
    files: () => ({ 'short.yaml': keys + accounts }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const ask = (key: string, body: Record<string, unknown> = chat()): Promise<Answer> =>
  post(stack, '/v1/chat/completions', body, { 'x-api-key': KEY(key) });
const draw = async (key: string): Promise<Answer> => {
  stack.openai.script({ steps: ['{"created":1,"data":[{"url":"x"}]}'] });
  return post(stack, '/v1/images/generations', { model: 'image-model', prompt: 'x' }, { 'x-api-key': KEY(key) });
};

/** Status and code of a refusal, and its message. */
function refusal(answer: Answer): readonly [number, string, string] {
  const { code, message: text } = answer.json().error;
  return [answer.status, code, text];
}

describe('a quota that is used up', () => {
  for (const [name, text] of [
    ['monthly', 'This key has used up its quota of $0.04 for November; it starts anew on 1 December (UTC). '],
    ['daily', 'This key has used up its quota of $0.04 for 23 November; it starts anew on 24 November (UTC). '],
    ['forever', 'This key has used up its quota of $0.04. '],
  ] as const) {
    it(`is reported with its period: ${name}`, async () => {
      assert.equal((await draw(name)).status, 200);
      const answer = await ask(name);
      assert.deepEqual(refusal(answer), [429, 'insufficient_quota', text + keyRemedy(name)]);
      assert.equal(answer.headers.get('x-should-retry'), 'false');
    });
  }
  it('is reported before a large body is read', async () => {
    const answer = await ask('monthly', chat('gpt-model', { user: 'x'.repeat(2_000_000) }));
    assert.match(refusal(answer)[2], /has used up its quota of \$0\.04 for November/);
  });
});

describe('a quota that is too small for the call', () => {
  it('is reported with the worst case, the remaining money and the output limit that would fit', async () => {
    const [status, code, text] = refusal(await ask('little', chat('gpt-model', { max_tokens: 4000 })));
    assert.deepEqual([status, code], [429, 'insufficient_quota']);
    const [, cost = '', limit] =
      pattern(
        /^This call may cost up to \$([\d.]+), and \$0\.01 is left of this key's quota of \$0\.01 for November, /,
        /which starts anew on 1 December \(UTC\)\. An output limit \(max_tokens\) of (\d+) would fit\. /,
      ).exec(text) ?? assert.fail(text);
    assert.ok(Number(cost) > 0.04 && Number(cost) < 0.05, cost);
    assert.ok(text.endsWith(keyRemedy('little')), text);
    stack.openai.script(openaiChat());
    assert.equal((await ask('little', chat('gpt-model', { max_tokens: Number(limit) }))).status, 200, 'it does fit');
  });
  it('is reported with what the call as sent may cost, where its output limit could be lowered', async () => {
    const [, , text] = refusal(await ask('tiny', chat('gpt-model', { max_tokens: 4000 })));
    const [, cost = ''] = /^This call may cost up to \$([\d.]+), and /.exec(text) ?? assert.fail(text);
    assert.ok(Number(cost) > 0.04 && Number(cost) < 0.05, cost);
  });
  it('is reported as too small even for the input', async () => {
    const [, , text] = refusal(await ask('tiny'));
    assert.match(text, /\$0\.000000002 is left of this key's quota of \$0\.000000002\. Not even its input would fit: /);
  });
  it('is reported with the thinking budget that would fit', async () => {
    const body = message('claude-model', { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 3000 } });
    const answer = await post(stack, '/v1/messages', body, { 'x-api-key': KEY('thinker') });
    assert.deepEqual([answer.status, answer.json().error.type], [429, 'rate_limit_error']);
    assert.match(answer.json().error.message, / of \d+ would fit, with a thinking budget below that\. /);
  });
  it('is reported without advice on output for images', async () => {
    assert.match(
      refusal(await draw('little'))[2],
      /^This call may cost up to \$0\.04, and \$0\.00\d+ is left of [^.]*\$0\.01 for November[^.]*\(UTC\)\. The owner/,
    );
    stack.openai.clear();
  });
});

describe('a quota that running calls hold', () => {
  it('is reported with the held and the free amount', async () => {
    const { reply, gate } = gated(openaiChat());
    stack.openai.script(reply);
    const running = ask('busy', chat('gpt-model', { max_tokens: 3900 }));
    await gate.reached;
    const [status, code, text] = refusal(await ask('busy', chat('gpt-model', { max_tokens: 3000 })));
    gate.open();
    assert.deepEqual([status, code, (await running).status], [429, 'insufficient_quota', 200]);
    assert.match(
      text,
      pattern(
        pattern(
          /^Running calls hold \$0\.039\d* of this key's quota of \$0\.0425 /,
          /for November until they end: \$0\.0425 is left, /,
        ),
        /\$0\.00\d+ of it is free, and this call may cost up to \$0\.03\d+\. Try again when they have ended\. /,
        /An output limit \(max_tokens\) of \d+ would fit\. /,
      ),
    );
    assert.ok(text.endsWith(keyRemedy('busy')), text);
  });
});

describe('an account', () => {
  it('that is used up is reported with a link to its Wallet', async () => {
    assert.equal((await draw('broke')).status, 200);
    assert.deepEqual(refusal(await ask('broke')), [
      402,
      'credit_balance_exhausted',
      `The account team/broke of this key has used up its credit of $0.04. ${accountRemedy('broke')}`,
    ]);
    const answer = await post(stack, '/v1/messages', message(), { 'x-api-key': KEY('broke') });
    assert.deepEqual([answer.status, answer.json().error.type], [402, 'billing_error']);
    assert.match(
      answer.json().error.message,
      /The account team\/broke of this key has used up its credit of \$0\.04\./,
    );
  });
  it('without credit is reported as such', async () => {
    assert.deepEqual(refusal(await ask('without')), [
      402,
      'credit_balance_exhausted',
      `The account team/without of this key has no credit. ${accountRemedy('without')}`,
    ]);
  });
  it('that is too small for a call, or held by other calls, is reported as such', async () => {
    const { reply, gate } = gated(anthropicMessage());
    stack.anthropic.script(reply);
    const running = post(stack, '/v1/messages', message('claude-model', { max_tokens: 2000 }), {
      'x-api-key': KEY('brokebusy'),
    });
    await gate.reached;
    const held = refusal(await draw('brokebusy'));
    stack.openai.clear();
    const small = refusal(
      await post(
        stack,
        '/v1/images/generations',
        { model: 'image-model', prompt: 'x', n: 2 },
        {
          'x-api-key': KEY('brokebusy'),
        },
      ),
    );
    gate.open();
    assert.equal((await running).status, 200);
    assert.match(
      held[2],
      pattern(
        pattern(
          /^Running calls hold \$0\.03\d* of the balance of this key's account team\/broke-busy until they end: /,
          /\$0\.05 is left, /,
        ),
        /\$0\.01\d+ of it is free, and this call may cost up to \$0\.04\. /,
      ),
    );
    assert.match(
      small[2],
      pattern(
        /^This call may cost up to \$0\.08, and \$0\.05 is left of the balance of this key's /,
        /account team\/broke-busy\. /,
      ),
    );
    assert.ok(small[2].endsWith(accountRemedy('broke-busy')), small[2]);
  });
});
