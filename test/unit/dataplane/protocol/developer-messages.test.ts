/** Messages of the developer become what each provider takes: many refuse the role. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { JsonRecord } from '../../../../dataplane/protocol/fields.ts';
import { PAIRS, send } from './pairs.ts';

const TURNS = [
  { role: 'developer', content: 'first' },
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: 'ho' },
  { role: 'developer', content: 'later' },
  { role: 'user', content: 'go on' },
];
const REQUESTS: Readonly<Record<string, JsonRecord>> = { OpenAI: { messages: TURNS }, Responses: { input: TURNS } };

describe('developer messages', () => {
  for (const pair of PAIRS) {
    const request = REQUESTS[pair.client];
    if (request)
      it(`of a client of ${pair.client} reach ${pair.provider} in its own roles`, () => {
        const { text } = send(pair, request);
        assert.doesNotMatch(text, /developer/);
        assert.match(text, /first.*later|later.*first/s);
      });
  }

  it('are system messages where a maker takes them between turns, and else text of the user', () => {
    const [pair] = PAIRS.filter(({ client, provider }) => client === 'Responses' && provider === 'chat completions');
    assert.ok(pair);
    const rolesAt = (model: string): readonly unknown[] =>
      (send(pair, { input: TURNS }, model).body['messages'] as JsonRecord[]).map(({ role }) => role);
    for (const model of ['gpt-5.4', 'deepseek-chat'])
      assert.deepEqual(rolesAt(model), ['system', 'user', 'assistant', 'system', 'user'], model);
    for (const model of ['mistral-large-latest', 'qwen3-max', 'llama-4'])
      assert.deepEqual(rolesAt(model), ['system', 'user', 'assistant', 'user', 'user'], model);
  });
});
