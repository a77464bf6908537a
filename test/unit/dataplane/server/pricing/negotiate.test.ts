import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { negotiate } from '../../../../../dataplane/server/pricing/negotiate.ts';

const CASES: readonly (readonly [string | undefined, 'html' | 'json'])[] = [
  [undefined, 'html'],
  ['', 'html'],
  ['*/*', 'html'],
  ['application/json', 'json'],
  ['Application/JSON; charset=utf-8', 'json'],
  ['text/html', 'html'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html'],
  ['application/json, text/plain, */*', 'json'],
  ['application/json;q=0.5, text/html', 'html'],
  ['text/html;q=0.5, application/json;q=0.9', 'json'],
  ['application/json;q=0', 'html'],
  ['application/json;q=0, */*', 'html'],
  ['application/*', 'json'],
  ['text/*, application/json;q=0.9', 'html'],
  ['text/html, application/json', 'html'],
  ['application/json;q=nonsense', 'html'],
  ['image/png', 'html'],
];

describe('page or data', () => {
  for (const [accept, expected] of CASES) {
    test(`Accept: ${accept ?? '(absent)'} at /pricing: ${expected}`, () =>
      assert.equal(negotiate(accept, '/pricing'), expected));
  }

  test("at the gateway's address, whoever does not name HTML is a program", () => {
    for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/plain, */*', 'image/png'])
      assert.equal(negotiate(accept, '/'), 'json');
    for (const accept of ['text/html', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'])
      assert.equal(negotiate(accept, '/'), 'html');
  });

  test('/pricing.json is data whatever is accepted', () => {
    fc.assert(
      fc.property(fc.option(fc.string(), { nil: undefined }), (accept) => {
        assert.equal(negotiate(accept, '/pricing.json'), 'json');
        assert.match(negotiate(accept, '/pricing'), /^(html|json)$/);
      }),
    );
  });
});
