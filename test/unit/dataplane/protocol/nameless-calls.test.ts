/** A call that has no name is none, and a response that says it calls and does not ends as any other. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { fold } from '../../../../dataplane/protocol/conversation/response.ts';
import type { ConversationResponse } from '../../../../dataplane/protocol/conversation/response.ts';
import type { JsonRecord } from '../../../../dataplane/protocol/fields.ts';
import { anthropicChat } from '../../../../dataplane/protocol/providers/anthropic/chat.ts';
import type { ChatProvider } from '../../../../dataplane/protocol/providers/chat-provider.ts';
import { converseChat } from '../../../../dataplane/protocol/providers/converse/chat.ts';
import { geminiChat } from '../../../../dataplane/protocol/providers/gemini/chat.ts';
import { openaiChat } from '../../../../dataplane/protocol/providers/openai-chat/chat.ts';
import { responsesChat } from '../../../../dataplane/protocol/providers/responses/chat.ts';
import type { SseEvent } from '../../../../dataplane/protocol/sse.ts';

/** A whole response with a text and a call without a name, which says that it has called. */
const RESPONSES: Readonly<Record<string, readonly [ChatProvider, JsonRecord]>> = {
  'chat completions': [
    openaiChat,
    {
      choices: [
        {
          index: 0,
          message: {
            content: 'x',
            tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: '', arguments: '{}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
    },
  ],
  Responses: [
    responsesChat,
    {
      status: 'completed',
      output: [
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] },
        { type: 'function_call', call_id: 'c', name: '', arguments: '{}' },
      ],
    },
  ],
  Anthropic: [
    anthropicChat,
    {
      content: [
        { type: 'text', text: 'x' },
        { type: 'tool_use', id: 'c', name: '', input: {} },
      ],
      stop_reason: 'tool_use',
    },
  ],
  Gemini: [
    geminiChat,
    { candidates: [{ content: { parts: [{ text: 'x' }, { functionCall: { args: {} } }] }, finishReason: 'STOP' }] },
  ],
  Converse: [
    converseChat,
    {
      output: {
        message: { role: 'assistant', content: [{ text: 'x' }, { toolUse: { toolUseId: 'c', name: '', input: {} } }] },
      },
      stopReason: 'tool_use',
    },
  ],
};

function read(provider: ChatProvider, response: JsonRecord): ConversationResponse {
  return fold(provider.read(Buffer.from(JSON.stringify(response)), { id: 'r', notes: undefined }).events);
}

describe('a call without a name', () => {
  for (const [name, [provider, response]] of Object.entries(RESPONSES))
    it(`of ${name} is left out, and the turn has ended`, () => {
      const [candidate] = read(provider, response).candidates;
      assert.deepEqual(candidate?.parts, [{ type: 'Text', text: 'x' }]);
      assert.equal(candidate.finish?.reason, 'Stop');
    });

  it('in a stream takes its input along', () => {
    const event = (name: string | undefined, data: JsonRecord): SseEvent => ({
      raw: Buffer.from(''),
      event: name,
      data: JSON.stringify(data),
    });
    const converse = (name: string, data: JsonRecord): SseEvent => event(name, { contentBlockIndex: 0, ...data });
    for (const [provider, ...events] of [
      [
        anthropicChat,
        event(undefined, {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 'c', input: {} },
        }),
        event(undefined, { type: 'content_block_delta', index: 0, delta: { partial_json: '{"a":1}' } }),
        event(undefined, { type: 'content_block_stop', index: 0 }),
        event(undefined, { type: 'message_delta', delta: { stop_reason: 'tool_use' } }),
      ],
      [
        converseChat,
        converse('contentBlockStart', { start: { toolUse: { toolUseId: 'c' } } }),
        converse('contentBlockDelta', { delta: { toolUse: { input: '{"a":1}' } } }),
        converse('contentBlockStop', {}),
        converse('messageStop', { stopReason: 'tool_use' }),
      ],
    ] as readonly (readonly [ChatProvider, ...SseEvent[]])[]) {
      const reader = provider.stream({ id: 'r', notes: undefined });
      const [candidate] = fold([...events.flatMap((each) => reader.read(each)), ...(reader.end() ?? [])]).candidates;
      assert.deepEqual([candidate?.parts, candidate?.finish?.reason], [[], 'Stop'], provider.name);
    }
  });
});
