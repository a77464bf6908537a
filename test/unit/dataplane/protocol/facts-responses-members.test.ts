/** What a Responses request may hold beside its texts and tools. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ChatFacts } from '../../../../dataplane/protocol/call-facts.ts';
import { readResponseFacts } from '../../../../dataplane/protocol/openai/response-facts.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import { refusalOf } from './refusal.ts';

function facts(fields: object): ChatFacts {
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'hi', ...fields }));
  return readResponseFacts(body, parseBody(body));
}

const unbounded = (fields: object): string[] =>
  facts(fields).unbounded.map(({ feature, param }) => `${feature} ${param}`);
const filesOf = (...content: unknown[]): number => facts({ input: [{ role: 'user', content }] }).files;

test('a tool or a choice with unknown members is one that the provider may run', () => {
  for (const tool of [{ googleSearch: {} }, { type: 'function', name: 'x', parameters: {}, urlContext: {} }])
    assert.deepEqual(unbounded({ tools: [tool] }), ['ServerTools tools[0].type'], JSON.stringify(tool));
  assert.deepEqual(unbounded({ tools: [{ type: 'function', name: 'x', parameters: {}, strict: null }] }), []);
  assert.deepEqual(unbounded({ tool_choice: { type: 'function', name: 'x', googleSearch: {} } }), [
    'ServerTools tool_choice',
  ]);
  assert.deepEqual(unbounded({ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }), []);
});

test('a text with other media beside it is of an unknown kind', () => {
  assert.equal(filesOf({ type: 'input_text', text: 'x', video_url: 'http://x' }), 1);
  assert.equal(filesOf({ text: 'x', video_url: { url: 'http://x' } }), 1);
  assert.equal(filesOf({ type: 'output_text', text: 'x', annotations: [], logprobs: [] }), 0);
  assert.equal(facts({ input: [{ role: 'user', content: 'x', videos: ['http://x'] }] }).files, 1);
  assert.equal(facts({ input: [{ type: 'message', role: 'user', content: 'x', status: 'completed' }] }).files, 0);
});

test('an image with other media beside it may fill the context', () => {
  const image_url = 'https://x/y.png';
  assert.equal(filesOf({ type: 'input_image', image_url, video_url: 'https://x/y.mp4' }), 1);
  assert.equal(filesOf({ type: 'input_image', image_url, url: 'https://x/z.png' }), 1);
  assert.equal(filesOf({ type: 'input_text', text: 'x', image: 'https://x/y.png', video: 'https://x/y.mp4' }), 1);
  assert.equal(filesOf({ type: 'input_image', image_url, detail: 'high', video_url: null }), 0);
});

test('names of items, parts and tools are folded', () => {
  for (const [fields, param] of [
    [{ input: [{ role: 'user', Content: [] }] }, 'input[0].Content'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'x', Image_URL: 'x' }] }] },
      'input[0].content[0].Image_URL',
    ],
    [{ tools: [{ type: 'function', Type: 'web_search' }] }, 'tools[0].Type'],
  ] as const)
    assert.equal(refusalOf(() => facts(fields)).param, param);
});
