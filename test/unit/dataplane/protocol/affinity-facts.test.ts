/** The facts that identify a conversation, in all dialects. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { readAffinity } from '../../../../dataplane/protocol/affinity-facts.ts';
import type { ConversationKind } from '../../../../dataplane/protocol/affinity-facts.ts';

type Body = Readonly<Record<string, unknown>>;

const user = (content: unknown): Body => ({ role: 'user', content });
const GOOGLE_USER = { role: 'user', parts: [{ text: 'one' }] };
const assistant = { role: 'assistant', content: 'hello' };
const opening = (kind: ConversationKind, body: Body): string => readAffinity(kind, body).opening;

/** A conversation's first call, a later one, and the first of another conversation. */
const CONVERSATIONS: Readonly<Record<ConversationKind, readonly [Body, Body, Body]>> = {
  OpenAIChat: [
    { messages: [{ role: 'system', content: 's' }, user('one')] },
    { messages: [{ role: 'system', content: 's' }, user('one'), assistant, user('two')], temperature: 0 },
    { messages: [{ role: 'system', content: 't' }, user('one')] },
  ],
  AnthropicChat: [
    { system: 's', messages: [user([{ type: 'text', text: 'one', cache_control: { type: 'ephemeral' } }])] },
    { system: 's', messages: [user([{ type: 'text', text: 'one' }]), assistant, user('two')] },
    { system: 't', messages: [user([{ type: 'text', text: 'one' }])] },
  ],
  Responses: [
    { instructions: 's', input: [{ role: 'developer', content: 'd' }, user('one')] },
    { instructions: 's', input: [{ role: 'developer', content: 'd' }, user('one'), assistant, user('two')] },
    { instructions: 's', input: [{ role: 'developer', content: 'e' }, user('one')] },
  ],
  Gemini: [
    { systemInstruction: { parts: [{ text: 's' }] }, contents: [GOOGLE_USER] },
    { systemInstruction: { parts: [{ text: 's' }] }, contents: [GOOGLE_USER, { role: 'model', parts: [] }] },
    { systemInstruction: { parts: [{ text: 't' }] }, contents: [GOOGLE_USER] },
  ],
};

describe('the opening of a conversation', () => {
  for (const kind of ['OpenAIChat', 'AnthropicChat', 'Responses', 'Gemini'] as const)
    it(`of ${kind} stays the same in later turns, and differs from others`, () => {
      const [first, later, other] = CONVERSATIONS[kind];
      assert.equal(opening(kind, later), opening(kind, first));
      assert.notEqual(opening(kind, other), opening(kind, first));
    });
  it('exists for any request', () => {
    for (const kind of Object.keys(CONVERSATIONS) as ConversationKind[])
      for (const value of [undefined, null, 'text', 7, [], [null], [assistant], {}])
        assert.match(opening(kind, { messages: value, input: value, system: value }), /^[\w-]{43}$/);
  });
});

describe('sealed values', () => {
  const sealed = (name: string): string => `mgw1_encrypted_${name}`;
  it('of reasoning are optional; those of responses and compacted conversations are required', () => {
    const { sealed: found, bound } = readAffinity('Responses', {
      previous_response_id: 'mgw1_response_AAAA',
      conversation: { id: 'mgw1_conversation_AAAA' },
      input: [
        { type: 'reasoning', encrypted_content: sealed('one') },
        { type: 'reasoning', encrypted_content: 'gAAAAA' },
        { type: 'compaction', encrypted_content: sealed('two') },
        user('x'),
        7,
        { type: 'reasoning', encrypted_content: sealed('three') },
      ],
    });
    assert.deepEqual(found, [sealed('one'), sealed('three')]);
    assert.deepEqual(bound, ['mgw1_response_AAAA', 'mgw1_conversation_AAAA', sealed('two')]);
  });
  it('are searched in responses only', () => {
    const { sealed: found, bound } = readAffinity('OpenAIChat', {
      messages: [{ type: 'reasoning', encrypted_content: sealed('one') }],
    });
    assert.deepEqual([...found, ...bound], []);
  });
});

describe('the cache key', () => {
  it("is the client's value if it is a text", () => {
    assert.equal(readAffinity('OpenAIChat', { prompt_cache_key: 'thread' }).cacheKey, 'thread');
    for (const value of ['', 7, null])
      assert.equal(readAffinity('Responses', { prompt_cache_key: value }).cacheKey, undefined);
  });
});
