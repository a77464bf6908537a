/** What Programmed says when proxies are heard of late, or are connected to no operator. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { ProgrammedEvaluator } from '../../../../operator/reconcile/programmed-evaluator.ts';
import { RECONCILING } from '../../../../operator/status/conditions.ts';
import type { Programming } from '../../../../operator/status/conditions.ts';
import type { ProxyProgress } from '../../../../operator/status/programming.ts';
import { fakeClock } from '../fake-clock.ts';

const ID = 'ApiKey team-a/ci';
const PROGRAMMED_BEFORE = { type: 'Programmed', status: 'True', reason: 'Programmed', message: '' } as const;

function setUp() {
  const clock = fakeClock();
  let programming: Programming = RECONCILING;
  let progress: ProxyProgress | undefined;
  let inForceSince: string | undefined;
  const evaluated: string[] = [];
  const evaluator = new ProgrammedEvaluator({
    clock,
    tracker: {
      get: () => ({
        kind: 'ApiKey',
        namespace: 'team-a',
        name: 'ci',
        status: {
          observedGeneration: 1,
          conditions: inForceSince === undefined ? [] : [{ ...PROGRAMMED_BEFORE, lastTransitionTime: inForceSince }],
        },
      }),
      list: () => [],
      reprogram(ids, next) {
        for (const id of ids) {
          evaluated.push(id);
          programming = next(id, programming);
        }
      },
    },
    progress: () => progress,
    fault: () => undefined,
    onEvaluated: () => undefined,
  });
  /** The proxies that the leader knows of acknowledge the object; `missing` are ready pods that are not connected. */
  const know = (over: Partial<ProxyProgress>): void => {
    progress = { version: 'v1', connected: 1, acknowledged: 1, rejected: [], convergedMs: 5, ...over };
  };
  const see = (over: Partial<ProxyProgress>): string => {
    know(over);
    evaluator.evaluate([ID]);
    return words();
  };
  const words = (): string => `${programming.status} ${programming.reason}: ${programming.message}`;
  /** All proxies that the leader knows of have the object. */
  const holds = (proxies: number): string => {
    see({ connected: proxies, acknowledged: proxies });
    return programming.message;
  };
  /** The object is edited, so that its condition begins anew. */
  const edit = (): void => {
    programming = RECONCILING;
  };
  /** An earlier leader has told of one proxy. */
  const takeOver = (since: number): void => {
    programming = { status: 'True', reason: 'Programmed', message: 'Acknowledged by 1 of 1 proxy in 3 ms.' };
    inForceSince = new Date(since).toISOString();
  };
  return { clock, holds, see, know, words, edit, takeOver, evaluator, evaluated };
}

it('counts a proxy of another replica whose report comes after the edit', () => {
  const { holds, evaluator } = setUp();
  assert.match(holds(1), /^Acknowledged by 1 of 1 proxy/);
  assert.match(holds(2), /^Acknowledged by 2 of 2 proxies/);
  assert.match(holds(1), /^Acknowledged by 2 of 2 proxies/, 'one that leaves changes nothing');
  evaluator.stop();
});

it('counts a proxy that connects after the edit with everything, so that no acknowledgement follows', async () => {
  const { clock, know, see, words, evaluator } = setUp();
  see({});
  know({ connected: 2, acknowledged: 2 });
  evaluator.proxiesChanged();
  assert.match(words(), /^True Programmed: Acknowledged by 2 of 2 proxies/);
  await clock.pass(61_000);
  know({ connected: 3, acknowledged: 3 });
  evaluator.proxiesChanged();
  assert.match(words(), /Acknowledged by 2 of 2 proxies/, 'a minute later');
  evaluator.stop();
});

it('counts the proxies of other replicas that an earlier leader had not heard of', () => {
  const { clock, see, takeOver, evaluator } = setUp();
  takeOver(clock.nowMs() - 50_000);
  assert.match(see({ connected: 2, acknowledged: 2 }), /Acknowledged by 2 of 2 proxies/);
  evaluator.stop();
  const later = setUp();
  later.takeOver(later.clock.nowMs() - 61_000);
  assert.match(later.see({ connected: 2, acknowledged: 2 }), /Acknowledged by 1 of 1 proxy in 3 ms/);
  later.evaluator.stop();
});

