import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createChannelSeal } from '../../../../dataplane/sealing/channel-seal.ts';
import { createSealer } from '../../../../dataplane/sealing/seal.ts';

const keys = [Buffer.alloc(32, 7)];
const CALL = { keys, channel: 'openai/one', account: 'team/a' };

test('A sealed value says whether there may be images, to every call of its account', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.boolean(), (data, images) => {
      const sealed = createChannelSeal({ ...CALL, images }).seal('response', data);
      for (const opener of [createChannelSeal(CALL), createChannelSeal({ ...CALL, channel: 'x', images: true })])
        expect(opener.open(sealed)).toEqual({ kind: 'response', channel: 'openai/one', data, images });
    }),
  );
});

test('A sealed value opens for no account whose name begins or ends like its own', () => {
  for (const images of [false, true])
    for (const account of ['team/', 'team/ab', 'team/b', 'eam/a']) {
      const sealed = createChannelSeal({ ...CALL, images }).seal('response', 'resp_1');
      expect(createChannelSeal({ ...CALL, account }).open(sealed)).toBeUndefined();
    }
});

test('A value that an earlier version sealed has no images', () => {
  const sealed = createSealer(keys).seal('response', 'openai/one', 'team/a\nresp_1');
  expect(createChannelSeal(CALL).open(sealed)).toMatchObject({ data: 'resp_1', images: false });
});
