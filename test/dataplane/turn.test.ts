import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { atTurnsEnd, withAnswers, withRequests } from '../../dataplane/turn.ts';

describe('a turn of the event loop', () => {
  it('takes answers, then requests, then what these leave to be done, however they came', async () => {
    const steps: string[] = [];
    atTurnsEnd(() => steps.push('end 1'));
    withRequests(() => { steps.push('request 1'); atTurnsEnd(() => steps.push('end 2')); });
    withAnswers(() => steps.push('answer 1'));
    withRequests(() => steps.push('request 2'));
    withAnswers(() => steps.push('answer 2'));
    assert.deepEqual(steps, []);
    await nextTurn();
    assert.deepEqual(steps, ['answer 1', 'answer 2', 'request 1', 'request 2', 'end 1', 'end 2']);
  });

  it('goes on side by side with what waits for nothing, and ends after it', async () => {
    const steps: string[] = [];
    const call = async (name: string): Promise<void> => {
      for (const step of [1, 2, 3]) {
        steps.push(`${name}${step}`);
        await Promise.resolve();
      }
      atTurnsEnd(() => steps.push(`${name} is written`));
    };
    withRequests(() => void call('a'));
    withRequests(() => void call('b'));
    await nextTurn();
    assert.deepEqual(steps, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3', 'a is written', 'b is written']);
  });

  it('leaves to the next turn what comes once it has begun', async () => {
    const steps: string[] = [];
    withRequests(() => void Promise.resolve().then(() => withAnswers(() => steps.push('late answer'))));
    await nextTurn();
    assert.deepEqual(steps, []);
    await nextTurn();
    assert.deepEqual(steps, ['late answer']);
  });

  it('leaves to the next turn what is set off at its end', async () => {
    const steps: string[] = [];
    atTurnsEnd(() => {
      steps.push('end');
      withAnswers(() => steps.push('next answer'));
      atTurnsEnd(() => steps.push('next end'));
    });
    await nextTurn();
    assert.deepEqual(steps, ['end']);
    await nextTurn();
    assert.deepEqual(steps, ['end', 'next answer', 'next end']);
  });
});
