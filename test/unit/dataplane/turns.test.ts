/** Turns: few at a time, one of a name, in the order of the names. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { createTurns } from '../../../dataplane/turns.ts';

describe('turns', () => {
  it('run few at a time, one of each name, and no name waits for all turns of another', async () => {
    const turns = createTurns(2);
    const started: string[] = [];
    const ends = new Map<string, () => void>();
    const take = (name: string, label: string): void => {
      void turns.take(name).then((end) => {
        started.push(label);
        ends.set(label, end);
      });
    };
    const end = async (label: string): Promise<void> => {
      ends.get(label)?.();
      await setImmediate();
    };
    for (const label of ['a1', 'a2', 'a3']) take('a', label);
    await setImmediate();
    assert.deepEqual(started, ['a1']);
    for (const label of ['b1', 'c1']) take(label.slice(0, 1), label);
    await setImmediate();
    assert.deepEqual(started, ['a1', 'b1']);
    await end('a1');
    assert.deepEqual(started, ['a1', 'b1', 'a2'], 'a came before c');
    await end('b1');
    assert.deepEqual(started, ['a1', 'b1', 'a2', 'c1'], 'and has one turn at a time');
    await end('c1');
    await end('a2');
    assert.equal(started.at(-1), 'a3');
  });
});