it('says how many proxies lack an edit, also after one that has it has left', () => {
  const { know, see, words, edit, evaluator } = setUp();
  edit();
  see({ connected: 3, acknowledged: 2 });
  know({ connected: 2, acknowledged: 1 });
  evaluator.proxiesChanged();
  assert.equal(words(), 'Unknown Reconciling: Acknowledged by 1 of 2 proxies so far.');
  evaluator.stop();
});

it('keeps its message when proxies come later, so that they do not rewrite all statuses', async () => {
  const { clock, holds, evaluator } = setUp();
  holds(1);
  await clock.pass(61_000);
  assert.match(holds(2), /^Acknowledged by 1 of 1 proxy/);
  evaluator.stop();
});

describe('a proxy that is connected to no operator', () => {
  it('keeps an edit from being in force until it is back', () => {
    const { see, edit, evaluator } = setUp();
    assert.match(see({ connected: 2, acknowledged: 2 }), /^True/);
    edit();
    assert.equal(
      see({ version: 'v2', acknowledged: 0, missing: ['gateway-x'] }),
      'Unknown Reconciling: Acknowledged by 0 of 2 proxies so far.',
    );
    assert.equal(
      see({ version: 'v2', missing: ['gateway-x'] }),
      'Unknown ProxyNotConnected: Acknowledged by 1 of 2 proxies; gateway-x is not connected and continues with its last ' +
        'good configuration.',
    );
    assert.equal(
      see({ version: 'v2', connected: 2, acknowledged: 2 }),
      'True Programmed: Acknowledged by 2 of 2 proxies.',
      'the time until it came back is not that of the edit',
    );
    evaluator.stop();
  });

  it('changes nothing about what it had acknowledged before', async () => {
    const { clock, see, evaluator } = setUp();
    const before = see({ connected: 2, acknowledged: 2 });
    assert.equal(see({ missing: ['gateway-x'] }), before);
    await clock.pass(60_000);
    assert.equal(see({ missing: ['gateway-x'] }), before);
    evaluator.stop();
  });

  it('does not have what is published anew without an edit, such as another Secret', async () => {
    const { clock, see, evaluator } = setUp();
    const before = see({ connected: 2, acknowledged: 2 });
    assert.equal(see({ version: 'v2', acknowledged: 0, missing: ['gateway-x'] }), before);
    await clock.pass(3_000);
    assert.match(see({ version: 'v2', missing: ['gateway-x'] }), /^Unknown ProxyNotConnected/);
    evaluator.stop();
  });

  it('is evaluated again when proxies change, with no object that does not wait for it', async () => {
    const { clock, see, edit, evaluator, evaluated } = setUp();
    see({ connected: 2, acknowledged: 2 });
    await clock.pass(61_000);
    evaluated.length = 0;
    evaluator.proxiesChanged();
    await clock.pass(10);
    assert.deepEqual(evaluated, []);
    edit();
    see({ version: 'v2', missing: ['gateway-x'] });
    evaluated.length = 0;
    evaluator.proxiesChanged();
    await clock.pass(10);
    assert.deepEqual(evaluated, [ID]);
    evaluator.stop();
  });

  it('is not named while proxies may still reconnect to a new leader', async () => {
    const { clock, see, evaluator } = setUp();
    evaluator.settle(10_000);
    assert.match(see({ missing: ['gateway-x'] }), /^Unknown Reconciling/);
    await clock.pass(10_000);
    assert.match(see({ missing: ['gateway-x'] }), /^Unknown ProxyNotConnected/);
    evaluator.stop();
  });

  it('is one of many, of which some are named', () => {
    const { see, evaluator } = setUp();
    const missing = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    assert.match(
      see({ missing }),
      /1 of 8 proxies; a, b, c, d, e and 2 more are not connected and continue with their/,
    );
    evaluator.stop();
  });
});
