/** Clients of Google's protocol: how they name what they ask for. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { geminiClient } from '../../../../../dataplane/protocol/clients/gemini/client.ts';

describe('a format of the response', () => {
  it('has the path of the field that asks for it', () => {
    const pathOf = (generationConfig: object): string | undefined => {
      const { conversation } = geminiClient.read(
        { contents: [{ parts: [{ text: 'hi' }] }], generationConfig },
        { providerTools: undefined, seal: undefined },
      );
      return conversation.settings.responseFormat?.path;
    };
    const schema = { type: 'object' };
    const mime = { responseMimeType: 'application/json' };
    assert.equal(pathOf({ responseSchema: schema }), 'generationConfig.responseSchema');
    assert.equal(pathOf({ responseJsonSchema: schema }), 'generationConfig.responseJsonSchema');
    assert.equal(pathOf({ responseJsonSchema: schema, ...mime }), 'generationConfig.responseMimeType');
    assert.equal(pathOf({}), undefined);
  });
});
