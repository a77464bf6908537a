/** What Programmed says when an edit is acknowledged before the leader has heard of all proxies. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import { ProgrammedEvaluator } from '../../../../operator/reconcile/programmed-evaluator.ts';
import { RECONCILING } from '../../../../operator/status/conditions.ts';
import type { Programming } from '../../../../operator/status/conditions.ts';
import type { ProxyProgress } from '../../../../operator/status/programming.ts';
import { fakeClock } from '../fake-clock.ts';

const ID = 'ApiKey team-a/ci';

function setUp() {
  const clock = fakeClock();
  let programming: Programming = RECONCILING;
  let progress: ProxyProgress | undefined;
  const evaluator = new ProgrammedEvaluator({
    clock,
    tracker: {
      get: () => undefined,
      list: () => [],
      reprogram(ids, next) {
        for (const id of ids) programming = next(id, programming);
      },
    },
    progress: () => progress,
    fault: () => undefined,
    onEvaluated: () => undefined,
  });
  /** All proxies that the leader knows of have the object. */
  const holds = (proxies: number): string => {
    progress = { connected: proxies, acknowledged: proxies, rejected: [], convergedMs: 5 };
    evaluator.evaluate([ID]);
    return programming.message;
  };
  return { clock, holds, evaluator };
}

it('counts a proxy of another replica whose report comes after the edit', () => {
  const { holds, evaluator } = setUp();
  assert.match(holds(1), /^Acknowledged by 1 of 1 proxy/);
  assert.match(holds(2), /^Acknowledged by 2 of 2 proxies/);
  assert.match(holds(1), /^Acknowledged by 2 of 2 proxies/, 'one that leaves changes nothing');
  evaluator.stop();
});

it('keeps its message when proxies come later, so that they do not rewrite all statuses', async () => {
  const { clock, holds, evaluator } = setUp();
  holds(1);
  await clock.pass(61_000);
  assert.match(holds(2), /^Acknowledged by 1 of 1 proxy/);
  evaluator.stop();
});
