/** A conversation that moves from another provider to Anthropic: thinking that Anthropic did not sign is left out. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { providerOf } from '../../../../dataplane/protocol/providers.ts';

const PLAN = { upstreamModel: 'claude', maxOutputTokens: 100, outputLimitField: 'max_tokens' } as const;
const FOREIGN = { type: 'thinking', thinking: 'hm', signature: 'gemini.call.fc-1.c2ln' };
const OWN = { type: 'thinking', thinking: 'own', signature: 'EqQB' };
const USE = { type: 'tool_use', id: 'fc-1', name: 'f', input: { n: 1 } };

function sent(content: unknown, text = ''): { readonly text: string; readonly messages: readonly unknown[] } {
  const body = Buffer.from(
    `{"model":"claude","max_tokens":100,${text}"messages":${JSON.stringify([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
      { role: 'user', content: 'on' },
    ])}}`,
  );
  const { body: bytes } = providerOf('Anthropic').chat.Anthropic.request(body, JSON.parse(body.toString()), PLAN);
  const written = Buffer.from(bytes).toString();
  return { text: written, messages: (JSON.parse(written) as { messages: readonly unknown[] }).messages };
}

describe('thinking of other providers', () => {
  it('is left out, and the rest is unchanged', () => {
    const { text, messages } = sent([FOREIGN, OWN, USE], '"metadata": {"n": 12345678901234567890}, ');
    assert.deepEqual(messages[1], { role: 'assistant', content: [OWN, USE] });
    assert.ok(text.includes('"metadata": {"n": 12345678901234567890}, '), text);
  });
  it('takes its turn along if that has nothing else, and stays in the text of a prompt', () => {
    assert.deepEqual(sent([FOREIGN]).messages, [
      { role: 'user', content: 'hi' },
      { role: 'user', content: 'on' },
    ]);
    const words = [{ type: 'text', text: 'gemini.call.a.b' }];
    assert.deepEqual(sent(words).messages[1], { role: 'assistant', content: words });
  });
  it('is left out if it has no signature, as that of providers which sign nothing, or one of OpenAI', () => {
    for (const signature of ['', 'openai.WyJyc18xIiwiZ0FBQUEiXQ'])
      assert.deepEqual(sent([{ type: 'thinking', thinking: 'hm', signature }, USE]).messages[1], {
        role: 'assistant',
        content: [USE],
      });
  });
  it('is left out of a request that counts tokens', () => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [FOREIGN, USE] },
    ];
    const counter = providerOf('Anthropic').tokenCounters?.Anthropic;
    const request = { model: 'claude', messages };
    const sentBody = counter?.request(Buffer.from(JSON.stringify(request)), request, { upstreamModel: 'claude' }).body;
    assert.deepEqual(JSON.parse(Buffer.from(sentBody ?? []).toString()), {
      model: 'claude',
      messages: [messages[0], { role: 'assistant', content: [USE] }],
    });
  });
});
