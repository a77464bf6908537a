/** The facts of a messages request. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readChatFacts } from '../../../../dataplane/protocol/anthropic/facts.ts';
import type { ChatFacts } from '../../../../dataplane/protocol/call-facts.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import { refusalOf } from './refusal.ts';

const HI = [{ role: 'user', content: 'hi' }];

function facts(fields: object): ChatFacts {
  const body = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 100, messages: HI, ...fields }));
  return readChatFacts(body, parseBody(body));
}

const faultParam = (fields: object): string | undefined => refusalOf(() => facts(fields)).param;
const withBlocks = (...content: unknown[]): ChatFacts => facts({ messages: [{ role: 'user', content }] });
const unbounded = (fields: object): string[] =>
  facts(fields).unbounded.map(({ feature, param }) => `${feature} ${param}`);
const DATA = 'iVBORw0KGgo'.repeat(50);
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } };

test('a plain request', () => {
  const body = Buffer.from('{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}');
  assert.deepEqual(readChatFacts(body, parseBody(body)), {
    model: 'm',
    stream: true,
    wantsStreamUsage: false,
    maxOutputTokens: 9,
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
    region: undefined,
    unbounded: [],
  });
});

test('missing and wrong fields are named; max_tokens may be missing', () => {
  assert.equal(facts({ max_tokens: undefined }).maxOutputTokens, undefined);
  assert.equal(facts({ max_tokens: 0 }).maxOutputTokens, 0);
  for (const [fields, param] of [
    [{ model: null }, 'model'],
    [{ messages: [] }, 'messages'],
    [{ messages: [1] }, 'messages[0]'],
    [{ stream: 'yes' }, 'stream'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ max_tokens: 1e17 }, 'max_tokens'],
    [{ tools: 'x' }, 'tools'],
    [{ tools: [null] }, 'tools[0]'],
    [{ thinking: { type: 'enabled', budget_tokens: -5 } }, 'thinking.budget_tokens'],
  ] as const)
    assert.equal(faultParam(fields), param, JSON.stringify(fields));
});

test('images are counted at any place', () => {
  for (const [blocks, param] of [
    [[IMAGE], 'messages[0].content[0]'],
    [
      [
        {
          type: 'tool_result',
          tool_use_id: 't',
          content: [{ type: 'text', text: 'x' }, IMAGE],
        },
      ],
      'messages[0].content[0].content[1]',
    ],
    [[{ type: 'document', source: { type: 'content', content: [IMAGE] } }], 'messages[0].content[0].source.content[0]'],
    [
      [
        {
          type: 'tool_result',
          tool_use_id: 't',
          content: [
            {
              type: 'document',
              source: { type: 'content', content: [IMAGE] },
            },
          ],
        },
      ],
      'messages[0].content[0].content[0].source.content[0]',
    ],
    [
      [
        {
          type: 'some_new_result',
          content: { type: 'wrapped_result', content: IMAGE },
        },
      ],
      'messages[0].content[0].content.content',
    ],
  ] as const) {
    const { images, imageParam } = withBlocks(...blocks);
    assert.deepEqual([images, imageParam], [1, param]);
  }
  const { images, imageParam } = facts({
    system: [{ type: 'text', text: 'x' }, IMAGE],
    messages: [{ role: 'user', content: [IMAGE] }],
  });
  assert.deepEqual([images, imageParam], [2, 'system[1]']);
});

test('image data does not count as text, other data does', () => {
  const bytes = (content: unknown[]): number =>
    Buffer.byteLength(JSON.stringify({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content }] }));
  assert.equal(withBlocks(IMAGE).textBytes, bytes([IMAGE]) - DATA.length);
  const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: DATA } };
  assert.equal(withBlocks(pdf).textBytes, bytes([pdf]));
  const posing = { type: 'image', source: { type: 'base64', media_type: 'text/plain', data: DATA } };
  assert.equal(withBlocks(posing).textBytes, bytes([posing]));
});

test('documents: text counts as text, a PDF as the whole context, and a reference must be allowed', () => {
  const document = (source: object): ChatFacts => withBlocks({ type: 'document', source });
  assert.deepEqual(
    [
      document({
        type: 'text',
        media_type: 'text/plain',
        data: 'x',
      }).files,
      document({ type: 'content', content: 'x' }).files,
    ],
    [0, 0],
  );
  const pdf = document({ type: 'base64', media_type: 'application/pdf', data: 'AAAA' });
  assert.deepEqual([pdf.files, pdf.unbounded], [1, []]);
  for (const source of [
    { type: 'url', url: 'https://x/a.pdf' },
    { type: 'file', file_id: 'file_1' },
    { type: 'novel' },
    {},
  ]) {
    const { files, unbounded } = document(source);
    assert.deepEqual([files, unbounded], [1, [{ feature: 'FileReferences', param: 'messages[0].content[0].source' }]]);
  }
  const image = withBlocks({ type: 'image', source: { type: 'file', file_id: 'file_1' } });
  assert.deepEqual([image.images, image.unbounded.length], [1, 1]);
  assert.deepEqual(withBlocks({ type: 'image', source: { type: 'url', url: 'https://x/a.png' } }).unbounded, []);
  assert.equal(withBlocks({ type: 'container_upload', file_id: 'f' }).unbounded[0]?.feature, 'FileReferences');
  assert.equal(withBlocks({ type: 'hologram' }).files, 1);
});

test('tools of the client, and of the provider', () => {
  const tools = (...types: unknown[]): string[] => unbounded({ tools: types.map((type) => ({ type, name: 'x' })) });
  assert.deepEqual(
    tools(
      undefined,
      null,
      'custom',
      'bash_20250124',
      'text_editor_20250728',
      'computer_20251124',
      'memory_20250818',
      'browser_toolset_20260801',
      'computer_toolset_20260801',
    ),
    [],
  );
  for (const type of [
    'web_search_20250305',
    'web_fetch_20260309',
    'code_execution_20260521',
    'advisor_20260301',
    'mcp_toolset',
    'tool_search_tool_bm25',
    'bash_code_execution_20250825',
    'computer',
    7,
  ])
    assert.deepEqual(tools('custom', type), ['ServerTools tools[1].type'], String(type));
  assert.equal(facts({ tools: [{ name: 'f', input_schema: {} }] }).fixedOutput, true);
  assert.ok(
    facts({
      tools: [
        {
          type: 'computer_20251124',
          name: 'computer',
        },
      ],
    }).units > facts({ tools: [{ name: 'f' }] }).units,
  );
});

test('a tool or a choice with unknown members is one that the provider may run', () => {
  for (const tool of [
    { name: 'x', input_schema: {}, googleSearch: {} },
    { googleSearch: {} },
    { type: 'bash_20250124', urlContext: {} },
  ])
    assert.deepEqual(unbounded({ tools: [tool] }), ['ServerTools tools[0].type'], JSON.stringify(tool));
  assert.deepEqual(unbounded({ tools: [{ type: null, name: 'x', input_schema: {}, cache_control: null }] }), []);
  assert.deepEqual(unbounded({ tool_choice: { type: 'auto', codeExecution: {} } }), ['ServerTools tool_choice']);
  assert.deepEqual(unbounded({ tool_choice: { type: 'tool', name: 'x', disable_parallel_tool_use: true } }), []);
});

test('a text with other media beside it is of an unknown kind', () => {
  assert.equal(withBlocks({ type: 'text', text: 'x', video_url: 'http://x' }).files, 1);
  assert.equal(withBlocks({ type: 'text', text: 'x', cache_control: null, citations: [] }).files, 0);
  assert.equal(withBlocks({ type: 'tool_result', tool_use_id: 't', content: [], video: [1] }).files, 1);
  assert.equal(facts({ messages: [{ role: 'user', content: 'x', videos: [1] }] }).files, 1);
});

test('an image or a document with other media beside it may fill the context', () => {
  const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
  const filesOf = (block: object): number => facts({ messages: [{ role: 'user', content: [block] }] }).files;
  assert.equal(filesOf({ type: 'image', source, video_url: 'https://x/y.mp4' }), 1);
  assert.equal(filesOf({ type: 'image', source: { ...source, url: 'https://x/y.png' } }), 1);
  assert.equal(filesOf({ type: 'image', source: { ...source, frames: [1] } }), 1);
  assert.equal(filesOf({ type: 'document', source: { type: 'text', data: 'x' }, video: [1] }), 1);
  assert.equal(filesOf({ type: 'image', source, cache_control: { type: 'ephemeral' }, video: null }), 0);
  assert.equal(
    filesOf({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' }, title: 'x' }),
    0,
  );
});

test('a tool that is added within the conversation', () => {
  const added = (tool: object): string[] =>
    withBlocks({ type: 'tool_addition', tool }).unbounded.map(({ feature, param }) => `${feature} ${param}`);
  assert.deepEqual(added({ type: 'tool_reference', name: 'x' }), []);
  assert.deepEqual(added({ type: 'tool_definition', definition: { name: 'x', input_schema: {} } }), []);
  assert.deepEqual(
    added({
      type: 'tool_definition',
      definition: { type: 'web_search_20250305' },
    }),
    ['ServerTools messages[0].content[0].tool.type'],
  );
  assert.deepEqual(added({ type: 'mcp_toolset_reference', server_name: 's' }), [
    'ServerTools messages[0].content[0].tool.type',
  ]);
});

test('features that the provider runs or prices separately are named', () => {
  for (const [fields, use] of [
    [{ mcp_servers: [{ type: 'url' }] }, 'ServerTools mcp_servers'],
    [{ container: 'c_1' }, 'ServerTools container'],
    [{ compaction: { type: 'summarize' } }, 'ServerTools compaction'],
    [
      { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112' }] } },
      'ServerTools context_management.edits[1].type',
    ],
    [{ service_tier: 'priority' }, 'ServiceTiers service_tier'],
    [{ speed: 'fast' }, 'ServiceTiers speed'],
    [{ inference_geo: 'us' }, 'ServiceTiers inference_geo'],
    [{ fallbacks: 'default' }, 'ServiceTiers fallbacks'],
    [{ thread: { type: 'continue', previous_message_id: 'msg_1' } }, 'FileReferences thread'],
  ] as const)
    assert.deepEqual(unbounded(fields), [use]);
  assert.deepEqual(
    unbounded({
      mcp_servers: [],
      container: null,
      service_tier: 'auto',
      speed: 'standard',
      inference_geo: null,
      context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
    }),
    [],
  );
  assert.equal(facts({ thread: { type: 'continue' } }).files, 1);
});

test('thinking and schemas', () => {
  assert.equal(facts({ thinking: { type: 'enabled', budget_tokens: 1024 } }).thinkingBudget, 1024);
  assert.equal(facts({ thinking: { type: 'adaptive', budget_tokens: 1024 } }).thinkingBudget, undefined);
  assert.equal(facts({ output_config: { format: { type: 'json_schema', schema: {} } } }).fixedOutput, true);
  assert.equal(facts({ output_format: { type: 'json_schema', schema: {} } }).fixedOutput, true);
  assert.equal(facts({ output_config: { effort: 'high' } }).fixedOutput, false);
});

test('one-hour cache writes, at any place', () => {
  const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  for (const fields of [
    hour,
    { system: [{ type: 'text', text: 'x', ...hour }] },
    { tools: [{ name: 'f', ...hour }] },
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'tool_result', content: [{ type: 'text', text: 'x', ...hour }] }],
        },
      ],
    },
  ])
    assert.equal(facts(fields).oneHourCache, true);
  assert.equal(facts({ cache_control: { type: 'ephemeral' } }).oneHourCache, false);
  assert.equal(facts({ cache_control: { type: 'ephemeral', ttl: '5m' } }).oneHourCache, false);
  assert.equal(
    facts({ tools: [{ name: 'f', input_schema: { properties: { ttl: { ttl: '1h' } } } }] }).oneHourCache,
    false,
  );
  assert.equal(facts({ messages: [{ role: 'user', content: '"cache_control":{"ttl":"1h"}' }] }).oneHourCache, false);
  const escaped = Buffer.from(
    '{"model":"m","messages":[{"role":"user","content":"x"}],"cache\\u005fcontrol":{"\\u0074tl":"1\\u0068"}}',
  );
  assert.equal(readChatFacts(escaped, parseBody(escaped)).oneHourCache, true);
});
