/**
 * Agents with three accounts of one model: an account can read only the reasoning that it encrypted, and refuses a
 * request with any other. Conversations stay on their account, move while it fails, and return.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider, RecordedRequest, Reply } from '../../support/mock-provider.ts';
import { json, openaiChat, openaiError } from '../../support/provider-answers.ts';
import { chat, message, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

const ACCOUNTS = ['one', 'two', 'three'] as const;
type Account = (typeof ACCOUNTS)[number];

let stack: TestStack;
const providers: Record<Account, MockProvider> = {} as never;

beforeAll(async () => {
  for (const account of ACCOUNTS) providers[account] = await startMockProvider();
  const channels = ACCOUNTS.map(
    (account) =>
      `{name: ${account}, protocol: OpenAI, baseUrl: ${providers[account].url}/v1, endpoints: [Chat, Responses]}`,
  );
  stack = await startTestStack({
    files: () => ({
      'agents.yaml': `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: agents}
spec:
  models: [{name: agent-model, contextTokens: 100000, maxOutputTokens: 1000}]
  channels: [${channels.join(', ')}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: agents}
spec: {models: [{name: agent-model, vendor: V, quotaType: Token, modelRatio: "0.001"}]}
`,
    }),
  });
});
afterAll(async () => {
  await stack.stop();
  for (const provider of Object.values(providers)) await provider.stop();
});
afterEach(() => {
  for (const provider of Object.values(providers)) provider.clear();
  assert.ok(nothingLeaks(stack));
});

/** Responds with reasoning that only this account can read; with OpenAI's 400 for that of another. */
function answerOf(account: Account): (request: RecordedRequest) => Reply {
  return (request) => {
    const { input } = request.json() as { input: readonly Json[] };
    const foreign = input.some(
      ({ type, encrypted_content: content }) => type === 'reasoning' && !content.startsWith(`${account}:`),
    );
    if (foreign) return openaiError(400, 'foreign', { code: 'invalid_encrypted_content' });
    return json({
      id: `resp_${account}`,
      object: 'response',
      status: 'completed',
      model: 'm',
      error: null,
      output: [
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: `${account}:${request.index}` },
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: account }] },
      ],
      usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
    });
  };
}

interface Conversation {
  readonly cacheKey: string | undefined;
  readonly input: Json[];
  /** The account of each turn. */
  readonly served: Account[];
}

async function takeTurn({ cacheKey, input, served }: Conversation, turn: number): Promise<Answer> {
  input.push({ role: 'user', content: `turn ${turn} of ${cacheKey ?? 'a conversation without a name'}` });
  const answer = await post(stack, '/v1/responses', {
    model: 'agent-model',
    input,
    store: false,
    include: ['reasoning.encrypted_content'],
    ...(cacheKey !== undefined && { prompt_cache_key: cacheKey }),
  });
  if (answer.status !== 200) return answer;
  const { output } = answer.json();
  input.push(...output);
  served.push(output[1].content[0].text);
  return answer;
}

describe('agents', () => {
  it('keep 97 % of 1,000 turns on their account while an account fails and recovers', async () => {
    for (const account of ACCOUNTS) providers[account].script(answerOf(account));
    const conversations = Array.from({ length: 50 }, (_, n): Conversation => ({
      cacheKey: n % 5 === 0 ? undefined : `thread-${n}`,
      input: [{ role: 'developer', content: `${n}` }],
      served: [],
    }));
    const refusals: string[] = [];
    let [eligible, kept, moved] = [0, 0, 0];
    for (let turn = 0; turn < 20; turn++) {
      if (turn === 8) providers.two.script(openaiError(503));
      if (turn === 12) providers.two.script(answerOf('two'));
      const cut = turn >= 8 && turn < 12;
      for (const conversation of conversations) {
        const before = conversation.served.at(-1);
        const answer = await takeTurn(conversation, turn);
        if (answer.status !== 200) refusals.push(answer.text);
        const after = conversation.served.at(-1);
        if (before === undefined || (cut && before === 'two')) continue;
        eligible++;
        if (before === after) kept++;
        else moved++;
      }
    }
    assert.deepEqual(refusals, []);
    assert.ok(kept / eligible >= 0.97, `${kept} of ${eligible} stayed, ${moved} moved`);
    for (const { served } of conversations) {
      const home = served[0]!;
      const away = new Set(served.slice(8, 12));
      assert.equal(away.size, 1, 'all of its calls overflow to the same account');
      assert.equal(away.has('two'), false);
      assert.deepEqual(new Set([...served.slice(0, 8), ...served.slice(12)]), new Set([home]), 'and it returns');
    }
    assert.equal(new Set(conversations.map(({ served }) => served[0])).size, 3, 'each account has some');
  }, 600_000);

  it("get sealed values without a channel's name, and a header if reasoning was left out", async () => {
    for (const account of ACCOUNTS) providers[account].script(answerOf(account));
    const conversation: Conversation = { cacheKey: 'sealed', input: [], served: [] };
    const { text } = await takeTurn(conversation, 0);
    assert.doesNotMatch(text, /resp_|"(?:one|two|three):|agents\//);
    const {
      id,
      output: [{ encrypted_content: sealed }],
    } = JSON.parse(text);
    assert.match(id, /^mgw1_response_/);
    assert.match(sealed, /^mgw1_encrypted_/);
    const dump = await (await fetch(`${stack.gateway.adminUrl}/config_dump`)).text();
    const [route] = JSON.parse(dump).snapshot.routes;
    assert.equal(route.sealing, '[redacted]', 'and the key is shown nowhere');
    const [home] = conversation.served;
    assert.ok(home);
    providers[home].script(openaiError(503));
    const answer = await takeTurn(conversation, 1);
    assert.equal(answer.headers.get('x-modelgateway-dropped'), 'input[].encrypted_content');
    const provider = providers[conversation.served[1]!];
    const { input } = (await provider.request(0)).json() as { input: readonly Json[] };
    assert.deepEqual(
      input.map(({ type, role }) => type ?? role),
      ['user', 'message', 'user'],
    );
    assert.equal(input[1].id, undefined);
  });
});

describe('a session', () => {
  it('that a header names stays on one account in every dialect', async () => {
    for (const account of ACCOUNTS) providers[account].script(openaiChat({ content: account }));
    for (const header of ['x-claude-code-session-id', 'session-id', 'session_id']) {
      const served = new Set<unknown>();
      for (let n = 0; n < 12; n++) {
        const text = `call ${n}`;
        const said = await post(
          stack,
          '/v1/chat/completions',
          chat('agent-model', {
            messages: [{ role: 'user', content: text }],
          }),
          { [header]: 'session-1' },
        );
        served.add(said.json().choices[0].message.content);
        const spoken = await post(
          stack,
          '/v1/messages',
          message('agent-model', {
            messages: [{ role: 'user', content: text }],
          }),
          { [header]: 'session-1' },
        );
        served.add(spoken.json().content[0].text);
      }
      assert.equal(served.size, 1);
    }
  });
});
