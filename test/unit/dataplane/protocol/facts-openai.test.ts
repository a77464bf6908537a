/** The facts of a chat completion request. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ChatFacts } from '../../../../dataplane/protocol/call-facts.ts';
import { readChatFacts } from '../../../../dataplane/protocol/openai/facts.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import { refusalOf } from './refusal.ts';

const HI = [{ role: 'user', content: 'hi' }];

function facts(fields: object): ChatFacts {
  const body = Buffer.from(JSON.stringify({ model: 'm', messages: HI, ...fields }));
  return readChatFacts(body, parseBody(body));
}

function faultParam(fields: object): string | undefined {
  const { code, param } = refusalOf(() => facts(fields));
  assert.equal(code, 'invalid_request');
  return param;
}

const withParts = (...content: unknown[]): ChatFacts => facts({ messages: [{ role: 'user', content }] });
const unbounded = (fields: object): string[] =>
  facts(fields).unbounded.map(({ feature, param }) => `${feature} ${param}`);

test('a plain request', () => {
  const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}');
  assert.deepEqual(readChatFacts(body, parseBody(body)), {
    model: 'm',
    stream: false,
    wantsStreamUsage: false,
    maxOutputTokens: undefined,
    answers: 1,
    textBytes: body.length,
    units: 1,
    images: 0,
    imageParam: undefined,
    files: 0,
    predictionTokens: 0,
    thinkingBudget: undefined,
    fixedOutput: false,
    oneHourCache: false,
    serviceTier: undefined,
    unbounded: [],
  });
});

test('missing and wrong fields are named', () => {
  for (const [fields, param] of [
    [{ model: undefined }, 'model'],
    [{ model: 5 }, 'model'],
    [{ model: '' }, 'model'],
    [{ messages: undefined }, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: 'hi' }, 'messages'],
    [{ messages: [...HI, 'hi'] }, 'messages[1]'],
    [{ messages: [null] }, 'messages[0]'],
    [{ stream: 'true' }, 'stream'],
    [{ stream: 1 }, 'stream'],
    [{ stream: true, stream_options: [] }, 'stream_options'],
    [{ stream: true, stream_options: { include_usage: 1 } }, 'stream_options.include_usage'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ max_tokens: '100' }, 'max_tokens'],
    [{ max_tokens: 1e300 }, 'max_tokens'],
    [{ max_completion_tokens: 2 ** 53 }, 'max_completion_tokens'],
    [{ max_tokens: 5, max_completion_tokens: 6 }, 'max_tokens'],
    [{ n: 0 }, 'n'],
    [{ n: 129 }, 'n'],
    [{ n: 1.5 }, 'n'],
    [{ n: '2' }, 'n'],
    [{ best_of: 1000 }, 'best_of'],
    [{ tools: {} }, 'tools'],
    [{ tools: ['x'] }, 'tools[0]'],
    [{ functions: [1] }, 'functions[0]'],
  ] as const)
    assert.equal(faultParam(fields), param, JSON.stringify(fields));
});

test('null is absent', () => {
  const { stream, maxOutputTokens, answers, unbounded } = facts({
    stream: null,
    max_tokens: null,
    max_completion_tokens: null,
    n: null,
    tools: null,
    audio: null,
    service_tier: null,
    stream_options: null,
  });
  assert.deepEqual(
    {
      stream,
      maxOutputTokens,
      answers,
      unbounded,
    },
    { stream: false, maxOutputTokens: undefined, answers: 1, unbounded: [] },
  );
});

test('either output limit applies, and both if they are equal', () => {
  assert.equal(facts({ max_tokens: 5 }).maxOutputTokens, 5);
  assert.equal(facts({ max_completion_tokens: 6 }).maxOutputTokens, 6);
  assert.equal(facts({ max_tokens: 7, max_completion_tokens: 7 }).maxOutputTokens, 7);
  assert.equal(facts({ max_tokens: Number.MAX_SAFE_INTEGER }).maxOutputTokens, Number.MAX_SAFE_INTEGER);
});

test('the number of answers counts, whichever field asks for them', () => {
  assert.equal(facts({ n: 128 }).answers, 128);
  assert.equal(facts({ n: 2, best_of: 5 }).answers, 5);
});

test('usage is requested in streams only', () => {
  const stream_options = { include_usage: true };
  assert.equal(facts({ stream: true, stream_options }).wantsStreamUsage, true);
  assert.equal(facts({ stream_options }).wantsStreamUsage, false);
  assert.equal(facts({ stream: true, stream_options: { include_usage: false } }).wantsStreamUsage, false);
});

test('images are counted wherever a part can be, and their data does not count as text', () => {
  const data = 'iVBORw0KGgo'.repeat(100);
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } };
  const linked = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const body = Buffer.from(
    JSON.stringify({
      model: 'm',
      messages: [
        ...HI,
        {
          role: 'user',
          content: [{ type: 'text', text: 'x' }, image],
        },
        { role: 'tool', tool_call_id: 'c', content: [linked] },
      ],
    }),
  );
  const { images, imageParam, textBytes, units } = readChatFacts(body, parseBody(body));
  assert.deepEqual(
    {
      images,
      imageParam,
      textBytes,
      units,
    },
    { images: 2, imageParam: 'messages[1].content[1]', textBytes: body.length - data.length, units: 6 },
  );
});

test("an image is recognised by its type or its key, in other providers' spellings too", () => {
  for (const part of [
    { type: 'input_image', image_url: 'https://x' },
    {
      type: 'image',
      image: 'x',
    },
    { image_url: { url: 'x' } },
    { type: 'text', text: 'x', image_url: { url: 'x' } },
    { type: 'image_url' },
  ])
    assert.equal(withParts(part).images, 1, JSON.stringify(part));
  assert.equal(
    facts({ messages: [{ role: 'user', content: { type: 'image_url', image_url: { url: 'x' } } }] }).images,
    1,
  );
});

test('only image data in base64 is left out of the text', () => {
  for (const url of [
    'data:text/plain;base64,AAAA',
    'data:image/png,AAAA',
    'https://example.com/?data:image/png;base64,AAAA',
  ]) {
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];
    assert.equal(facts({ messages }).textBytes, Buffer.byteLength(JSON.stringify({ model: 'm', messages })), url);
  }
});

test('data in a part that is not an image counts as text', () => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'data:image/png;base64,AAAAAAAA' }] }];
  assert.equal(facts({ messages }).textBytes, Buffer.byteLength(JSON.stringify({ model: 'm', messages })));
});

test('files count as the whole context; references must be allowed', () => {
  const inline = withParts({
    type: 'file',
    file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
  });
  assert.deepEqual([inline.files, inline.unbounded], [1, []]);
  const byId = withParts({ type: 'file', file: { file_id: 'file-1' } });
  assert.deepEqual(
    [byId.files, byId.unbounded],
    [1, [{ feature: 'FileReferences', param: 'messages[0].content[0].file' }]],
  );
  assert.equal(withParts({ type: 'file', file: { file_data: 'data:image/png;base64,AAAA' } }).images, 1);
  assert.equal(withParts({ type: 'video_url', video_url: { url: 'https://x' } }).files, 1);
});

test('audio, in and out', () => {
  assert.deepEqual(withParts({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }).unbounded, [
    {
      feature: 'Audio',
      param: 'messages[0].content[0]',
      needs: { tokens: 'audioInput' },
    },
  ]);
  assert.deepEqual(unbounded({ modalities: ['text', 'audio'], audio: { voice: 'ash', format: 'mp3' } }), [
    'Audio audio',
  ]);
  assert.deepEqual(unbounded({ modalities: ['text', 'audio'] }), ['Audio modalities']);
  assert.deepEqual(unbounded({ modalities: ['text'] }), []);
  assert.deepEqual(unbounded({ messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }), [
    'Audio messages[0].audio',
  ]);
});

test('a text with other media beside it is of an unknown kind', () => {
  for (const part of [
    { text: 'x', video_url: { url: 'http://x/y.mp4' } },
    { type: 'text', text: 'x', video_url: 'http://x/y.mp4' },
    { type: 'text', text: 'x', video: [1] },
    { type: 'input_text', text: 'x', prompt_embeds: 'AAAA' },
  ])
    assert.equal(withParts(part).files, 1, JSON.stringify(part));
  for (const part of [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' }, annotations: [], video: null }])
    assert.equal(withParts(part).files, 0, JSON.stringify(part));
  assert.equal(facts({ messages: [{ role: 'user', content: 'x', videos: ['http://x'] }] }).files, 1);
  assert.equal(facts({ messages: [{ role: 'assistant', content: 'x', reasoning_content: 'y' }] }).files, 0);
  assert.equal(facts({ messages: [{ role: 'user', content: 'x', frames: [{ image_url: 'http://x' }] }] }).images, 1);
});

test('an image or a recording with other media beside it may fill the context', () => {
  const image_url = { url: 'https://x/y.png' };
  const input_audio = { data: 'AAAA', format: 'wav' };
  for (const part of [
    { type: 'text', text: 'x', image: 'data:image/png;base64,AAAA', video: ['https://x/y.mp4'] },
    { type: 'image_url', image_url, video_url: { url: 'https://x/y.mp4' } },
    { type: 'image_url', image_url, image: 'https://x/z.png' },
    { type: 'image_url', image_url: { ...image_url, frames: [1] } },
    { type: 'image_url', image_url: ['https://x/y.png', 'https://x/z.png'] },
    { type: 'input_audio', input_audio, prompt_embeds: 'AAAA' },
  ])
    assert.equal(withParts(part).files, 1, JSON.stringify(part));
  for (const part of [
    { type: 'image_url', image_url: { ...image_url, detail: 'high' }, cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'x', image_url, video: null },
    { type: 'input_audio', input_audio },
  ])
    assert.equal(withParts(part).files, 0, JSON.stringify(part));
  const both = withParts({ type: 'file', file: { file_data: 'AAAA' }, image_url });
  assert.deepEqual([both.images, both.files], [1, 1]);
});

test('tools that the client runs fix the output limit and nothing else', () => {
  const {
    unbounded: uses,
    fixedOutput,
    units,
  } = facts({
    tools: [
      { type: 'function', function: { name: 'f' } },
      { type: 'custom', custom: { name: 'g' } },
    ],
  });
  assert.deepEqual({ uses, fixedOutput }, { uses: [], fixedOutput: true });
  assert.ok(units > 3);
  assert.equal(facts({ functions: [{ name: 'f' }] }).fixedOutput, true);
  assert.equal(facts({ tools: [] }).fixedOutput, false);
  assert.equal(facts({ response_format: { type: 'json_schema', json_schema: {} } }).fixedOutput, true);
  assert.equal(facts({ response_format: { type: 'json_object' } }).fixedOutput, true);
  assert.equal(facts({ response_format: { type: 'text' } }).fixedOutput, false);
});

test('features that the provider runs or prices separately are named', () => {
  assert.deepEqual(
    unbounded({ tools: [{ type: 'function', function: {} }, { type: 'web_search' }, { type: 'mcp' }] }),
    ['ServerTools tools[1].type'],
  );
  assert.deepEqual(unbounded({ tools: [{ type: '$web_search' }] }), ['ServerTools tools[0].type']);
  for (const tool of [
    { googleSearch: {} },
    { urlContext: {} },
    { type: null, codeExecution: {} },
    { type: 'function', googleSearch: {} },
    { type: 'function', function: { name: 'x' }, googleSearch: {} },
    { function: { name: 'x' }, googleMaps: { enabled: true } },
    {},
  ])
    assert.deepEqual(unbounded({ tools: [tool] }), ['ServerTools tools[0].type'], JSON.stringify(tool));
  for (const tool of [{ function: { name: 'x' } }, { type: 'custom', custom: { name: 'x' }, cache_control: null }])
    assert.deepEqual(unbounded({ tools: [tool] }), []);
  assert.deepEqual(unbounded({ tool_choice: { googleSearch: {} } }), ['ServerTools tool_choice']);
  assert.deepEqual(unbounded({ functions: [{ name: 'x', googleSearch: {} }] }), ['ServerTools functions[0]']);
  for (const field of ['web_search_options', 'search_parameters', 'plugins', 'data_sources', 'mcp_servers'])
    assert.deepEqual(unbounded({ [field]: [{}] }), [`ServerTools ${field}`]);
  assert.deepEqual(unbounded({ web_search_options: {} }), ['ServerTools web_search_options']);
  assert.deepEqual(unbounded({ enable_search: false, plugins: [] }), []);
  for (const tier of ['flex', 'priority', 'fast', 'scale', 5])
    assert.deepEqual(unbounded({ service_tier: tier }), ['ServiceTiers service_tier']);
  for (const tier of ['auto', 'default']) assert.deepEqual(unbounded({ service_tier: tier }), []);
  assert.deepEqual(unbounded({ models: ['dearer'] }), ['ServiceTiers models']);
  assert.deepEqual(unbounded({ store: true, metadata: { a: 'b' }, seed: 1, user: 'u', prompt_cache_key: 'k' }), []);
});

test('a prediction is bounded by its bytes, or by the body in an unknown format', () => {
  assert.equal(facts({ prediction: { type: 'content', content: 'söme' } }).predictionTokens, 5);
  assert.equal(
    facts({
      prediction: {
        type: 'content',
        content: [
          { type: 'text', text: 'ab' },
          { type: 'text', text: 'c' },
        ],
      },
    }).predictionTokens,
    3,
  );
  const odd = facts({ prediction: { type: 'content', content: { text: 'abc' } } });
  assert.equal(odd.predictionTokens, odd.textBytes);
});

test('a thinking budget of compatible providers', () => {
  assert.equal(facts({ thinking: { type: 'enabled', budget_tokens: 2048 } }).thinkingBudget, 2048);
  assert.equal(facts({ reasoning: { max_tokens: 512 } }).thinkingBudget, 512);
  assert.equal(facts({ reasoning_effort: 'high', thinking: { budget_tokens: 'x' } }).thinkingBudget, undefined);
});

test('one-hour cache writes of providers that support cache_control', () => {
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
  ];
  assert.equal(facts({ messages }).oneHourCache, true);
});
