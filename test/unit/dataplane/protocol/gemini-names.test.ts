/** Names of fields in Google's protocol: two spellings of each, one at a time, and no third one. */
import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { readFacts } from '../../../../dataplane/protocol/body-kinds.ts';
import { canonicalNames } from '../../../../dataplane/protocol/gemini/names.ts';

const CONTENTS = [{ parts: [{ text: 'x' }] }];
const IMAGE = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };

describe('a request in the protocol of Google', () => {
  it.each([
    ['the body', { generationConfig: {}, GenerationConfig: { maxOutputTokens: 9 } }, 'GenerationConfig'],
    ['the body, alone', { GENERATIONCONFIG: {} }, 'GENERATIONCONFIG'],
    ['snake case', { Generation_Config: {} }, 'Generation_Config'],
    ['its settings', { generationConfig: { maxoutputtokens: 9 } }, 'generationConfig.maxoutputtokens'],
    [
      'its settings in snake case',
      { generation_config: { MAX_OUTPUT_TOKENS: 9 } },
      'generationConfig.MAX_OUTPUT_TOKENS',
    ],
    ['a part', { contents: [{ parts: [{ text: 'x', InlineData: IMAGE }] }] }, 'contents[0].parts[0].InlineData'],
    [
      'an image',
      { contents: [{ parts: [{ inlineData: { MimeType: 'image/png' } }] }] },
      'contents[0].parts[0].inlineData.MimeType',
    ],
    ['a long s', { contents: [{ partſ: [] }] }, 'contents[0].partſ'],
    ['a tool', { tools: [{ FunctionDeclarations: [] }] }, 'tools[0].FunctionDeclarations'],
    [
      'a function',
      { tools: [{ functionDeclarations: [{ Parameters: {} }] }] },
      'tools[0].functionDeclarations[0].Parameters',
    ],
    [
      'a response of a function',
      { contents: [{ parts: [{ functionResponse: { Parts: [{ inlineData: IMAGE }] } }] }] },
      'contents[0].parts[0].functionResponse.Parts',
    ],
  ])('is refused for a name that differs by case or folding only, in %s', (_, more, param) => {
    const request = { contents: CONTENTS, ...more };
    const read = (): unknown => readFacts('Gemini', Buffer.from(JSON.stringify(request)), request);
    expect(read).toThrow(expect.objectContaining({ name: 'RequestFault', code: 'invalid_request', param }));
  });

  it.each([
    [{ generationConfig: {}, generation_config: {} }, 'generationConfig'],
    [{ generationConfig: { topP: 1, top_p: 1 } }, 'generationConfig.topP'],
    [{ contents: [{ parts: [{ inline_data: IMAGE, inlineData: IMAGE }] }] }, 'contents[0].parts[0].inlineData'],
    [
      { contents: [{ parts: [{ inlineData: { ...IMAGE, mime_type: 'text/plain' } }] }] },
      'contents[0].parts[0].inlineData.mimeType',
    ],
    [{ tools: [{ functionDeclarations: [], function_declarations: [] }] }, 'tools[0].functionDeclarations'],
  ])('is refused for a field in two spellings: %j', (more, param) => {
    expect(() => canonicalNames({ contents: CONTENTS, ...more })).toThrow(
      expect.objectContaining({ name: 'RequestFault', code: 'invalid_request', param }),
    );
  });

  it('is read in either spelling, and leaves names of the client as they are', () => {
    const args = { Contents: 1, MAX_OUTPUT_TOKENS: 2, contents: 3 };
    const request = {
      contents: [{ parts: [{ function_call: { name: 'f', args } }] }],
      generation_config: { max_output_tokens: 9, response_schema: { properties: { Parts: {}, parts: {} } } },
    };
    assert.deepEqual(canonicalNames(request), {
      contents: [{ parts: [{ functionCall: { name: 'f', args } }] }],
      generationConfig: { maxOutputTokens: 9, responseSchema: { properties: { Parts: {}, parts: {} } } },
    });
  });
});
