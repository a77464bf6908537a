/** Clients of Anthropic's messages: what Claude Code makes of a message's model, and of thinking at its end. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { anthropicClient } from '../../../../../dataplane/protocol/clients/anthropic/client.ts';
import type { ConversionNotes } from '../../../../../dataplane/protocol/converter.ts';
import type { ConversationEvent } from '../../../../../dataplane/protocol/conversation/events.ts';
import { fold } from '../../../../../dataplane/protocol/conversation/response.ts';
import { converterFor } from '../../../../../dataplane/protocol/providers.ts';
import { UNREPORTED_USAGE } from '../../../../../dataplane/protocol/usage.ts';

const CONTEXT = { id: 'x', createdSeconds: 0, nowSeconds: () => 0, model: 'asked', notes: undefined, seal: undefined };
const START: ConversationEvent = { type: 'start', model: 'asked-2026-07-01' };
const FINISH: ConversationEvent = { type: 'finish', reason: 'Stop', detail: undefined };
const PROOF: ConversationEvent = {
  type: 'reasoning-end',
  proof: { maker: 'Gemini', signature: 'c2ln', callId: undefined },
};
const CALL: readonly ConversationEvent[] = [
  { type: 'call-start', id: 'c', name: 'f' },
  { type: 'call-delta', text: '{}' },
  { type: 'call-end' },
];
const text = (words: string): ConversationEvent => ({ type: 'text-delta', text: words });

interface Written {
  readonly type?: string;
  readonly message?: { readonly model: string };
  readonly content_block?: { readonly type: string };
  readonly delta?: { readonly text?: string; readonly signature?: string };
}

function streamed(...events: readonly ConversationEvent[]): readonly Written[] {
  return streamedWith(undefined, events);
}

function streamedWith(notes: ConversionNotes | undefined, events: readonly ConversationEvent[]): readonly Written[] {
  const writer = anthropicClient.stream({ ...CONTEXT, notes, usage: () => UNREPORTED_USAGE, wantsStreamUsage: false });
  const written = [START, ...events, FINISH].map((event) => writer.write(event)).join('') + writer.end();
  return [...written.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Written);
}

/** The blocks of a stream, each with its start and its end. */
function blocksOf(events: readonly Written[]): readonly string[] {
  return events.flatMap(({ type, content_block: block, delta }) => {
    if (type === 'content_block_start') return [block?.type ?? ''];
    if (type === 'content_block_stop') return ['stop'];
    return type === 'content_block_delta' ? [delta?.text ?? (delta?.signature === undefined ? '' : 'signature')] : [];
  });
}

function whole(...events: readonly ConversationEvent[]): {
  readonly model: string;
  readonly content: readonly Written[];
} {
  const body = anthropicClient.write(fold([START, ...events, FINISH]), UNREPORTED_USAGE, CONTEXT);
  return JSON.parse(Buffer.from(body).toString()) as ReturnType<typeof whole>;
}

describe("a message of another provider's model", () => {
  it('names the model as the client does, which keeps no thinking of any other', () => {
    assert.equal(streamed(text('a'))[0]?.message?.model, 'asked');
    assert.equal(whole(text('a')).model, 'asked');
  });

  it('does not end with the proof of its text', () => {
    assert.deepEqual(blocksOf(streamed(text('a'), PROOF)), ['text', 'a', 'stop']);
    assert.deepEqual(
      whole(text('a'), PROOF).content.map(({ type }) => type),
      ['text'],
    );
  });

  it('has the proof of a text before what follows it', () => {
    const proven = ['text', 'a', 'stop', 'thinking', 'signature', 'stop'];
    assert.deepEqual(blocksOf(streamed(text('a'), PROOF, text('b'))), [...proven, 'text', 'b', 'stop']);
    assert.deepEqual(blocksOf(streamed(text('a'), PROOF, ...CALL)), [...proven, 'tool_use', '', 'stop']);
  });
});

describe('a message for a client that has not asked for thinking', () => {
  const HIDING = { ...CONTEXT, notes: { hidesProofs: true } };
  const REDACTED: ConversationEvent = { type: 'reasoning-end', proof: { maker: 'Anthropic', redacted: 'aGlk' } };
  const typesOf = (...events: readonly ConversationEvent[]): readonly (readonly unknown[])[] => {
    const body = anthropicClient.write(fold([START, ...events, FINISH]), UNREPORTED_USAGE, HIDING);
    const { content } = JSON.parse(Buffer.from(body).toString()) as { content: readonly Written[] };
    const starts = streamedWith(HIDING.notes, events).filter(({ type }) => type === 'content_block_start');
    return [content.map(({ type }) => type), starts.map((event) => event.content_block?.type)];
  };

  it('has proofs of reasoning only before the calls that they led to', () => {
    for (const events of [
      [PROOF, text('a')],
      [text('a'), PROOF],
      [REDACTED, text('a'), PROOF, text('b')],
    ])
      assert.deepEqual(typesOf(...events), [['text'], ['text']]);
    const [thinking, redacted, call] = ['thinking', 'redacted_thinking', 'tool_use'];
    assert.deepEqual(typesOf(PROOF, ...CALL), [
      [thinking, call],
      [thinking, call],
    ]);
    const kept = ['text', redacted, thinking, call];
    assert.deepEqual(typesOf(REDACTED, text('a'), PROOF, ...CALL), [kept, kept]);
  });
  it('has reasoning that can be read', () => {
    const events: readonly ConversationEvent[] = [{ type: 'reasoning-delta', text: 'hm' }, PROOF, text('a')];
    assert.deepEqual(typesOf(...events), [
      ['thinking', 'text'],
      ['thinking', 'text'],
    ]);
  });
  it('is known by its request', () => {
    const notesOf = (thinking: object | undefined): unknown => {
      const messages = [{ role: 'user', content: 'hi' }];
      const body = { model: 'm', messages, ...(thinking && { thinking }) };
      return anthropicClient.read(body, { providerTools: undefined, seal: undefined }).notes;
    };
    for (const thinking of [undefined, { type: 'disabled' }])
      assert.deepEqual(notesOf(thinking), { hidesProofs: true });
    for (const thinking of [
      { type: 'adaptive', display: 'omitted' },
      { type: 'enabled', budget_tokens: 1024 },
    ])
      assert.equal(notesOf(thinking), undefined);
  });
});

describe('a tool_reference in a result', () => {
  it('is a text that names the tool, for every provider', () => {
    const content = [{ type: 'tool_reference', tool_name: 'get_weather' }];
    const body = {
      model: 'm',
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'search', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content }] },
      ],
    };
    const plan = { upstreamModel: 'm', maxOutputTokens: 9, outputLimitField: 'max_tokens' } as const;
    for (const provider of ['OpenAI', 'Gemini', 'BedrockConverse'] as const) {
      const { body: sent } = converterFor('Anthropic', provider).request(Buffer.from(JSON.stringify(body)), body, plan);
      assert.match(Buffer.from(sent).toString(), /Tools that can be called now: get_weather/, provider);
    }
  });
});

describe('a refused member of a tool_reference', () => {
  it('is named by the place of its own block', () => {
    const content = [
      { type: 'text', text: 'found' },
      { type: 'tool_reference', tool_name: 'f', unknown: true },
    ];
    const body = {
      model: 'm',
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'search', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content }] },
      ],
    };
    const { conversation } = anthropicClient.read(body, { providerTools: undefined, seal: undefined });
    assert.deepEqual(
      conversation.unread.map(({ path }) => path),
      ['messages[1].content[0].content[1].unknown'],
    );
  });
});
