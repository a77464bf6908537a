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
  it('has a schema without the order of its members, in either spelling', () => {
    const schemaWith = (member: string): unknown => {
      const responseSchema = { type: 'OBJECT', properties: { city: { type: 'STRING' } }, [member]: ['city'] };
      const generationConfig = { responseMimeType: 'application/json', responseSchema };
      const request = { contents: [{ parts: [{ text: 'hi' }] }], generationConfig };
      const { conversation } = geminiClient.read(request, { providerTools: undefined, seal: undefined });
      const format = conversation.settings.responseFormat?.value;
      return format?.type === 'Schema' ? format.schema : undefined;
    };
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    assert.deepEqual(schemaWith('propertyOrdering'), schema);
    assert.deepEqual(schemaWith('property_ordering'), schema);
  });
});
