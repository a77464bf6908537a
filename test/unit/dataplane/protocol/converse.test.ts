/** Streams of Converse with unusual ends, and conversations that Converse would refuse. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { replay, STREAM_REQUEST } from './replay.ts';

const event = (name: string, data: object): Buffer => Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
const START = event('messageStart', { role: 'assistant' });
const TEXT = event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hello' } });
const STOP = event('messageStop', { stopReason: 'end_turn' });
const USAGE = event('metadata', { usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } });

const run = (...pieces: readonly Buffer[]): ReturnType<typeof replay> =>
  replay(converterFor('Anthropic', 'BedrockConverse').stream(STREAM_REQUEST), pieces);

describe('a stream of Converse', () => {
  it('ends with the usage, which comes after the stop', () => {
    const { outcome, sent, last, meter } = run(START, TEXT, STOP, USAGE);
    assert.equal(outcome, 'Complete');
    assert.doesNotMatch(sent, /stop_reason":"/);
    assert.match(last, /"stop_reason":"end_turn".*"output_tokens":1[^]*message_stop/);
    assert.deepEqual([meter.final, meter.reported.input], [true, 3]);
  });
  it('is complete without usage, which is then estimated', () => {
    const { outcome, meter, last } = run(START, TEXT, STOP);
    assert.deepEqual([outcome, meter.final, meter.outputBytes], ['Complete', false, 5]);
    assert.match(last, /message_delta[^]*message_stop/);
  });
  it('is cut off without a stop event, even with usage', () => {
    assert.equal(run(START, TEXT).outcome, 'Cut');
    assert.equal(run(START, TEXT, USAGE).outcome, 'Cut');
    assert.equal(run().outcome, 'Cut');
  });
  it("fails if the model's output is invalid", () => {
    assert.equal(run(START, TEXT, event('messageStop', { stopReason: 'malformed_tool_use' })).outcome, 'Failed');
  });
  it('keeps one block open at a time', () => {
    const other = event('contentBlockDelta', { contentBlockIndex: 1, delta: { reasoningContent: { text: 'hm' } } });
    const orphan = event('contentBlockDelta', { contentBlockIndex: 2, delta: { toolUse: { input: '{}' } } });
    const { sent, last } = run(START, TEXT, other, orphan, TEXT, STOP, USAGE);
    const blocks = [...(sent + last).matchAll(/"type":"content_block_(start|stop)","index":(\d)/g)].map(
      ([, kind = '', at = '']) => kind + at,
    );
    assert.deepEqual(blocks, ['start0', 'stop0', 'start1', 'stop1', 'start2', 'stop2']);
  });
});

describe('a request to Converse', () => {
  const send = (request: object, model = 'amazon.nova-pro-v1:0'): Record<string, unknown> => {
    const body = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, ...request }));
    const sent = converterFor('Anthropic', 'BedrockConverse').request(body, JSON.parse(body.toString()), {
      upstreamModel: model,
      maxOutputTokens: undefined,
      outputLimitField: 'max_tokens',
    });
    return { ...JSON.parse(Buffer.from(sent.body).toString()), dropped: sent.dropped };
  };
  const USE = { type: 'tool_use', id: 'x'.repeat(80), name: 'f', input: {} };
  const RESULT = { type: 'tool_result', tool_use_id: 'x'.repeat(80), content: '' };

  it('joins consecutive turns of one role, and leaves out empty texts', () => {
    const { messages } = send({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: [{ type: 'text', text: ' ' }] },
        { role: 'user', content: 'b' },
      ],
    });
    assert.deepEqual(messages, [{ role: 'user', content: [{ text: 'a' }, { text: 'b' }] }]);
  });
  it('declares the tools of the history, which Converse requires, and shortens ids consistently', () => {
    const { messages, toolConfig } = send({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [USE] },
        { role: 'user', content: [RESULT] },
      ],
    });
    assert.match(JSON.stringify(toolConfig), /"name":"f"/);
    const ids = [...JSON.stringify(messages).matchAll(/"toolUseId":"([^"]{1,64})"/g)].map(([, id]) => id);
    assert.equal(ids.length, 2);
    assert.equal(ids[0], ids[1]);
  });
  it('leaves tools out if none may be called', () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const sent = send({ messages: [{ role: 'user', content: 'a' }], tools, tool_choice: { type: 'none' } });
    assert.equal(sent['toolConfig'], undefined);
  });
  it('leaves out what a model does not support, and names it', () => {
    const { dropped, additionalModelRequestFields: fields } = send(
      {
        messages: [{ role: 'user', content: 'a' }],
        thinking: { type: 'enabled', budget_tokens: 1024 },
      },
      'meta.llama3-3-70b-instruct-v1:0',
    );
    assert.deepEqual([dropped, fields], [['thinking'], undefined]);
  });
  it('asks Nova 2 and GPT-OSS for reasoning in their own fields', () => {
    const request = { messages: [{ role: 'user', content: 'a' }], thinking: { type: 'enabled', budget_tokens: 5000 } };
    assert.deepEqual(send(request, 'us.amazon.nova-2-lite-v1:0')['additionalModelRequestFields'], {
      reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' },
    });
    assert.deepEqual(send(request, 'openai.gpt-oss-120b-1:0')['additionalModelRequestFields'], {
      reasoning_effort: 'medium',
    });
  });
  it('gives documents distinct names', () => {
    const document = {
      type: 'document',
      title: 'a/b',
      source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
    };
    const text = JSON.stringify(send({ messages: [{ role: 'user', content: [document, document] }] })['messages']);
    assert.match(text, /"name":"a b"[^]*"name":"a b \(2\)"/);
  });
});
