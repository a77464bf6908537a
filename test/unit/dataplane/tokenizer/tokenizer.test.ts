/** Counting tokens in a thread: close to the library's own count, whole or in slices, and always with a result. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { truncateTexts, slicesOf } from '../../../../dataplane/tokenizer/slices.ts';
import { createTokenizer } from '../../../../dataplane/tokenizer/tokenizer.ts';
import type { Tokenizer } from '../../../../dataplane/tokenizer/tokenizer.ts';

const PROSE = 'The ledger agrees: each call is paid once, and 1,234 tokens are 1,234 tokens. '.repeat(300);

describe('the tokenizer', () => {
  let tokenizer: Tokenizer;
  beforeAll(() => {
    tokenizer = createTokenizer({
      onFault: (error) => {
        throw error;
      },
    });
  });
  afterAll(() => tokenizer.close());

  it('counts as the library does', async () => {
    assert.equal(await tokenizer.count('key', ['hello world']), countTokens('hello world'));
    assert.equal(
      await tokenizer.count('key', ['Grüße aus 東京 🗼', '{"a": [1, 2]}']),
      countTokens('Grüße aus 東京 🗼') + countTokens('{"a": [1, 2]}'),
    );
  });
  it('counts long prose within one percent of it', async () => {
    const [exact, counted] = [countTokens(PROSE), await tokenizer.count('key', [PROSE])];
    assert.ok(Math.abs(counted - exact) <= exact / 100, `${counted} instead of ${exact}`);
  });
  it('counts names of special tokens as words', async () =>
    assert.ok((await tokenizer.count('key', ['<|endoftext|>'])) > 1));
  it('counts an empty text as zero', async () =>
    assert.deepEqual([await tokenizer.count('key', []), await tokenizer.count('key', ['', ''])], [0, 0]));
  it('extrapolates text beyond its bounds', async () => {
    const many = Array.from({ length: 300 }, () => PROSE);
    const [exact, counted] = [300 * countTokens(PROSE), await tokenizer.count('key', many)];
    assert.ok(Math.abs(counted - exact) <= exact / 50, `${counted} instead of ${exact}`);
  });
  it('counts text that is made to be slow', async () => {
    // the library would take minutes for the whole text
    const counted = await tokenizer.count('key', ['a'.repeat(900_000), ' '.repeat(900_000)]);
    assert.ok(counted > 1_000 && counted < 900_000, String(counted));
  });
  it('counts many texts at once, and estimates those that exceed its queue', async () => {
    const counted = await Promise.all(
      Array.from({ length: 40 }, () => tokenizer.count('key', ['hello world, hello moon'])),
    );
    assert.ok(
      counted.every((tokens) => tokens === countTokens('hello world, hello moon') || tokens === Math.ceil(23 / 4)),
      String(counted),
    );
    assert.equal(counted[0], countTokens('hello world, hello moon'));
  });
});

describe('a tokenizer', () => {
  it('that was idle starts again', async () => {
    const tokenizer = createTokenizer({
      onFault: (error) => {
        throw error;
      },
      idleMs: 0,
    });
    assert.equal(await tokenizer.count('key', ['hello world']), 2);
    await new Promise((resolve) => {
      setImmediate(() => setImmediate(resolve));
    });
    assert.equal(await tokenizer.count('key', ['hello world']), 2);
    await tokenizer.close();
  });
  it('that is closed counts a token for four bytes', async () => {
    const tokenizer = createTokenizer({
      onFault: (error) => {
        throw error;
      },
    });
    const asked = tokenizer.count('key', ['twelve bytes']);
    await tokenizer.close();
    assert.deepEqual([await asked, await tokenizer.count('key', ['twelve bytes', '12345'])], [3, 5]);
  });
});

describe('slices', () => {
  it('join to the text, are short, and split no character', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', minLength: 0, maxLength: 40 })), fc.nat(200), (words, times) => {
        const text = words.join(' ').repeat(times);
        const slices = [...slicesOf([text])];
        assert.equal(slices.join(''), text);
        assert.ok(slices.every((slice) => slice.length > 0 && slice.length <= 2048 && slice.isWellFormed()));
      }),
      { numRuns: 50 },
    );
  });
  it('end at word boundaries', () =>
    assert.ok([...slicesOf([PROSE])].every((slice) => !/^\w/.test(slice) || slice === PROSE.slice(0, slice.length))));
  it('are taken from the front', () =>
    assert.deepEqual(
      [truncateTexts(['abc', 'def', 'ghi'], 5), truncateTexts(['abc'], 3), truncateTexts(['abc'], 0)],
      [['abc', 'de'], ['abc'], []],
    ));
});
