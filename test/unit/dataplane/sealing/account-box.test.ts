import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAccountBox } from '../../../../dataplane/sealing/account-box.ts';

const [key, newKey] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
const box = createAccountBox([key], 'team/a');

test('What is closed opens as it was, under its own name and account', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), (plain) => {
      const closed = box.close('one', plain);
      expect(Buffer.from(plain).equals(box.open('one', closed) ?? Buffer.from('nothing'))).toBe(true);
      expect(box.open('two', closed)).toBeUndefined();
      for (const account of ['team/', 'team/ab', 'team/b', 'team'])
        expect(createAccountBox([key], account).open('one', closed)).toBeUndefined();
    }),
  );
});

test('No byte can be changed', () => {
  const closed = box.close('one', Buffer.from('secret'));
  for (let at = 0; at < closed.length; at++) {
    const changed = Buffer.from(closed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(box.open('one', changed)).toBeUndefined();
    expect(box.open('one', closed.subarray(0, at))).toBeUndefined();
  }
});

test('The same content is closed differently each time, and shows nothing of itself', () => {
  const plain = randomBytes(64);
  const [first, second] = [box.close('one', plain), box.close('one', plain)];
  expect(first.equals(second)).toBe(false);
  expect(first.includes(plain.subarray(0, 8))).toBe(false);
});

test('A new sealing key opens what the old one closed, as long as it is there', () => {
  const closed = box.close('one', Buffer.from('x'));
  expect(createAccountBox([newKey, key], 'team/a').open('one', closed)?.toString()).toBe('x');
  expect(createAccountBox([newKey], 'team/a').open('one', closed)).toBeUndefined();
  expect(() => createAccountBox([], 'team/a').close('one', Buffer.from('x'))).toThrow(/sealing key/);
});
