/** Patience is for others: what the process itself stood still is not counted. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deadlines } from '../../../dataplane/ledger/deadlines.ts';

/** Nothing else of this process runs meanwhile. */
function standStill(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

it('refuses what is not done in time, once', async () => {
  let refused = 0;
  const deadline = new Deadlines(60).add(() => { refused += 1; });
  await sleep(200);
  assert.deepEqual([refused, deadline.over], [1, true]);
});

it('leaves alone what was done in time', async () => {
  const deadline = new Deadlines(60).add(() => assert.fail('refused'));
  deadline.over = true;
  await sleep(120);
});

it('gives work its whole time after the process stood still', async () => {
  let refused = false;
  const deadline = new Deadlines(100).add(() => { refused = true; });
  standStill(150);
  // work that is done soon after the process goes on, as an answer that had to be asked for first
  await sleep(40);
  assert.equal(refused, false);
  deadline.over = true;
});

it('refuses what is late among thousands that are not, and each once', async () => {
  const deadlines = new Deadlines(60);
  const refused: number[] = [];
  const late = new Set([0, 1_500, 2_999, 4_000]);
  for (let n = 0; n <= 4_000; n++) {
    const deadline = deadlines.add(() => refused.push(n));
    if (!late.has(n)) deadline.over = true;
    // the first one ends while others wait: all before the next that is late can go
    if (n === 1_400) await sleep(150);
  }
  await sleep(200);
  assert.deepEqual(refused, [...late]);
});
