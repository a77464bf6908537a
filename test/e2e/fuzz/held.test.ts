/**
 * The resident memory that compressed bodies make a gateway hold, at every endpoint, in every encoding and in every
 * state of the key. `npm run fuzz -- --held 48` prints it for each endpoint by itself.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { BOMBS, TARGETS } from '../../fuzz/bombs.ts';
import { KEY_STATES, measureHeld } from '../../fuzz/held.ts';
import { startMeasured } from '../../fuzz/measured.ts';
import type { Measured } from '../../fuzz/measured.ts';

const CONNECTIONS_EACH = 3;
/** Without limits, 48 decoders at once take 750 MiB with brotli, and each other encoding 270 MiB or more. */
const MAX_GROWTH_BYTES = 200 * 2 ** 20;

let gateway: Measured;
beforeAll(async () => {
  gateway = await startMeasured('http://127.0.0.1:9');
});
afterAll(() => gateway.stop());

describe('compressed bodies that inflate without measure are refused at every endpoint, and take little memory,', () => {
  for (const keyState of KEY_STATES.keys())
    for (const encoding of BOMBS.keys())
      it(`in ${encoding} ${keyState}`, async () => {
        const attack = { targets: TARGETS, encoding, keyState, each: CONNECTIONS_EACH };
        const { grownBytes, figures } = await measureHeld(gateway, attack);
        console.info(figures);
        assert.ok(grownBytes < MAX_GROWTH_BYTES, figures);
      });
});
