/** A provider account that refuses the gateway's credential: other channels serve, and it is tried last until then. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { openaiChat, openaiError, openaiStream } from '../../support/provider-answers.ts';
import { chat, message, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';
import { eventually } from '../../support/api/process.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
/** Longer than the time between two probes. */
const LATER_MS = 31_000;
let aheadMs = 0;
let stack: TestStack;
let main: MockProvider;
let spare: MockProvider;

function manifest(credential: string): string {
  const route = (name: string, more = ''): string => `${HEAD}ModelRoute
metadata: {name: ${name}}
spec:
  models: [{name: ${name}-model, contextTokens: 100000, maxOutputTokens: 1000}]
  channels:
  - {name: main, protocol: OpenAI, baseUrl: ${main.url}/v1, auth: {type: ApiKey, secretRef: {name: account, key: apiKey}}}
  - {name: spare, protocol: OpenAI, baseUrl: ${spare.url}/v1, priority: 1}
${more}---
`;
  return `${route('two')}${route('strict', '  retry: {retryOn: [Unavailable, RateLimited]}\n')}${HEAD}PriceCatalog
metadata: {name: two}
spec:
  models:
  - {name: two-model, vendor: V, quotaType: Token, modelRatio: "1"}
  - {name: strict-model, vendor: V, quotaType: Token, modelRatio: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: account}
stringData: {apiKey: ${credential}}
`;
}

beforeAll(async () => {
  [main, spare] = await Promise.all([startMockProvider(), startMockProvider()]);
  stack = await startTestStack({
    monotonicMs: () => performance.now() + aheadMs,
    files: () => ({ 'two.yaml': manifest('first-credential') }),
  });
});
afterAll(async () => {
  await stack.stop();
  await Promise.all([main.stop(), spare.stop()]);
});
afterEach(async () => {
  aheadMs += LATER_MS;
  main.script(openaiChat());
  await post(stack, '/v1/chat/completions', chat('two-model'));
  for (const provider of [main, spare]) provider.clear();
  assert.ok(nothingLeaks(stack));
});

const call = (model = 'two-model', more = {}): Promise<Answer> =>
  post(stack, '/v1/chat/completions', chat(model, more));
const asked = (): number[] => [main, spare].map(({ requests }) => requests.length);
async function ready(name = 'two'): Promise<string> {
  const statuses = await stack.gateway.operator.statuses();
  const route = statuses.find((status) => status.kind === 'ModelRoute' && status.name === name);
  const condition = route?.status.conditions.find(({ type }) => type === 'Ready');
  return `${condition?.status} ${condition?.reason}`;
}

describe('a channel that refuses the credential', () => {
  for (const status of [401, 402, 403])
    it(`with ${status} is passed over, and tried last until it is in order again`, async () => {
      main.script(openaiError(status));
      spare.script(openaiChat(), openaiStream(), openaiChat());
      assert.equal((await call()).status, 200);
      assert.equal(await ready(), 'False CredentialRefused');
      assert.match((await call('two-model', { stream: true })).text, /\[DONE\]/);
      assert.equal((await post(stack, '/v1/messages', message('two-model'))).status, 200, 'converted');
      assert.deepEqual(asked(), [1, 3], 'the channel was tried first again');

      aheadMs += LATER_MS;
      main.script(openaiError(status));
      spare.script(openaiChat(), openaiChat());
      assert.equal((await call()).status, 200);
      assert.equal((await call()).status, 200);
      assert.deepEqual(asked(), [2, 5], 'one call tries it again');

      aheadMs += LATER_MS;
      main.script(openaiChat(), openaiChat());
      assert.equal((await call()).status, 200);
      assert.equal(await ready(), 'True Ready');
      assert.equal((await call()).status, 200);
      assert.deepEqual(asked(), [4, 5]);
    });

  it('is tried last, and not left out, if the others fail', async () => {
    main.script(openaiError(401));
    spare.script(openaiChat(), openaiError(503));
    assert.equal((await call()).status, 200);
    main.script(openaiChat());
    assert.equal((await call()).status, 200);
    assert.deepEqual(asked(), [2, 2]);
  });

  it('is tried first at once with a new credential', async () => {
    main.script(openaiError(401));
    spare.script(openaiChat());
    assert.equal((await call()).status, 200);
    await stack.gateway.write('two.yaml', manifest('second-credential'));
    main.script(openaiChat());
    assert.equal((await call()).status, 200);
    assert.deepEqual(asked(), [2, 1]);
    await eventually('the route is Ready', async () => (await ready()) === 'True Ready');
  });

  it('ends the call if the route does not want another channel then', async () => {
    main.script(openaiError(403), openaiError(403));
    assert.equal((await call('strict-model')).status, 502);
    assert.equal((await call('strict-model')).status, 502);
    assert.deepEqual(asked(), [2, 0]);
    assert.equal(await ready('strict'), 'False CredentialRefused');
  });

  it('makes the call fail with 502 if every channel refuses it', async () => {
    main.script(openaiError(401));
    spare.script(openaiError(402));
    const answer = await call();
    assert.equal(answer.status, 502);
    assert.match(answer.json().error.message, /refuses the gateway's credential/);
  });
});
