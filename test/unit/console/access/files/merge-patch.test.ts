/** What a change writes into a file: without the defaults that its author has left out. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { asWritten } from '../../../../../console/access/files/merge-patch.ts';

const WRITTEN = { retry: { attempts: 1 }, models: [{ name: 'a' }, { name: 'b', inputs: ['Text'] }], kinds: ['x'] };
const PRESENT = {
  retry: { attempts: 1, on: ['all'] },
  models: [
    { name: 'a', inputs: ['Text'], size: 1 },
    { name: 'b', inputs: ['Text'], size: 1 },
  ],
  kinds: ['x'],
  routing: 'Affinity',
};

describe('a value as its author would write it', () => {
  it('is the written one where nothing changes', () => {
    assert.deepEqual(asWritten(PRESENT, PRESENT, WRITTEN), WRITTEN);
  });

  it('has what changes, in entries of lists too, and no default beside it', () => {
    const models = [PRESENT.models[0]!, { ...PRESENT.models[1]!, size: 2 }, { name: 'c', size: 1 }];
    assert.deepEqual(asWritten({ ...PRESENT, models, retry: { attempts: 3, on: ['all'] } }, PRESENT, WRITTEN), {
      ...WRITTEN,
      retry: { attempts: 3 },
      models: [{ name: 'a' }, { name: 'b', inputs: ['Text'], size: 2 }, { name: 'c', size: 1 }],
    });
  });

  it('finds an entry by its name when others are gone or moved', () => {
    const models = [PRESENT.models[1]!];
    assert.deepEqual(asWritten({ ...PRESENT, models }, PRESENT, WRITTEN), { ...WRITTEN, models: [WRITTEN.models[1]] });
  });

  it('lacks what was removed', () => {
    const { kinds: _, ...rest } = PRESENT;
    const { kinds: __, ...written } = WRITTEN;
    assert.deepEqual(asWritten(rest, PRESENT, WRITTEN), written);
  });
});
