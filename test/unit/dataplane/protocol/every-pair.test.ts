/** Rules that hold for every pair of a client and a provider: how refusals name the provider, and odd values. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'vitest';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import type { JsonRecord } from '../../../../dataplane/protocol/fields.ts';
import { PAIRS, send } from './pairs.ts';
import type { Pair, ProviderName } from './pairs.ts';

const CLAUDE = 'anthropic.claude-sonnet-4-5';
const user = (content: unknown): JsonRecord => ({ role: 'user', content });

const HELLO: Readonly<Record<ChatDialect, JsonRecord>> = {
  OpenAI: { messages: [user('hi')] },
  Responses: { input: 'hi' },
  Anthropic: { messages: [user('hi')] },
  Gemini: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
};
/** As refusals name the protocols. */
const NAMES: Readonly<Record<ProviderName, string>> = {
  'chat completions': 'OpenAI',
  Responses: 'OpenAI',
  Anthropic: 'Anthropic',
  Gemini: 'Gemini',
  Converse: 'Converse',
};
const ofClient = (wanted: ChatDialect): readonly Pair[] => PAIRS.filter(({ client }) => client === wanted);

describe('a refusal names the field of the client and the protocol of the provider', () => {
  for (const pair of PAIRS)
    it(`of a client of ${pair.client} to ${pair.provider}`, () => {
      assert.throws(
        () => send(pair, { ...HELLO[pair.client], brandNewField: 1 }),
        (error) =>
          error instanceof RequestFault &&
          error.param === 'brandNewField' &&
          error.message.includes(`speaks ${NAMES[pair.provider]}'s protocol, which "brandNewField"`),
      );
    });
});

describe('the user of a call', () => {
  for (const pair of [...ofClient('OpenAI'), ...ofClient('Responses')])
    it(`of a client of ${pair.client} is sent to ${pair.provider} as a digest where it is long`, () => {
      const id = 'u'.repeat(300);
      const { text } = send(pair, { ...HELLO[pair.client], user: id });
      assert.doesNotMatch(text, /uuuu/);
      const sent = text.includes(createHash('sha256').update(id).digest('hex'));
      assert.equal(sent, pair.provider !== 'Gemini' && pair.provider !== 'Converse');
    });
});

describe('stop sequences of white space', () => {
  for (const pair of ofClient('OpenAI').filter(({ provider }) => provider === 'Anthropic' || provider === 'Converse'))
    it(`are left out and named for Claude by ${pair.provider}`, () => {
      const { body, dropped } = send(pair, { ...HELLO.OpenAI, stop: ['\n', 'END', ''] }, CLAUDE);
      const { stopSequences } = (body['inferenceConfig'] ?? {}) as JsonRecord;
      assert.deepEqual([body['stop_sequences'] ?? stopSequences, dropped], [['END'], ['stop']]);
    });
});

describe('a result of a tool', () => {
  const historyWith = (content: readonly JsonRecord[]): JsonRecord => ({
    messages: [
      user('hi'),
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
      user([{ type: 'tool_result', tool_use_id: 'toolu_1', content }]),
    ],
  });
  for (const pair of ofClient('Anthropic'))
    it(`has found tools as a text, and no cache mark inside, for ${pair.provider}`, () => {
      const found = [{ type: 'tool_reference', tool_name: 'get_weather' }];
      assert.match(send(pair, historyWith(found)).text, /Tools that can be called now: get_weather/);
      const marked = [{ type: 'text', text: 'r', cache_control: { type: 'ephemeral' } }];
      const { text, body } = send(pair, historyWith(marked), pair.provider === 'Converse' ? CLAUDE : pair.model);
      assert.doesNotMatch(text, /cache_control/);
      const points = text.split('cachePoint').length - 1;
      assert.equal(points, pair.provider === 'Converse' ? 1 : 0);
      if (points > 0) {
        const last = (body['messages'] as readonly JsonRecord[]).at(-1)?.['content'] as readonly JsonRecord[];
        assert.deepEqual(
          last.map((block) => Object.keys(block)[0]),
          ['toolResult', 'cachePoint'],
        );
      }
    });
});

describe('thinking that is switched off', () => {
  it('is so by their own switch for models that have one, in chat completions', () => {
    const [pair] = ofClient('Anthropic').filter(({ provider }) => provider === 'chat completions');
    assert.ok(pair);
    const switchOf = (model: string): unknown =>
      send(pair, { ...HELLO.Anthropic, thinking: { type: 'disabled' } }, model).body['thinking'];
    for (const model of ['deepseek-v4', 'moonshotai/kimi-k2.5', 'glm-5'])
      assert.deepEqual(switchOf(model), { type: 'disabled' }, model);
    assert.equal(switchOf('gpt-5.4'), undefined);
  });
});
