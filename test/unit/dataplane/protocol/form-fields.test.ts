/** A form's fields as JSON would have them, and names that servers take for others. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { findCostFields, OPENAI_COST_FIELDS } from '../../../../dataplane/protocol/cost-fields.ts';
import { readFormFields } from '../../../../dataplane/protocol/openai/form-fields.ts';
import { refusalOf } from './refusal.ts';

function read(fields: Readonly<Record<string, string>>): ReturnType<typeof readFormFields> {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--e\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return readFormFields(Buffer.from(`${parts.join('')}--e--\r\n`), 'multipart/form-data; boundary=e');
}

test('numbers and booleans are what they say, and other texts stay', () => {
  const fields = { n: '2', partial_images: '3', stream: 'true', prompt: '2', size: '1024', user: 'false' };
  assert.deepEqual(read(fields), { ...fields, n: 2, partial_images: 3, stream: true });
  assert.deepEqual(read({ stream: 'false' }), { stream: false });
  for (const odd of [{ n: '2.0' }, { n: ' 2' }, { n: '0x2' }, { stream: 'True' }, { stream: '1' }, { stream: '' }])
    assert.deepEqual(read(odd), odd);
});

test.each(['model[]', 'model[0]', 'n[]', 'stream.value', 'prompt[text]', 'partial_images[]', 'N[]', '\uff4e[]'])(
  'a field %s is refused, which servers take for a list or a path',
  (name) => {
    const refusal = refusalOf(() => read({ [name]: '8' }));
    assert.equal(refusal.param, name);
    assert.match(refusal.message, /without brackets or dots/);
  },
);

test('fields that change the price are found along a path', () => {
  const found = (name: string): readonly string[] =>
    findCostFields(read({ [name]: '8' }), OPENAI_COST_FIELDS, new Set(['n']));
  for (const name of ['num_images[]', 'parameters[n]', 'extra_body[numImages]', 'options.batch_size'])
    assert.deepEqual(found(name), [name]);
  assert.deepEqual(found('image[]'), []);
});
