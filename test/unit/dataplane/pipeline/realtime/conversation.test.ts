/** What events of both ends say of the costs of a session, and what its next response can read and write. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { Conversation, SLICE_TOKENS } from '../../../../../dataplane/pipeline/realtime/conversation.ts';
import { readClientEvent, receiveEvent } from '../../../../../dataplane/protocol/realtime/client-events.ts';
import type { ClientEvent } from '../../../../../dataplane/protocol/realtime/client-events.ts';
import { readServerEvent } from '../../../../../dataplane/protocol/realtime/server-events.ts';
import type { SessionChange } from '../../../../../dataplane/protocol/realtime/session.ts';
import { readResponseUsage, readTranscriptionUsage } from '../../../../../dataplane/protocol/realtime/usage.ts';

const MODEL = { contextTokens: 32_000, maxOutputTokens: 4096, imageTokens: 1000 };
const read = (event: object): ClientEvent => readClientEvent(receiveEvent(Buffer.from(JSON.stringify(event))));
const server = (event: object): ReturnType<typeof readServerEvent> =>
  readServerEvent(Buffer.from(JSON.stringify(event)));

function change(more: Partial<SessionChange>): SessionChange {
  return {
    maxOutputTokens: undefined,
    beginsResponses: undefined,
    bytes: 0,
    model: undefined,
    compactInput: false,
    compactOutput: undefined,
    transcriber: undefined,
    promptBytes: 0,
    ...more,
  };
}

describe('events of clients', () => {
  it('are counted by texts, audio and images', () => {
    const audio = Buffer.alloc(9000).toString('base64');
    const event = read({
      type: 'conversation.item.create',
      item: {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'x'.repeat(500) },
          { type: 'input_audio', audio },
          { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(4000)}` },
        ],
      },
    });
    assert.equal(event.audioBytes, 9000);
    assert.deepEqual([event.images, event.imageParam], [1, 'item.content[2]']);
    assert.ok(event.textBytes > 500 && event.textBytes < 900, String(event.textBytes));
    assert.deepEqual(read({ type: 'input_audio_buffer.append', audio }).textBytes, 0);
  });

  it('name what they ask for that has no bound, and what is not known', () => {
    const asked = read({
      type: 'response.create',
      response: {
        tools: [{ type: 'mcp' }, { type: 'function' }],
        prompt: { id: 'p' },
        best_of: 3,
        max_output_tokens: 7,
      },
    });
    assert.deepEqual(
      asked.unbounded.map(({ param }) => param),
      ['response.tools[0]', 'response.prompt'],
    );
    assert.deepEqual([asked.unknown, asked.maxOutputTokens], [['response.best_of'], 7]);
    const { session, unknown } = read({
      type: 'session.update',
      session: {
        type: 'realtime',
        max_output_tokens: 'inf',
        audio: { input: { format: { type: 'audio/pcmu' }, turn_detection: null, fancy: 1 } },
      },
    });
    assert.deepEqual(unknown, ['session.audio.input.fancy']);
    assert.deepEqual(
      [session?.maxOutputTokens, session?.beginsResponses, session?.compactInput],
      [Infinity, false, true],
    );
    assert.throws(() => read({ type: 'session.update', session: { type: 'transcription' } }), /session\.type/);
  });
});

describe('usage', () => {
  it('tells modalities apart, with the cached ones left out', () => {
    const read = readResponseUsage({
      input_tokens: 132,
      output_tokens: 121,
      input_token_details: {
        text_tokens: 119,
        audio_tokens: 13,
        cached_tokens: 64,
        cached_tokens_details: { text_tokens: 60, audio_tokens: 4 },
      },
      output_token_details: { text_tokens: 30, audio_tokens: 91 },
    });
    assert.deepEqual([read?.input, read?.cached, read?.output], [68, 64, 121]);
    assert.deepEqual(read?.details, { audioInput: 9, imageInput: 0, audioOutput: 91 });
  });

  it('without details is audio, and of a transcription may be seconds', () => {
    const { details } = readResponseUsage({ input_tokens: 5, output_tokens: 6 }) ?? {};
    assert.ok((details?.audioInput ?? 0) > 1e9 && (details?.audioOutput ?? 0) > 1e9);
    assert.deepEqual(readTranscriptionUsage({ type: 'duration', seconds: 8.2 })?.served, { seconds: 9 });
    assert.equal(readResponseUsage(undefined), undefined);
    assert.equal(readResponseUsage({ input_tokens: -1, output_tokens: 2 }), undefined);
  });
});

describe('a conversation', () => {
  it('is bounded by what was sent, in slices, and by the context', () => {
    const conversation = new Conversation(MODEL);
    assert.deepEqual([conversation.inputTokens, conversation.inputTokensAhead], [1024, SLICE_TOKENS]);
    conversation.add({ textBytes: 0, audioBytes: 48_000 * 100, images: 0 });
    assert.equal(conversation.inputTokens, 1024 + 2000);
    conversation.add({ textBytes: 1000, audioBytes: 0, images: 1 });
    assert.equal(conversation.inputTokens, 1024 + 2000 + 1000 + 16 + 1000);
    assert.equal(conversation.inputTokensAhead, 2 * SLICE_TOKENS);
    conversation.addOutput(40_000);
    assert.deepEqual([conversation.inputTokens, conversation.inputTokensAhead], [32_000, 32_000]);
  });

  it('has the dearest of the settings that may be in force', () => {
    const conversation = new Conversation(MODEL);
    assert.deepEqual([conversation.beginsResponses, conversation.outputTokens], [true, 4096]);
    conversation.confirm(change({ maxOutputTokens: Infinity, beginsResponses: true }), false);
    conversation.ask('a', change({ maxOutputTokens: 100, beginsResponses: false }));
    assert.deepEqual([conversation.beginsResponses, conversation.outputTokens], [true, 4096]);
    conversation.confirm(change({ maxOutputTokens: 100, beginsResponses: false }), true);
    assert.deepEqual([conversation.beginsResponses, conversation.outputTokens], [false, 100]);
    conversation.ask('b', change({ maxOutputTokens: 900, beginsResponses: true }));
    assert.deepEqual([conversation.beginsResponses, conversation.outputTokens], [true, 900]);
    conversation.refuse('b');
    assert.deepEqual([conversation.beginsResponses, conversation.outputTokens], [false, 100]);
  });

  it('counts a second of compact audio as a second', () => {
    const conversation = new Conversation(MODEL);
    conversation.ask('a', change({ compactInput: true }));
    conversation.add({ textBytes: 0, audioBytes: 8000 * 10, images: 0 });
    assert.equal(conversation.inputTokens, 1024 + 200);
  });
});

describe('events of providers', () => {
  it('are read as far as they cost, and never fail', () => {
    assert.deepEqual(server({ type: 'response.created', response: { id: 'r' } }), {
      kind: 'ResponseBegun',
      responseId: 'r',
    });
    assert.deepEqual(server({ type: 'response.output_audio.delta', response_id: 'r', delta: 'AAAA' }), {
      kind: 'Output',
      responseId: 'r',
      textBytes: 0,
      audioBytes: 3,
    });
    assert.equal(server({ type: 'response.done' }).kind, 'ResponseEnded');
    assert.equal(server({ type: 'session.updated', session: { max_output_tokens: 'x' } }).kind, 'Session');
    assert.equal(readServerEvent(Buffer.from('{')).kind, 'Other');
    assert.equal(readServerEvent(Buffer.from('[]')).kind, 'Other');
  });
});
