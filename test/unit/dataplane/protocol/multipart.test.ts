/** Forms as SDKs send them, and ambiguous forms. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import { isForm, parseForm, readParts, rewriteForm } from '../../../../dataplane/protocol/multipart.ts';

const TYPE = 'multipart/form-data; boundary=edge';

/** Parts as written: headers, then content. */
function form(...parts: readonly (readonly [headers: string, content: string])[]): Buffer {
  return Buffer.from(
    `${parts.map(([headers, content]) => `--edge\r\n${headers}\r\n\r\n${content}\r\n`).join('')}--edge--\r\n`,
  );
}

function field(name: string, content: string): readonly [string, string] {
  return [`Content-Disposition: form-data; name="${name}"`, content];
}

describe('a form', () => {
  it('is parsed into texts and files', () => {
    const body = form(field('prompt', 'ein Fluß\r\nim Mai'), field('empty', ''), [
      'content-disposition: form-data; name=input_reference; filename="a \\"b\\".png"\r\nContent-Type: image/png',
      'PNG--edge',
    ]);
    assert.deepEqual(parseForm(body, TYPE), {
      prompt: 'ein Fluß\r\nim Mai',
      empty: '',
      input_reference: { filename: 'a "b".png', contentType: 'image/png', bytes: 9 },
    });
  });
  it('is parsed as the platform writes it', async () => {
    const written = new FormData();
    written.set('model', 'sora');
    written.set('input_reference', new Blob([new Uint8Array([0, 13, 10, 255])], { type: 'image/png' }), 'grüße.png');
    const request = new Request('http://x', { method: 'POST', body: written });
    const fields = parseForm(new Uint8Array(await request.arrayBuffer()), request.headers.get('content-type') ?? '');
    assert.deepEqual(fields, {
      model: 'sora',
      input_reference: { filename: 'grüße.png', contentType: 'image/png', bytes: 4 },
    });
  });
  it('is parsed as by the platform, whatever is in its fields', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.stringMatching(/^[a-z][a-z_]{0,8}$/), fc.string({ unit: 'grapheme' }), {
          maxKeys: 5,
          minKeys: 1,
        }),
        async (fields) => {
          const written = new FormData();
          for (const [name, value] of Object.entries(fields)) written.set(name, value);
          const request = new Request('http://x', { method: 'POST', body: written });
          const [again, type] = [request.clone(), request.headers.get('content-type') ?? ''];
          assert.deepEqual(
            parseForm(new Uint8Array(await request.arrayBuffer()), type),
            Object.fromEntries(await again.formData()),
          );
        },
      ),
      { numRuns: 60 },
    );
  });
  it('is written anew: with another value of one field, a boundary and headers of its own', () => {
    const body = form(
      field('prompt', 'model'),
      ['Content-Type: text/plain; charset="utf-8"\r\ncontent-disposition: form-data; NAME=model', 'a'],
      [
        'Content-Disposition: form-data; filename="a\\"\\\\b;x=\tü"; name="f"\r\nX-More: y\r\nContent-Type: image/png; x=y',
        '\0\r\n\0\r\n--other\n--edg\r\n',
      ],
    );
    const sent = rewriteForm(body, 'Multipart/Form-Data; charset=UTF-8; BOUNDARY="edge"', {
      name: 'model',
      value: 'upstream-ü',
    });
    const [, boundary = ''] =
      /^multipart\/form-data; boundary=(modelgateway-[0-9a-f]{48})$/.exec(sent.contentType) ?? [];
    assert.equal(
      Buffer.from(sent.body).toString(),
      [
        `--${boundary}`,
        'Content-Disposition: form-data; name="prompt"',
        '',
        'model',
        `--${boundary}`,
        'Content-Disposition: form-data; name="model"',
        '',
        'upstream-ü',
        `--${boundary}`,
        'Content-Disposition: form-data; name="f"; filename="a%22%5Cb%3Bx%3D%09ü"',
        'Content-Type: image/png',
        '',
        '\0\r\n\0\r\n--other\n--edg\r\n',
        `--${boundary}--`,
        '',
      ].join('\r\n'),
    );
  });
  it('has no name that a parser can read as two, whatever the client quotes', () => {
    const body = form(['Content-Disposition: form-data; name="para; name=seconds"', '12']);
    const sent = rewriteForm(body, 'multipart/form-data; boundary=edge', { name: 'none', value: '' });
    assert.match(
      Buffer.from(sent.body).toString(),
      /^Content-Disposition: form-data; name="para%3B name%3Dseconds"\r$/m,
    );
  });
  it('is written so that the platform reads the same, whatever the bytes', async () => {
    const read = async (bytes: Uint8Array, type: string): Promise<unknown> => {
      const entries = [
        ...(await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()),
      ];
      return Promise.all(
        entries.map(async ([name, value]) => [name, typeof value === 'string' ? value : await value.bytes()]),
      );
    };
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.stringMatching(/^[a-z][a-z_]{0,8}$/), fc.string()),
        fc.uint8Array(),
        async (fields, file) => {
          const written = new FormData();
          for (const [name, value] of Object.entries(fields)) written.set(name, value);
          written.set('a file', new Blob([new Uint8Array(file)]), 'x.bin');
          const request = new Request('http://x', { method: 'POST', body: written });
          const type = request.headers.get('content-type') ?? '';
          const bytes = new Uint8Array(await request.arrayBuffer());
          const sent = rewriteForm(bytes, type, { name: 'none', value: '' });
          assert.deepEqual(await read(sent.body, sent.contentType), await read(bytes, type));
        },
      ),
      { numRuns: 60 },
    );
  });
  it('is recognised by its content type', () => {
    assert.ok(
      isForm('Multipart/Form-Data; boundary=x') &&
        !isForm('application/json') &&
        !isForm(undefined) &&
        !isForm('multipart/mixed; boundary=x') &&
        !isForm('application/json; x="multipart/form-data; boundary=x"'),
    );
  });
  it('has a file by an encoded name', () => {
    const body = form(["Content-Disposition: form-data; name=f; filename*=UTF-8''gr%C3%BC%C3%9Fe.png", 'x']);
    assert.deepEqual(parseForm(body, TYPE), { f: { filename: 'grüße.png', contentType: '', bytes: 1 } });
  });

  const wrong: [what: string, body: string | Buffer, type?: string][] = [
    ['no boundary', form(field('a', 'b')), 'multipart/form-data'],
    ['another boundary', form(field('a', 'b')), 'multipart/form-data; boundary=other'],
    ['something before it', `x\r\n${form(field('a', 'b')).toString()}`],
    ['something after it', `${form(field('a', 'b')).toString()}x`],
    ['no end', form(field('a', 'b')).subarray(0, -10)],
    ['single line feeds', form(field('a', 'b')).toString().replaceAll('\r\n', '\n')],
    ['a name twice', form(field('model', 'a'), field('model', 'b'))],
    ['a name twice but for its case', form(field('model', 'a'), field('Model', 'b'))],
    ['two names in one part', form(['Content-Disposition: form-data; name="a"; name="model"', 'b'])],
    ['no name', form(['Content-Disposition: form-data', 'b'])],
    [
      'a disposition twice',
      form(['Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="model"', 'b']),
    ],
    ['no form-data', form(['Content-Disposition: attachment; name="a"', 'b'])],
    [
      'a text that is not UTF-8',
      Buffer.concat([
        Buffer.from('--edge\r\nContent-Disposition: form-data; name="a"\r\n\r\n'),
        Buffer.from([0xff]),
        Buffer.from('\r\n--edge--\r\n'),
      ]),
    ],
    ['too many parts', form(...Array.from({ length: 200 }, (_none, index) => field(`f${index}`, '')))],
    ['nothing', ''],
    ...[
      'multipart/form-data; boundary=edge; boundary=edge',
      'multipart/form-data; boundary=edge; BOUNDARY=other',
      'multipart/form-data; boundary=other; x="; boundary=edge;"',
      'multipart/form-data; boundary=other; x="\\"; boundary=edge;"',
      'multipart/form-data; boundary="other"; x="a; boundary=edge; b"',
      'multipart/form-data; boundary=edge; x=y',
      'multipart/form-data; boundary=edge; boundary*=other',
      'multipart/form-data; boundary=edge; charset=utf-16',
      'multipart/form-data; boundary=edge, boundary=other',
      'multipart/form-data; boundary="edge',
      'multipart/form-data; boundary = edge',
      'multipart/form-data; boundary="edge"x',
      'multipart/form-data; boundary=edge x',
      'multipart/form-data boundary=edge',
    ].map((type): [string, Buffer, string] => [`the type ${type}`, form(field('a', 'b')), type]),
    ...[
      'Content-Disposition: form-data; name="a"; name*=UTF-8\'\'model',
      'Content-Disposition: form-data; name="a"; NAME="model"',
      'Content-Disposition: form-data; name="a"; filename="x"; filename*=UTF-8\'\'y',
      'Content-Disposition: form-data; name="a"; filename*=latin1\'\'y',
      'Content-Disposition: form-data; name="a"; size=4',
      'Content-Disposition: form-data; name="a',
      'Content-Disposition: form-data; name=" a"',
      'Content-Disposition: form-data; name="_charset_"',
      'Content-Disposition: form-data; name="a"\r\n x: y',
      'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=utf-16',
      'Content-Disposition: form-data; name="a"\r\nContent-Type: multipart/mixed; boundary=x',
      'Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64',
      'Content-Disposition: form-data; name="Model"',
      'Content-Disposition: form-data; name="ſeconds"',
    ].map((headers): [string, Buffer] => [`the part ${headers}`, form([headers, 'b'])]),
  ];
  for (const [what, body, type = TYPE] of wrong)
    it(`with ${what} is refused`, () => assert.throws(() => parseForm(Buffer.from(body), type), RequestFault));

  it('never fails with another error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(400), (noise, at) => {
        const body = form(field('model', 'a'), field('prompt', 'b'));
        const broken = Buffer.concat([body.subarray(0, at), noise, body.subarray(at)]);
        try {
          assert.ok(readParts(broken, TYPE).every(({ start, end }) => start <= end && end <= broken.length));
        } catch (error) {
          assert.ok(error instanceof RequestFault, String(error));
        }
      }),
    );
  });
});
