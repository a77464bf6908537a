/** A form's fields as JSON would have them, and names that servers take for others. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readFacts } from '../../../../dataplane/protocol/body-kinds.ts';
import { findCostFields, OPENAI_COST_FIELDS } from '../../../../dataplane/protocol/cost-fields.ts';
import { findImageField } from '../../../../dataplane/protocol/image-inputs.ts';
import { readFormFields } from '../../../../dataplane/protocol/openai/form-fields.ts';
import { readImageEditFacts } from '../../../../dataplane/protocol/openai/image-facts.ts';
import { readVideosFacts } from '../../../../dataplane/protocol/openai/videos.ts';
import { refusalOf } from './refusal.ts';

const TYPE = 'multipart/form-data; boundary=e';

function read(fields: Readonly<Record<string, string>>): ReturnType<typeof readFormFields> {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--e\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return readFormFields(Buffer.from(`${parts.join('')}--e--\r\n`), TYPE);
}

test('numbers and booleans are what they say, and other texts stay', () => {
  const fields = { n: '2', partial_images: '3', stream: 'true', prompt: '2', size: '1024', user: 'false' };
  assert.deepEqual(read(fields), { ...fields, n: 2, stream: true });
  assert.deepEqual(read({ stream: 'false' }), { stream: false });
  for (const odd of [{ n: '2.0' }, { n: ' 2' }, { n: '0x2' }, { stream: 'True' }, { stream: '1' }, { stream: '' }])
    assert.deepEqual(read(odd), odd);
});

test.each([
  'model[]',
  'model[0]',
  'n[]',
  'stream.value',
  'prompt[text]',
  'N[]',
  '\uff4e[]',
  'output_format[]',
  '[model]',
  '.model',
  '[][model]',
  '[prompt]',
  '[stream]',
  '..n',
  'model]',
  `model[${'x'.repeat(300)}]`,
])('a field %s is refused, which servers take for a list or a path', (name) => {
  const refusal = refusalOf(() => read({ [name]: '8' }));
  assert.equal(refusal.param, name);
  assert.match(refusal.message, /without brackets or dots/);
});

test('every field that a reader of forms knows by its name is refused with brackets', () => {
  const names = new Set<string>();
  const fields = new Proxy<Record<string, unknown>>(
    { model: 'm', prompt: 'p', image: 'x' },
    {
      get: (target, name) => {
        if (typeof name === 'string') names.add(name);
        return target[name as string];
      },
    },
  );
  readImageEditFacts(fields);
  readVideosFacts(fields);
  // a list of pictures
  names.delete('image');
  assert.ok(names.has('model') && names.has('quality') && names.has('seconds'));
  for (const name of names) assert.match(refusalOf(() => read({ [`${name}[]`]: '8' })).message, /without brackets/);
});

test.each(['parameters[image_url]', 'input_reference.image_url', 'image.url', '[image_url]', 'x[Image]', 'images[]'])(
  'a picture is found in a field %s',
  (name) => {
    assert.equal(findImageField(read({ [name]: 'https://x/a.png' })), name);
  },
);

test.each(['extra_body', 'parameters', 'extraBody', 'input', 'options[]', 'parameters[extra_body]', '[config]'])(
  'a text %s of a form may hold any setting, and counts as a field that changes the price',
  (name) => {
    const costFields = (value: string, form: string | undefined): readonly string[] =>
      readFacts('Videos', Buffer.of(), { model: 'm', prompt: 'p', [name]: value }, form).costFields;
    assert.deepEqual(costFields('{"n":4}', TYPE), [name]);
    assert.deepEqual([costFields('', TYPE), costFields('{"n":4}', undefined)], [[], []]);
    const file = { filename: 'a.json', contentType: 'application/json', bytes: 7 };
    const picture = { filename: 'a.png', contentType: 'image/png', bytes: 7 };
    for (const kind of ['ImageEdits', 'ImageVariations'] as const) {
      const fields = { model: 'm', prompt: 'p', image: picture, [name]: file };
      assert.deepEqual(readFacts(kind, Buffer.of(), fields, TYPE).costFields, [name]);
    }
  },
);

test('a text along a path through settings is no setting of its own', () => {
  const fields = { model: 'm', prompt: 'p', 'parameters[style]': 'calm', 'input[]': '' };
  assert.deepEqual(readFacts('Videos', Buffer.of(), fields, TYPE).costFields, []);
});

test('fields that change the price are found along a path', () => {
  const found = (name: string): readonly string[] =>
    findCostFields(read({ [name]: '8' }), OPENAI_COST_FIELDS, new Set(['n']));
  for (const name of ['num_images[]', 'parameters[n]', 'extra_body[numImages]', 'options.batch_size'])
    assert.deepEqual(found(name), [name]);
  assert.deepEqual(found('image[]'), []);
});
