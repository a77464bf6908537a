/** Google's protocol on both sides: bytes pass through, and only what the gateway must change changes. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { RequestPlan } from '../../../../dataplane/protocol/converter.ts';
import { FailedResponse } from '../../../../dataplane/protocol/failed-response.ts';
import { providerOf } from '../../../../dataplane/protocol/providers.ts';
import { assertCutAlike, replay, STREAM_REQUEST } from './replay.ts';

const CONVERTER = providerOf('Gemini').chat.Gemini;
const PLAN: RequestPlan = {
  upstreamModel: 'gemini-2.5-pro',
  maxOutputTokens: undefined,
  outputLimitField: 'max_tokens',
};
const HELLO = '"contents":[{"parts":[{"text":"hi"}],"role":"user"}]';

function send(body: string, plan: Partial<RequestPlan> = {}): { text: string; dropped: unknown; path: string } {
  const bytes = Buffer.from(body);
  const sent = CONVERTER.request(bytes, JSON.parse(body) as Record<string, unknown>, { ...PLAN, ...plan });
  return { text: Buffer.from(sent.body).toString(), dropped: sent.dropped, path: sent.path };
}

describe('a request', () => {
  it('keeps every byte, whatever Google has that other providers have not', () => {
    const body =
      `{ ${HELLO}, "safetySettings": [{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],` +
      ' "cachedContent":"cachedContents/x", "generationConfig": {"seed": 7, "temperature": 1.7, "candidateCount": 2,' +
      ' "thinkingConfig": {"thinkingBudget": 128}, "responseMimeType": "text/x.enum",' +
      ' "speechConfig": {}, "n": 12345678901234567890}, "tools":[{"googleSearch":{}}], "novel": 1 }';
    assert.deepEqual(send(body), {
      text: body,
      dropped: undefined,
      path: '/v1beta/models/gemini-2.5-pro:generateContent',
    });
  });
  it("gets the output limit within its settings, in the client's spelling", () => {
    const limit = { maxOutputTokens: 9, stream: true };
    assert.equal(
      send(`{${HELLO},"generation_config":{"max_output_tokens":99,"seed":7}}`, limit).text,
      `{${HELLO},"generation_config":{"max_output_tokens":9,"seed":7}}`,
    );
    assert.equal(
      send(`{${HELLO},"generationConfig":{"seed":7}}`, limit).text,
      `{${HELLO},"generationConfig":{"seed":7,"maxOutputTokens":9}}`,
    );
    const { text, path } = send(`{${HELLO}}`, limit);
    assert.equal(text, `{${HELLO},"generationConfig":{"maxOutputTokens":9}}`);
    assert.match(path, /:streamGenerateContent\?alt=sse$/);
  });
  it('is refused with one field in both spellings', () => {
    assert.throws(
      () => send(`{${HELLO},"generationConfig":{"maxOutputTokens":9,"max_output_tokens":99}}`),
      /two spellings/,
    );
  });
  it('loses the tools that Google would run where the route drops them, and names them', () => {
    const tools = '"tools":[{"functionDeclarations":[{"name":"f"}],"googleSearch":{}},{"urlContext":{}}]';
    assert.deepEqual(send(`{${HELLO},${tools}}`, { providerTools: 'Drop' }), {
      text: `{${HELLO},"tools":[{"functionDeclarations":[{"name":"f"}]}]}`,
      dropped: ['tools[0].googleSearch', 'tools[1].urlContext'],
      path: '/v1beta/models/gemini-2.5-pro:generateContent',
    });
  });
  it("has no signature that another provider's channel made", () => {
    const sealed = Buffer.from('mgw1_thinking_abc').toString('base64');
    const call = { functionCall: { name: 'f', args: {} }, thoughtSignature: sealed };
    const contents = [
      { role: 'user', parts: [{ text: 'hi' }] },
      {
        role: 'model',
        parts: [{ text: 'so', thoughtSignature: sealed }, call, { text: 'b', thoughtSignature: 'AAAA' }],
      },
    ];
    const { text } = send(JSON.stringify({ contents }));
    assert.deepEqual((JSON.parse(text) as { contents: unknown[] }).contents[1], {
      role: 'model',
      parts: [
        { text: 'so' },
        { functionCall: { name: 'f', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
        { text: 'b', thoughtSignature: 'AAAA' },
      ],
    });
  });
  it('has no empty texts, which clients keep of streams and Vertex refuses', () => {
    const user = { role: 'user', parts: [{ text: 'hi' }] };
    const contentsOf = (...contents: readonly object[]): unknown =>
      (JSON.parse(send(JSON.stringify({ contents })).text) as { contents: unknown }).contents;
    const signed = { text: '', thoughtSignature: 'AAAA' };
    assert.deepEqual(
      contentsOf(user, { role: 'model', parts: [{ text: '' }, { text: 'a' }, signed, { text: '' }] }, user),
      [user, { role: 'model', parts: [{ text: 'a' }, signed] }, user],
    );
    assert.deepEqual(contentsOf(user, { role: 'model', parts: [{ text: '' }] }, user), [user, user]);
    assert.deepEqual(contentsOf({ role: 'user', parts: [{ text: '' }] }), [{ role: 'user', parts: [{ text: '' }] }]);
  });
});

const event = (data: object): Buffer => Buffer.from(`data: ${JSON.stringify(data)}\r\n\r\n`);
const TEXT = event({ candidates: [{ content: { parts: [{ text: 'a' }] }, safetyRatings: [{ a: 1 }] }] });
const USAGE = { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 };
const END = event({ candidates: [{ finishReason: 'STOP', avgLogprobs: -0.1 }], usageMetadata: USAGE, novel: 1 });

describe('a stream', () => {
  const run = (...pieces: readonly Buffer[]): ReturnType<typeof replay> =>
    replay(CONVERTER.stream(STREAM_REQUEST), pieces);

  it('keeps its chunks, the last of which waits for the settlement', () => {
    const { sent, last, outcome, meter } = run(TEXT, TEXT, END);
    assert.deepEqual([outcome, sent, last], ['Complete', String(Buffer.concat([TEXT, TEXT])), String(END)]);
    assert.deepEqual([meter.final, meter.reported.input, meter.reported.output], [true, 3, 1]);
  });
  it('has whole data events and nothing else', () => {
    const { sent, last } = run(Buffer.from(': ping\n\n'), TEXT, Buffer.from('\n'), END);
    assert.equal(sent + last, String(Buffer.concat([TEXT, END])));
  });
  it("ends with an error of Google's dialect, and is cut off without an end", () => {
    const error = event({ error: { code: 503, status: 'UNAVAILABLE', message: 'busy' } });
    const failed = run(TEXT, error);
    assert.equal(failed.outcome, 'Failed');
    assert.match(failed.last, /^data: \{"error":\{"code":503/);
    assert.equal(run(TEXT).outcome, 'Cut');
  });
  it('is the same in chunks of any size', () => {
    assertCutAlike(() => CONVERTER.stream(STREAM_REQUEST), Buffer.concat([TEXT, TEXT, END]), [1, 9, 40, 99]);
  });
});

describe('a whole response', () => {
  it('keeps every byte', () => {
    const body = Buffer.from(
      JSON.stringify({
        candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }],
        usageMetadata: USAGE,
      }),
    );
    assert.deepEqual(CONVERTER.response(body).body, body);
    assert.equal(CONVERTER.response(body).meter.reported.output, 1);
  });
  it('that reports an error keeps its words', () => {
    const body = Buffer.from(JSON.stringify({ error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'slow' } }));
    assert.throws(
      () => CONVERTER.response(body),
      (error) => error instanceof FailedResponse && /slow/.test(error.message),
    );
  });
});

describe('a token count', () => {
  it('names the model of the channel in what it counts', () => {
    const counter = providerOf('Gemini').tokenCounters?.Gemini;
    const body = '{"generateContentRequest":{"model":"models/x","contents":[],"novel":12345678901234567890}}';
    const sent = counter?.request(Buffer.from(body), JSON.parse(body) as Record<string, unknown>, PLAN);
    assert.deepEqual(
      [sent?.path, Buffer.from(sent?.body ?? '').toString()],
      [
        '/v1beta/models/gemini-2.5-pro:countTokens',
        '{"generateContentRequest":{"model":"models/gemini-2.5-pro","contents":[],"novel":12345678901234567890}}',
      ],
    );
  });
});
