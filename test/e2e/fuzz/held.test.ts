/** The resident memory that compressed bodies make a gateway hold: each endpoint, encoding and state of a key. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { BOMBS, bomb, TARGETS } from '../../fuzz/bombs.ts';
import { startMeasured } from '../../fuzz/measured.ts';
import type { Measured } from '../../fuzz/measured.ts';
import { KEYS } from '../../support/manifests.ts';

const MIB = 2 ** 20;
const CONNECTIONS = 24;
/** Without limits, as many decoders of brotli alone have windows of 384 MiB. */
const MAX_GROWTH_BYTES = 250 * MIB;

let gateway: Measured;
beforeAll(async () => {
  gateway = await startMeasured('http://127.0.0.1:9');
});
afterAll(() => gateway.stop());

describe('compressed bodies that inflate without measure are refused, and take little memory,', () => {
  const states = [
    ['without a key', undefined],
    ['with a key without money', KEYS.poor],
    ['with a key', KEYS.main],
  ] as const;
  for (const [state, key] of states)
    for (const encoding of BOMBS.keys())
      it(`in ${encoding} ${state}`, async () => {
        const { rss, cpuMs } = await gateway.memory();
        for (const [method, path] of TARGETS) {
          const bombing = { url: gateway.url, method, path, encoding, key, count: CONNECTIONS };
          const statuses = [...(await bomb(bombing)).keys()];
          const expected = key === undefined ? [400, 401, 404, 405] : [400, 402, 404, 405, 413, 429, 503];
          assert.ok(
            statuses.every((status) => expected.includes(status)),
            `${method} ${path}: ${statuses.join(', ')}`,
          );
        }
        const after = await gateway.memory();
        const grown = `${Math.round((after.peakRss - rss) / MIB)} MiB`;
        const eachMs = (after.cpuMs - cpuMs) / (TARGETS.length * CONNECTIONS);
        console.info(`${encoding} ${state}: ${grown}, ${eachMs.toFixed(1)} ms of CPU time per request`);
        assert.ok(after.peakRss - rss < MAX_GROWTH_BYTES, grown);
      });
});
