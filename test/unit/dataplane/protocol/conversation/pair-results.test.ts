/** Each call's result stands directly after it, once. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { pairResults } from '../../../../../dataplane/protocol/conversation/repairs/pair-results.ts';
import type { AssistantPart, Turn, UserPart } from '../../../../../dataplane/protocol/conversation/request.ts';

const PATH = 'messages[0]';
const text = (of: string): UserPart & AssistantPart => ({ type: 'Text', text: of, path: PATH });
const result = (callId: string, of: string): UserPart => ({
  type: 'ToolResult',
  callId,
  isError: false,
  parts: [{ type: 'Text', text: of, path: PATH }],
  path: PATH,
});
const call = (id: string): AssistantPart => ({
  type: 'ToolCall',
  id,
  name: 'f',
  arguments: { text: '{}' },
  path: PATH,
});
const user = (...parts: UserPart[]): Turn => ({ role: 'User', parts, path: PATH });
const assistant = (...parts: AssistantPart[]): Turn => ({ role: 'Assistant', parts, path: PATH });

/** A line for each turn: its texts, calls and results. */
function linesOf(turns: readonly Turn[]): readonly string[] {
  return turns.map(({ role, parts }) => `${role}: ${parts.map(wordsOf).join(', ')}`);
}

function wordsOf(part: Turn['parts'][number]): string {
  if (part.type === 'Text') return part.text;
  if (part.type === 'ToolCall') return `call ${part.id}`;
  if (part.type === 'ToolResult') return `result ${part.callId}=${part.parts.map(wordsOf).join('+')}`;
  return part.type;
}

describe('pairing results with their calls', () => {
  it('moves a result in front of what stands between', () => {
    assert.deepEqual(linesOf(pairResults([assistant(call('a')), user(text('wait')), user(result('a', '1'))])), [
      'Assistant: call a',
      'User: result a=1',
      'User: wait',
    ]);
  });

  it('says that a call has no result', () => {
    assert.deepEqual(linesOf(pairResults([assistant(call('a')), user(text('next'))])), [
      'Assistant: call a',
      'User: result a=The tool call was not completed.',
      'User: next',
    ]);
  });

  it('makes a result without a call a text', () => {
    assert.deepEqual(linesOf(pairResults([user(result('a', '1'))])), ['User: Result of an earlier tool call:\n1']);
  });

  it('keeps a result that stands before its call once, as a text', () => {
    assert.deepEqual(linesOf(pairResults([user(result('a', '1')), assistant(call('a')), user(result('a', '2'))])), [
      'User: Result of an earlier tool call:\n1',
      'Assistant: call a',
      'User: result a=2',
    ]);
  });

  it('gives calls with one id their results in order', () => {
    const turns = [assistant(call('a')), user(result('a', '1')), assistant(call('a')), user(result('a', '2'))];
    assert.deepEqual(linesOf(pairResults(turns)), [
      'Assistant: call a',
      'User: result a=1',
      'Assistant: call a',
      'User: result a=2',
    ]);
  });
});
