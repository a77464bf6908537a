/** Images of the assistant follow its turn as the user's, for providers that take no other. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { prepare } from '../../../../../dataplane/protocol/conversation/prepare.ts';
import type { AssistantPart, Turn, UserPart } from '../../../../../dataplane/protocol/conversation/request.ts';

const path = 'p';
const image: AssistantPart & UserPart = { type: 'Image', source: { type: 'Url', url: 'https://x' }, path };
const call = (id: string): AssistantPart => ({ type: 'ToolCall', id, name: 'f', arguments: { text: '{}' }, path });
const result = (callId: string): UserPart => ({ type: 'ToolResult', callId, isError: false, parts: [], path });
const assistant = (...parts: AssistantPart[]): Turn => ({ role: 'Assistant', parts, path });
const user = (...parts: UserPart[]): Turn => ({ role: 'User', parts, path });
const hi: UserPart = { type: 'Text', text: 'hi', path };
const signed: AssistantPart = { type: 'Reasoning', text: 't', proof: { maker: 'Anthropic', signature: 's' }, path };

/** Each turn as its role and the types of its parts. */
function prepared(turns: readonly Turn[], assistantImages = false): readonly string[] {
  const needs = {
    reasoning: { proofs: ['Anthropic' as const], readable: false },
    system: 'InPlace' as const,
    alternates: false,
    blanks: true,
    prefill: true,
  };
  return prepare(turns, { ...needs, assistantImages }).turns.map(
    ({ role, parts }) => `${role} ${parts.map(({ type }) => type).join(' ')}`,
  );
}

describe('images of the assistant', () => {
  it('stay where the provider takes them', () => {
    assert.deepEqual(prepared([user(hi), assistant(image)], true), ['User Text', 'Assistant Image']);
  });
  it('follow the results of the calls of their turn, also of calls in turns of their own', () => {
    assert.deepEqual(
      prepared([user(hi), assistant(image, call('a')), assistant(call('b'), image), user(result('a'), result('b'))]),
      ['User Text', 'Assistant ToolCall ToolCall', 'User ToolResult ToolResult', 'User Text Image Image'],
    );
  });
  it('leave no reasoning behind that led to nothing else', () => {
    assert.deepEqual(prepared([user(hi), assistant(signed, image)]), ['User Text', 'User Text Image']);
    assert.deepEqual(prepared([user(hi), assistant(signed, call('a'), signed, image)]), [
      'User Text',
      'Assistant Reasoning ToolCall',
      'User ToolResult',
      'User Text Image',
    ]);
  });
});
