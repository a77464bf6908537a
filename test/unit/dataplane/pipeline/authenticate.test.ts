/** The messages of a 401 for missing and malformed keys, as listed in docs/reference/errors.md. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { SYSTEM_CLOCK } from '../../../../dataplane/clock.ts';
import { authenticateHead } from '../../../../dataplane/pipeline/authenticate.ts';
import { createCurrentState } from '../../../../dataplane/state/current.ts';
import { errorsText } from '../../../../tools/generate/errors-doc.ts';

const KEY = `sk-${'a'.repeat(48)}`;
const NOT_BEARER = /^The Authorization header is not a bearer key/;
const SPACES = /has spaces in or around it/;

const CASES: readonly [what: string, headers: Readonly<Record<string, string>>, says: RegExp][] = [
  ['no header', {}, /^No API key\. Send it as/],
  ['another scheme beside a key', { authorization: 'Basic abc', 'x-api-key': KEY }, NOT_BEARER],
  ['an empty Authorization', { authorization: '' }, NOT_BEARER],
  ['Bearer without a key', { authorization: 'Bearer' }, NOT_BEARER],
  ['a tab after Bearer', { authorization: `Bearer\t${KEY}` }, NOT_BEARER],
  ['an empty x-api-key', { 'x-api-key': '' }, /^The x-api-key header holds no key/],
  ['an empty x-goog-api-key', { 'x-goog-api-key': '' }, /^The x-goog-api-key header holds no key/],
  ['x-api-key twice', { 'x-api-key': `${KEY}, ${KEY}` }, /^The x-api-key header is sent more than once/],
  ['another prefix', { authorization: 'Bearer pk-1' }, /they start with "sk-"/],
  ['two spaces after Bearer', { authorization: `Bearer  ${KEY}` }, SPACES],
  ['a space within', { 'x-api-key': 'sk-a b' }, SPACES],
  ['different keys', { authorization: `Bearer ${KEY}`, 'x-api-key': `${KEY}b` }, /carry different keys/],
  ['an unknown key', { authorization: `bearer ${KEY}` }, /^This API key is unknown/],
];

describe('a 401', () => {
  for (const [what, headers, says] of CASES)
    it(`for ${what} says what is wrong, and not the key`, () => {
      const deps = { state: createCurrentState(), clock: SYSTEM_CLOCK };
      assert.throws(
        () => authenticateHead(deps, headers),
        (error: Error) => {
          assert.match(error.message, says);
          return !error.message.includes(KEY);
        },
      );
    });

  it('is described in the documentation by rows for these cases', () => {
    for (const row of [
      'or with nothing or a tab after `Bearer`',
      'an empty `x-api-key`',
      'more than one after `Bearer`',
    ])
      assert.ok(errorsText().includes(row), row);
  });
});
