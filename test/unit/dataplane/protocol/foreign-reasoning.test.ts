/** Reasoning that a provider's own model has not signed never reaches one that checks, whoever made it or kept it. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { JsonRecord } from '../../../../dataplane/protocol/fields.ts';
import { PAIRS, send } from './pairs.ts';
import type { ProviderName } from './pairs.ts';

const CLAUDE = 'anthropic.claude-sonnet-4-5';
const CHECKS: readonly ProviderName[] = ['Anthropic', 'Converse', 'Gemini', 'Responses'];
const user = { role: 'user', content: 'hi' };

/** What a client of Anthropic's protocol keeps: unsigned, or signed by other makers. */
const SIGNATURES: readonly (readonly [signature: string, maker: ProviderName | undefined])[] = [
  ['', undefined],
  ['gemini.call.call_1.c2ln', 'Gemini'],
  ['gemini.text.c2ln', 'Gemini'],
  ['openai.WyJyc18xIiwiZ0FBQUEiXQ', 'Responses'],
  ['EqQBforeign', 'Converse'],
];

describe('thinking that another maker signed, or nobody', () => {
  for (const pair of PAIRS.filter(({ client, provider }) => client === 'Anthropic' && CHECKS.includes(provider)))
    it(`is left out for ${pair.provider}`, () => {
      for (const [signature] of SIGNATURES.filter(([, maker]) => maker !== pair.provider)) {
        const content = [
          { type: 'thinking', thinking: 'hmm', signature },
          { type: 'text', text: 'so' },
          { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
        ];
        const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'r' };
        const messages = [user, { role: 'assistant', content }, { role: 'user', content: [result] }];
        const model = pair.provider === 'Converse' ? CLAUDE : pair.model;
        const { text } = send(pair, { max_tokens: 99, messages }, model);
        assert.doesNotMatch(text, /hmm|c2ln|gAAAA|EqQB/, signature);
        assert.match(text, /"so"/);
      }
    });
});

describe('reasoning that a client of chat completions keeps without a proof', () => {
  for (const pair of PAIRS.filter(({ client, provider }) => client === 'OpenAI' && CHECKS.includes(provider)))
    it(`is left out for ${pair.provider}`, () => {
      const kept: JsonRecord = { role: 'assistant', content: 'so', reasoning_content: 'hmm' };
      const model = pair.provider === 'Converse' ? CLAUDE : pair.model;
      const { text } = send(pair, { messages: [user, kept, user] }, model);
      assert.doesNotMatch(text, /hmm/);
      assert.match(text, /"so"/);
    });
});
