/** Images that the assistant has made before: every provider gets them, where it takes images. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { readResponseFacts } from '../../../../dataplane/protocol/openai/response-facts.ts';
import { isRecord } from '../../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../../dataplane/protocol/fields.ts';
import { PAIRS, send } from './pairs.ts';
import type { Pair, ProviderName } from './pairs.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUg==';
const DATA_URL = `data:image/png;base64,${PNG}`;
const HEADING = 'The assistant has made this:';
const MADE = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PNG };
const CALL = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' };
const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'done' };
const user = (content: string): JsonRecord => ({ role: 'user', content });

/** A text, an image and a call in one turn, in each dialect that has images of the assistant. */
const REQUESTS: Readonly<Partial<Record<Pair['client'], JsonRecord>>> = {
  Responses: {
    input: [user('draw'), { role: 'assistant', content: 'Here.' }, MADE, CALL, OUTPUT, user('bigger')],
  },
  OpenAI: {
    messages: [
      user('draw'),
      {
        role: 'assistant',
        content: 'Here.',
        images: [{ type: 'image_url', image_url: { url: DATA_URL } }],
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
      user('bigger'),
    ],
  },
  Gemini: {
    contents: [
      { role: 'user', parts: [{ text: 'draw' }] },
      {
        role: 'model',
        parts: [
          { text: 'Here.' },
          { inlineData: { mimeType: 'image/png', data: PNG } },
          { functionCall: { id: 'call_1', name: 'f', args: {} } },
        ],
      },
      { role: 'user', parts: [{ functionResponse: { id: 'call_1', name: 'f', response: { output: 'done' } } }] },
      { role: 'user', parts: [{ text: 'bigger' }] },
    ],
  },
};

/** Results of the call come first, and then the image. */
const SENT: Readonly<Record<ProviderName, JsonRecord>> = {
  'chat completions': {
    messages: [
      user('draw'),
      {
        role: 'assistant',
        content: 'Here.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
      {
        role: 'user',
        content: [
          { type: 'text', text: HEADING },
          { type: 'image_url', image_url: { url: DATA_URL } },
        ],
      },
      user('bigger'),
    ],
  },
  Responses: {
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'draw' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Here.' }], phase: 'commentary' },
      CALL,
      OUTPUT,
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: HEADING },
          { type: 'input_image', image_url: DATA_URL, detail: 'auto' },
        ],
      },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'bigger' }] },
    ],
  },
  Anthropic: {
    messages: [
      user('draw'),
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Here.' },
          { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'done' },
          { type: 'text', text: HEADING },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'text', text: 'bigger' },
        ],
      },
    ],
  },
  Gemini: {
    contents: [
      { role: 'user', parts: [{ text: 'draw' }] },
      {
        role: 'model',
        parts: [
          { text: 'Here.' },
          { inlineData: { mimeType: 'image/png', data: PNG } },
          { functionCall: { id: 'call_1', name: 'f', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'call_1', name: 'f', response: { output: 'done' } } }, { text: 'bigger' }],
      },
    ],
  },
  Converse: {
    messages: [
      { role: 'user', content: [{ text: 'draw' }] },
      {
        role: 'assistant',
        content: [{ text: 'Here.' }, { toolUse: { toolUseId: 'call_1', name: 'f', input: {} } }],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'call_1', content: [{ text: 'done' }] } },
          { text: HEADING },
          { image: { format: 'png', source: { bytes: PNG } } },
          { text: 'bigger' },
        ],
      },
    ],
  },
};

/** Members of what is sent that are not about images. */
const ELSEWHERE = new Set(['thoughtSignature', 'cache_control', 'reasoning_content']);

/** A list of parts that is only one text is that text, as some providers take either. */
function turnsOf(body: JsonRecord, name: string): unknown {
  const plain = (key: string, value: unknown): unknown => {
    if (ELSEWHERE.has(key)) return undefined;
    if (!Array.isArray(value)) return value;
    const kept = value.filter((item) => !(isRecord(item) && isRecord(item['cachePoint'])));
    const [only] = kept as readonly JsonRecord[];
    return key === 'content' && kept.length === 1 && only?.['type'] === 'text' ? only['text'] : kept;
  };
  return JSON.parse(JSON.stringify(body[name], plain));
}

function pairOf(client: Pair['client'], provider: ProviderName): Pair {
  const pair = PAIRS.find((each) => each.client === client && each.provider === provider);
  assert.ok(pair);
  return pair;
}

describe('an image that the assistant has made', () => {
  for (const pair of PAIRS) {
    const request = REQUESTS[pair.client];
    if (!request) continue;
    it(`reaches ${pair.provider} from a client of ${pair.client}`, () => {
      const { body, dropped } = send(pair, request);
      const [[name, expected] = ['', undefined]] = Object.entries(SENT[pair.provider]);
      assert.deepEqual(turnsOf(body, name), expected);
      assert.deepEqual(dropped, []);
    });
  }

  it('that is all of its turn leaves no empty turn, nor the reasoning before it', () => {
    const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a circle' }] };
    const { body } = send(
      pairOf('Responses', 'chat completions'),
      {
        input: [user('draw'), reasoning, MADE, user('bigger')],
      },
      'deepseek-v4',
    );
    assert.deepEqual(
      (body['messages'] as JsonRecord[]).map(({ role }) => role),
      ['user', 'user', 'user'],
    );
  });

  it('has the media type that its data show, or else that of its format', () => {
    const typeOf = (item: JsonRecord): unknown => {
      const { text } = send(pairOf('Responses', 'Anthropic'), { input: [user('draw'), { ...MADE, ...item }] });
      return /"media_type":"([^"]+)"/.exec(text)?.[1];
    };
    assert.equal(typeOf({ result: '/9j/4AAQ', output_format: 'png' }), 'image/jpeg');
    assert.equal(typeOf({ result: 'UklGRgAA' }), 'image/webp');
    assert.equal(typeOf({ result: 'AAAA', output_format: 'webp' }), 'image/webp');
    assert.equal(typeOf({ result: 'AAAA', output_format: 'jpg' }), 'image/jpeg');
    assert.equal(typeOf({ result: 'AAAA' }), 'image/png');
  });

  it('is left out and named where only its id is given', () => {
    for (const result of [undefined, null, ''])
      for (const pair of PAIRS.filter(({ client }) => client === 'Responses'))
        assert.deepEqual(
          send(pair, { input: [user('draw'), { ...MADE, result }, user('bigger')] }).dropped,
          ['input[1] (image_generation_call)'],
          pair.provider,
        );
  });

  it('counts as one image, and its data not as text', () => {
    const item = { ...MADE, result: 'A'.repeat(50_000) };
    const request = { model: 'm', input: [user('draw'), item] };
    const { images, files, textBytes, imageParam } = readResponseFacts(Buffer.from(JSON.stringify(request)), request);
    assert.deepEqual([images, files, imageParam], [1, 0, 'input[1]']);
    assert.ok(textBytes < 300);
  });
});
