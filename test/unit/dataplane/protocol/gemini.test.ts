/** Streams of Gemini with unusual ends, its usage, and conversations that it would refuse. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { FailedResponse } from '../../../../dataplane/protocol/failed-response.ts';
import { readGeminiError } from '../../../../dataplane/protocol/gemini/errors.ts';
import { readUsage } from '../../../../dataplane/protocol/gemini/usage.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { assertCutAlike, replay, STREAM_REQUEST } from './replay.ts';

const event = (data: object): Buffer => Buffer.from(`data: ${JSON.stringify(data)}\r\n\r\n`);
const chunk = (parts: readonly object[], finishReason?: string): Buffer =>
  event({ candidates: [{ content: { role: 'model', parts }, finishReason }] });
const TEXT = chunk([{ text: 'hello' }]);
const STOP = chunk([], 'STOP');
const usage = (candidatesTokenCount: number): Buffer =>
  event({ usageMetadata: { promptTokenCount: 3, candidatesTokenCount, totalTokenCount: 3 + candidatesTokenCount } });

const open = (): ReturnType<ReturnType<typeof converterFor>['stream']> =>
  converterFor('Anthropic', 'Gemini').stream(STREAM_REQUEST);
const run = (...pieces: readonly Buffer[]): ReturnType<typeof replay> => replay(open(), pieces);
const blocksOf = (text: string): string[] =>
  [...text.matchAll(/"type":"content_block_(start|stop)","index":(\d)/g)].map(([, kind = '', at = '']) => kind + at);

describe('a stream of Gemini', () => {
  it('is complete at its end, with the usage of the last event', () => {
    const { outcome, last, meter } = run(usage(1), TEXT, STOP, usage(4));
    assert.equal(outcome, 'Complete');
    assert.match(last, /"stop_reason":"end_turn".*"output_tokens":4[^]*message_stop/);
    assert.deepEqual([meter.final, meter.reported.input, meter.reported.output], [true, 3, 4]);
  });
  it('is cut off without a finish reason, and its usage is not final', () => {
    const { outcome, meter } = run(TEXT, usage(1));
    assert.deepEqual([outcome, meter.final, meter.outputBytes], ['Cut', false, 5]);
    assert.equal(run().outcome, 'Cut');
  });
  it("fails if the model's output is invalid, and with Google's errors", () => {
    assert.equal(run(TEXT, chunk([], 'MALFORMED_FUNCTION_CALL')).outcome, 'Failed');
    const { outcome, last } = run(TEXT, event({ error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'x' } }));
    assert.equal(outcome, 'Failed');
    assert.match(last, /rate_limit_error/);
  });
  it('is no success for reasons that are none, in a stream and whole, and says which', () => {
    for (const reason of ['OTHER', 'NO_IMAGE', 'MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'SOME_NEW_REASON']) {
      const { outcome, last } = run(TEXT, chunk([], reason));
      assert.equal(outcome, 'Failed', reason);
      assert.match(last, new RegExp(reason));
      const candidate = { content: { parts: [{ text: 'a' }] }, finishReason: reason, finishMessage: 'odd' };
      const body = Buffer.from(JSON.stringify({ candidates: [candidate] }));
      assert.throws(
        () => converterFor('Anthropic', 'Gemini').response(body),
        (thrown) => thrown instanceof FailedResponse && /odd/.test(thrown.error.message),
      );
    }
  });
  it('keeps one block open at a time, and adds signatures to the thoughts before a part', () => {
    const { sent, last } = run(
      chunk([{ text: 'hm', thought: true }]),
      chunk([{ text: 'a' }, { text: 'b', thoughtSignature: 'AAAA' }]),
      chunk([{ functionCall: { id: 'x', name: 'f' }, thoughtSignature: 'BBBB' }]),
      STOP,
    );
    assert.deepEqual(blocksOf(sent + last), [
      'start0',
      'stop0',
      'start1',
      'stop1',
      'start2',
      'stop2',
      'start3',
      'stop3',
      'start4',
      'stop4',
    ]);
    assert.match(sent, /"signature":"gemini\.text\.AAAA"[^]*"signature":"gemini\.call\.x\.BBBB"/);
    assert.match(sent, /"id":"x","name":"f","input":\{\}/);
    assert.match(last, /"stop_reason":"tool_use"/);
  });
  it('is the same in chunks of any size', () => {
    const bytes = Buffer.concat([TEXT, chunk([{ functionCall: { name: 'f', args: { a: '🗼' } } }]), STOP, usage(4)]);
    assertCutAlike(open, bytes, [1, 17, 40, 99]);
  });
  it('is a refusal if the prompt was blocked', () => {
    const { outcome, last } = run(event({ promptFeedback: { blockReason: 'SAFETY' } }));
    assert.equal(outcome, 'Complete');
    assert.match(last, /"stop_reason":"refusal"/);
  });
});

describe('the usage of a stream of Gemini', () => {
  const report = (counts: object): Buffer => event({ usageMetadata: counts });
  const reportedOf = (...chunks: readonly object[]): unknown => {
    const { input, cached, output } = run(TEXT, ...chunks.map(report), STOP).meter.reported;
    return [input, cached, output];
  };
  it('is merged count by count before its classes are told apart', () => {
    const early = { promptTokenCount: 5105, candidatesTokenCount: 5, cachedContentTokenCount: 5100 };
    assert.deepEqual(reportedOf(early, { promptTokenCount: 5105, candidatesTokenCount: 16 }), [5, 5100, 16]);
  });
  it('keeps the larger of two counts, and thoughts that only an earlier chunk has told', () => {
    assert.deepEqual(
      reportedOf({ promptTokenCount: 100, candidatesTokenCount: 20 }, { promptTokenCount: 100, totalTokenCount: 100 }),
      [100, undefined, 20],
    );
    assert.deepEqual(
      reportedOf(
        { promptTokenCount: 100, thoughtsTokenCount: 50 },
        { promptTokenCount: 100, candidatesTokenCount: 16, totalTokenCount: 166 },
      ),
      [100, undefined, 66],
    );
    assert.deepEqual(
      reportedOf({ promptTokenCount: 9, candidatesTokenCount: 7 }, { promptTokenCount: 0, candidatesTokenCount: 0 }),
      [9, undefined, 7],
    );
  });
});

describe('the usage of Gemini', () => {
  it("subtracts cached tokens from the prompt, and adds tools' prompts and thoughts", () => {
    const reported = readUsage({
      promptTokenCount: 100,
      cachedContentTokenCount: 40,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 11,
      trafficType: 'ON_DEMAND_PRIORITY',
      promptTokensDetails: [
        { modality: 'AUDIO', tokenCount: 30 },
        { modality: 'IMAGE', tokenCount: 20 },
      ],
      cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 10 }],
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 6 }],
    });
    const { input, cached, output, serviceTier } = reported;
    assert.deepEqual([input, cached, output, serviceTier], [65, 40, 18, 'priority']);
    assert.deepEqual(reported.details, { audioInput: 20, imageInput: 20, reasoning: 11, imageOutput: 6 });
  });
  it('has no output if only the prompt counts', () => {
    assert.equal(readUsage({ promptTokenCount: 9, totalTokenCount: 9 }).output, 0);
    assert.equal(readUsage({ promptTokenCount: 9 }).output, undefined);
  });
});

describe('an error of Google', () => {
  const read = (details: object): ReturnType<typeof readGeminiError> =>
    readGeminiError(400, Buffer.from(JSON.stringify({ error: { message: 'no', details: [details] } })));

  it('contains the time to wait, and whether the key is invalid', () => {
    assert.equal(read({ retryDelay: '1.5s' }).retryAfterSeconds, 2);
    assert.equal(read({ retryDelay: 'soon' }).retryAfterSeconds, undefined);
    assert.equal(read({ reason: 'API_KEY_INVALID' }).status, 401);
    assert.equal(readGeminiError(500, Buffer.from('<html>')).status, undefined);
  });
});

describe('a request to Gemini', () => {
  const send = (request: object, model = 'gemini-3-pro-preview'): Record<string, unknown> => {
    const body = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, ...request }));
    const sent = converterFor('Anthropic', 'Gemini').request(body, JSON.parse(body.toString()), {
      upstreamModel: model,
      maxOutputTokens: undefined,
      outputLimitField: 'max_tokens',
    });
    return { ...JSON.parse(Buffer.from(sent.body).toString()), dropped: sent.dropped };
  };
  const HI = [{ role: 'user', content: 'hi' }];
  const thinkingOf = (model: string, fields: object): unknown =>
    (send({ messages: HI, ...fields }, model)['generationConfig'] as Record<string, unknown>)['thinkingConfig'];

  it('asks for thinking by level from Gemini 3 on, and by budget for earlier models', () => {
    const enabled = { thinking: { type: 'enabled', budget_tokens: 5000 } };
    assert.deepEqual(thinkingOf('gemini-3-flash', enabled), { thinkingLevel: 'MEDIUM', includeThoughts: true });
    assert.deepEqual(thinkingOf('gemini-2.5-pro', enabled), { thinkingBudget: 5000, includeThoughts: true });
    const disabled = { thinking: { type: 'disabled' } };
    assert.deepEqual(thinkingOf('gemini-3-pro', disabled), { thinkingLevel: 'LOW' });
    assert.deepEqual(thinkingOf('gemini-2.5-flash', disabled), { thinkingBudget: 0 });
    assert.deepEqual(thinkingOf('gemini-2.5-flash', { output_config: { effort: 'low' } }), { thinkingBudget: 1024 });
    assert.equal(thinkingOf('gemini-3-pro', {}), undefined);
  });
  it('says of calls without a signature that none is checked, from Gemini 2.5 on', () => {
    const call = { type: 'tool_use', id: 'toolu_1x', name: 'f', input: {} };
    const messages = [...HI, { role: 'assistant', content: [call] }];
    for (const [model, is] of [
      ['gemini-2.0-flash', false],
      ['gemini-2.5-pro', true],
      ['gemini-3-pro', true],
    ] as const)
      assert.equal(JSON.stringify(send({ messages }, model)).includes('skip_thought_signature_validator'), is, model);
  });
  it('has tool names that start with a letter or an underscore, and media types that Google knows', () => {
    const tools = ['1c_reload', '_ok', '-x', 'fine'].map((name) => ({ name, input_schema: { type: 'object' } }));
    const source = { type: 'base64', media_type: 'image/jpg', data: 'AAAA' };
    const messages = [{ role: 'user', content: [{ type: 'image', source }] }];
    const sent = JSON.stringify(send({ messages, tools }));
    const names = [...sent.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name);
    assert.match(String(names[0]), /^_1c_reload_[0-9a-f]{12}$/);
    assert.match(String(names[2]), /^_-x_[0-9a-f]{12}$/);
    assert.deepEqual([names[1], names[3]], ['_ok', 'fine']);
    assert.match(sent, /"mimeType":"image\/jpeg"/);
  });
  it('leaves out what a model does not support, and names it', () => {
    assert.equal(thinkingOf('gemini-2.0-flash', { thinking: { type: 'adaptive' } }), undefined);
    const { dropped } = send({ messages: HI, thinking: { type: 'adaptive' } }, 'gemini-2.0-flash');
    assert.deepEqual(dropped, ['thinking']);
  });
  it('returns signatures wherever the client keeps them, and none of other providers', () => {
    const thinking = (signature: string): object => ({ type: 'thinking', thinking: '', signature });
    const use = { type: 'tool_use', id: 'a.b', name: 'f', input: {} };
    const { contents } = send({
      messages: [
        ...HI,
        {
          role: 'assistant',
          content: [
            thinking('gemini.call.a.b.AAAA'),
            thinking('gemini.text.BBBB'),
            thinking('of-another'),
            { type: 'text', text: 'so' },
            use,
          ],
        },
      ],
    });
    assert.deepEqual((contents as readonly unknown[])[1], {
      role: 'model',
      parts: [
        { text: 'so', thoughtSignature: 'BBBB' },
        { functionCall: { id: 'a.b', name: 'f', args: {} }, thoughtSignature: 'AAAA' },
      ],
    });
  });
  it("puts a tool's media into its result from Gemini 3 on, and after it for earlier models", () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const messages = [
      ...HI,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [image] }] },
    ];
    const part = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    const result = { id: 't', name: 'f', response: { output: '' } };
    const partsOf = (model: string): unknown =>
      (send({ messages }, model)['contents'] as { parts: unknown }[])[2]?.parts;
    assert.deepEqual(partsOf('gemini-3-flash'), [{ functionResponse: { ...result, parts: [part] } }]);
    assert.deepEqual(partsOf('gemini-2.5-flash'), [{ functionResponse: result }, part]);
  });
  it('enforces a schema, which before Gemini 3 beside tools is only a prompt', () => {
    const request = {
      messages: HI,
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    };
    assert.match(JSON.stringify(send(request)['generationConfig']), /responseJsonSchema/);
    const older = send(request, 'gemini-2.5-flash');
    assert.doesNotMatch(JSON.stringify(older['generationConfig']), /responseJsonSchema/);
    assert.match(JSON.stringify(older['systemInstruction']), /JSON schema/);
  });
});
