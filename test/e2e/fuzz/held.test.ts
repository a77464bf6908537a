/**
 * The resident memory that compressed bodies make a gateway hold. `npm run fuzz -- --held 48` measures every endpoint
 * and encoding.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { REPRESENTATIVES } from '../../fuzz/bombs.ts';
import { KEY_STATES, measureHeld } from '../../fuzz/held.ts';
import { startMeasured } from '../../fuzz/measured.ts';
import type { Measured } from '../../fuzz/measured.ts';

const CONNECTIONS_EACH = 6;
/** Without limits, the decoders of brotli for 36 requests alone have windows of 576 MiB. */
const MAX_GROWTH_BYTES = 250 * 2 ** 20;

let gateway: Measured;
beforeAll(async () => {
  gateway = await startMeasured('http://127.0.0.1:9');
});
afterAll(() => gateway.stop());

describe('compressed bodies that inflate without measure are refused, and take little memory,', () => {
  for (const keyState of KEY_STATES.keys())
    for (const encoding of ['br', 'zstd'])
      it(`in ${encoding} ${keyState}`, async () => {
        const attack = { targets: REPRESENTATIVES, encoding, keyState, each: CONNECTIONS_EACH };
        const { grownBytes, figures } = await measureHeld(gateway, attack);
        console.info(figures);
        assert.ok(grownBytes < MAX_GROWTH_BYTES, figures);
      });
});
