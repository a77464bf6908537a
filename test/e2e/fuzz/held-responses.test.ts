/**
 * The resident memory that providers' responses make a gateway hold, by every way to read one. `npm run fuzz -- --held
 * 40` measures them at the figures of the attack.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { attackByResponses, RESPONSE_CONTENTS, RESPONSE_ENCODINGS, RESPONSE_WAYS } from '../../fuzz/held-responses.ts';
import type { ResponsesUnderAttack } from '../../fuzz/held-responses.ts';

const MIB = 2 ** 20;
/** A key may hold 16 MiB: one response with the large picture, or a dozen of many items. */
const MAX_BODY = 16 * MIB;
const MAX_BUFFERED = 64 * MIB;
const AT_ONCE = 12;
const POLLS = 3;
/** A response is held as bytes, text and values, here and in the worker. Without a limit, 12 take more than 1 GiB. */
const MAX_GROWTH_BYTES = 700 * MIB;

let attacked: ResponsesUnderAttack;
beforeAll(async () => {
  attacked = await attackByResponses(MAX_BODY, MAX_BUFFERED);
});
afterAll(() => attacked.stop());

describe('responses of providers take little memory, however many are read at once,', () => {
  for (const way of RESPONSE_WAYS)
    for (const content of RESPONSE_CONTENTS)
      it(`with ${content}: ${way}`, async () => {
        const count = way === 'poll' ? POLLS : AT_ONCE;
        for (const encoding of RESPONSE_ENCODINGS) {
          const { grownBytes, read, refused, figures } = await attacked.measure({ way, content, encoding, count });
          console.info(figures);
          assert.ok(grownBytes < MAX_GROWTH_BYTES, figures);
          assert.equal(read + refused, count, figures);
          assert.ok(read > 0, figures);
        }
      });
});
