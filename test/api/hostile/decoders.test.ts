/** Decoders of compressed bodies that run at a time: one of each key, and few in the process, whatever the endpoint. */
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { bomb, BOMBS, TARGETS } from '../../fuzz/bombs.ts';

const MAX_DECODERS = 4;
const KNOWN_KEYS = [KEYS.main, KEYS.small, KEYS.poor, KEYS.narrow, KEYS.serial];

/** What the gateway runs. Its clients here make no decoders. */
const decoders = { running: 0, most: 0, made: 0 };
const { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } = zlib;
const CREATORS: Readonly<Record<string, (options?: object) => Transform>> = {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
};

function counted(create: (options?: object) => Transform): (options?: object) => Transform {
  return (options) => {
    decoders.made++;
    decoders.most = Math.max(decoders.most, ++decoders.running);
    return create(options).on('close', () => decoders.running--);
  };
}

/** The module's own are no properties that can be assigned. */
function setCreators(creators: typeof CREATORS): void {
  for (const [name, value] of Object.entries(creators))
    Object.defineProperty(zlib, name, { configurable: true, enumerable: true, value });
  syncBuiltinESMExports();
}

let stack: TestStack;
beforeAll(async () => {
  setCreators(Object.fromEntries(Object.entries(CREATORS).map(([name, create]) => [name, counted(create)])));
  stack = await startTestStack();
});
afterAll(async () => {
  setCreators(CREATORS);
  await stack.stop();
});
beforeEach(() => void Object.assign(decoders, { most: 0, made: 0 }));

/** Sends a compressed body with each key to each endpoint, all at once. Returns how many were decoded. */
async function attack(encoding: string, keys: readonly (string | undefined)[]): Promise<number> {
  const { url } = stack.gateway;
  const sent = keys.flatMap((key) =>
    TARGETS.map(([method, path]) => bomb({ url, method, path, encoding, key, count: 1 })),
  );
  await Promise.all(sent);
  assert.equal(decoders.running, 0);
  return decoders.made;
}

describe('decoders', () => {
  for (const encoding of BOMBS.keys()) {
    it(`of ${encoding} run one at a time for a key`, async () => {
      assert.ok((await attack(encoding, [KEYS.main])) > MAX_DECODERS);
      assert.equal(decoders.most, 1);
    });
    it(`of ${encoding} run ${MAX_DECODERS} at a time for all keys`, async () => {
      assert.ok((await attack(encoding, KNOWN_KEYS)) > KNOWN_KEYS.length * MAX_DECODERS);
      assert.equal(decoders.most, MAX_DECODERS);
    });
    it(`of ${encoding} do not run without a known key`, async () => {
      assert.equal(await attack(encoding, [undefined, 'sk-unknown', KEYS.disabled, KEYS.expired]), 0);
    });
  }
});
