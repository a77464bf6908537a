import { createCipheriv, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSealed } from '../../../../dataplane/protocol/sealed-values.ts';
import { createSealer } from '../../../../dataplane/sealing/seal.ts';

const KEY = Buffer.alloc(32, 7);
const sealer = createSealer([KEY]);

test('A sealed value opens to what was sealed, on every replica with the same key', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (channel, data) => {
      const opened = createSealer([Buffer.from(KEY)]).open(sealer.seal('reasoning', channel, data));
      expect(opened).toEqual({ kind: 'reasoning', channel, data });
    }),
  );
});

test('A sealed value shows its version and kind, and neither the channel nor the data', () => {
  const sealed = sealer.seal('response', 'openai/account-one', 'resp_0123456789');
  expect(sealed).toMatch(/^mgw1_response_[\w-]+$/);
  const payload = sealed.slice('mgw1_response_'.length);
  for (const encoding of ['base64url', 'base64', 'hex', 'latin1'] as const) {
    const text = Buffer.from(payload, encoding).toString('latin1');
    expect(text).not.toContain('account-one');
    expect(text).not.toContain('resp_');
  }
});

test('Two seals of the same value differ', () => {
  expect(sealer.seal('response', 'a', 'b')).not.toBe(sealer.seal('response', 'a', 'b'));
});

test('A value that was changed anywhere does not open', () => {
  const sealed = sealer.seal('reasoning', 'openai/one', 'gAAAAABo');
  for (let index = 0; index < sealed.length - 1; index++) {
    const other = sealed[index] === 'A' ? 'B' : 'A';
    expect(sealer.open(sealed.slice(0, index) + other + sealed.slice(index + 1))).toBeUndefined();
  }
  expect(sealer.open(sealed.slice(0, -4))).toBeUndefined();
  expect(sealer.open(sealed.replace('_reasoning_', '_response_'))).toBeUndefined();
});

test('A value of another gateway, and what was never sealed, does not open', () => {
  const foreign = createSealer([randomBytes(32)]).seal('reasoning', 'a', 'b');
  for (const text of [foreign, '', 'mgw1_', 'mgw1_reasoning_', 'mgw1_reasoning_AAAA', 'gAAAAABo', 'resp_1'])
    expect(sealer.open(text)).toBeUndefined();
  expect(isSealed(foreign)).toBe(true);
  expect(isSealed('gAAAAABo')).toBe(false);
});

test('After a rotation old values still open, and new ones are sealed under the new key', () => {
  const next = Buffer.alloc(32, 8);
  const rotated = createSealer([next, KEY]);
  expect(rotated.open(sealer.seal('reasoning', 'a', 'b'))).toMatchObject({ channel: 'a' });
  expect(createSealer([next]).open(rotated.seal('reasoning', 'a', 'b'))).toMatchObject({ channel: 'a' });
});

test('Values of earlier releases, sealed under the key itself with a random nonce, still open', () => {
  const head = 'mgw1_encrypted';
  for (const [key, opener] of [
    [KEY, sealer],
    [KEY, createSealer([Buffer.alloc(32, 8), KEY])],
  ] as const) {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(head));
    const parts = [nonce, cipher.update('\0\u000aopenai/onegAAAA'), cipher.final()];
    const sealed = `${head}_${Buffer.concat([...parts, cipher.getAuthTag()]).toString('base64url')}`;
    expect(opener.open(sealed)).toEqual({ kind: 'encrypted', channel: 'openai/one', data: 'gAAAA' });
    expect(opener.open(sealed.replace('encrypted', 'response'))).toBeUndefined();
  }
});

test('Every value is sealed under a key and nonce of its own', () => {
  const bytesOf = (sealed: string): Buffer => Buffer.from(sealed.slice('mgw1_response_'.length), 'base64url');
  const [one, two] = [sealer.seal('response', 'a', 'b'), sealer.seal('response', 'a', 'b')].map(bytesOf);
  const salted = Buffer.concat([one!.subarray(0, 24), two!.subarray(24)]).toString('base64url');
  expect(one!.length).toBe(24 + 2 + 'ab'.length + 16);
  expect(sealer.open(`mgw1_response_${salted}`)).toBeUndefined();
  expect(one!.subarray(0, 24).equals(two!.subarray(0, 24))).toBe(false);
});

test('Wrong keys and kinds are refused when they are given', () => {
  expect(() => createSealer([])).toThrow(/at least one key/);
  expect(() => createSealer([Buffer.alloc(16)])).toThrow(/32 bytes/);
  for (const kind of ['', 'Reasoning', 'a_b', 'x'.repeat(17)])
    expect(() => sealer.seal(kind, 'a', 'b')).toThrow(/kind/);
});
