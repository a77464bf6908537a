/** A provider that echoes the gateway's credential: a tenant sees it in no message, event, comment or header. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { insertAt, json, openaiChat, openaiError, openaiStream, sse } from '../../support/provider-answers.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { chat, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

/** The form of Azure's keys, which nothing but the value itself tells from other texts. */
const SECRET = '0123456789abcdef0123456789abcdef';
const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'echo.yaml': `apiVersion: v1
kind: Secret
metadata: {name: echo}
stringData: {apiKey: ${SECRET}}
---
${HEAD}ModelRoute
metadata: {name: echo}
spec:
  models: [{name: echo-model, contextTokens: 100000, maxOutputTokens: 100}]
  channels: [{name: a, protocol: OpenAI, baseUrl: ${openaiUrl}/v1, auth: {type: ApiKey, secretRef: {name: echo, key: apiKey}}}]
---
${HEAD}PriceCatalog
metadata: {name: echo}
spec: {models: [{name: echo-model, vendor: V, quotaType: Token, modelRatio: "1"}]}
`,
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const ECHOES: Readonly<Record<string, Reply>> = {
  ...Object.fromEntries(
    [400, 401, 403, 404, 409, 422, 429, 500].map((status) => [
      `an error ${status}`,
      openaiError(status, `Invalid key: ${SECRET}`),
    ]),
  ),
  headers: {
    ...openaiChat(),
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${SECRET}`,
      'x-api-key': SECRET,
      'x-debug': `key ${SECRET}`,
    },
  },
  'the text of a completion': openaiChat({ content: `my key is ${SECRET}` }),
  'a comment of a stream': insertAt(openaiStream(), 1, `: ${SECRET}\n\n`),
  'a comment in two pieces': insertAt(openaiStream(), 1, `: ${SECRET.slice(0, 9)}`, `${SECRET.slice(9)}\n\n`),
  "a stream's error": insertAt(openaiStream(), 1, sse({ data: { error: { message: `Invalid key: ${SECRET}` } } })),
  'a body that is not JSON': { status: 400, steps: [`<html>${SECRET}</html>`] },
  Base64: json({ error: { message: Buffer.from(SECRET).toString('base64') } }, { status: 400 }),
};

describe("a provider's credential", () => {
  for (const [name, reply] of Object.entries(ECHOES))
    it(`does not reach a tenant in ${name}`, async () => {
      const stream = JSON.stringify(reply.steps).includes('chunk');
      for (const [path, body] of [
        ['/v1/chat/completions', chat('echo-model', { stream })],
        ['/v1/messages', message('echo-model', { stream })],
      ] as const) {
        stack.openai.script(reply);
        const answer = await post(stack, path, body);
        const { headers } = await stack.openai.request(0);
        assert.equal(headers['authorization'], `Bearer ${SECRET}`);
        const seen = `${JSON.stringify([...answer.headers])}${answer.text}`;
        assert.ok(!seen.includes(SECRET), seen);
        assert.ok(!seen.includes(Buffer.from(SECRET).toString('base64').slice(0, 40)), seen);
        assert.deepEqual([answer.headers.get('authorization'), answer.headers.get('x-api-key')], [null, null]);
      }
    });
});
