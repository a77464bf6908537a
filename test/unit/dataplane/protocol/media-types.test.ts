/** Media types that clients often misspell are sent by their registered names, whoever sends them and wherever. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import type { JsonRecord } from '../../../../dataplane/protocol/fields.ts';
import { PAIRS, send } from './pairs.ts';
import type { ProviderName } from './pairs.ts';

const DATA = '/9j/4AAQ';
const url = (type: string): string => `data:${type};base64,${DATA}`;

/** Each has an image of the user and one of a tool's result. */
const REQUESTS: Readonly<Record<ChatDialect, (type: string) => JsonRecord>> = {
  OpenAI: (type) => {
    const image = { type: 'image_url', image_url: { url: url(type) } };
    return {
      messages: [
        { role: 'user', content: [image] },
        { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c', content: [image] },
      ],
    };
  },
  Responses: (type) => {
    const image = { type: 'input_image', image_url: url(type) };
    return {
      input: [
        { role: 'user', content: [image] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [image] },
      ],
    };
  },
  Anthropic: (type) => {
    const image = { type: 'image', source: { type: 'base64', media_type: type, data: DATA } };
    return {
      messages: [
        { role: 'user', content: [image] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [image] }] },
      ],
    };
  },
  Gemini: (type) => {
    const image = { inlineData: { mimeType: type, data: DATA } };
    return {
      contents: [
        { role: 'user', parts: [image] },
        { role: 'model', parts: [{ functionCall: { id: 'c', name: 'f', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: {}, parts: [image] } }] },
      ],
    };
  },
};

const TYPED: Readonly<Record<ProviderName, string>> = {
  'chat completions': `"url":"${url('image/jpeg')}"`,
  Responses: `"image_url":"${url('image/jpeg')}"`,
  Anthropic: '"media_type":"image/jpeg"',
  Gemini: '"mimeType":"image/jpeg"',
  Converse: '"format":"jpeg"',
};

describe('image/jpg is sent as image/jpeg', () => {
  for (const pair of PAIRS)
    it(`from a client of ${pair.client} to ${pair.provider}`, () => {
      for (const type of ['image/jpg', 'IMAGE/JPG', 'image/jpeg']) {
        const { text } = send(pair, REQUESTS[pair.client](type));
        assert.equal(text.split(TYPED[pair.provider]).length - 1, 2, `${type}: ${text}`);
        assert.doesNotMatch(text, /image\/jpg/i);
      }
    });
});
