/** The poller with a controlled clock and ticks: when it polls, how it reacts, and when it stops. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { pollIntervalAt, startPoller } from '../../../../dataplane/jobs/poller.ts';
import type { Poller, PollerDeps } from '../../../../dataplane/jobs/poller.ts';
import type { JobRecord } from '../../../../dataplane/ledger/ledger.ts';

/** Of any batch. */
const BATCH_TERMS = 'batch1:';

function job(jobId: string, createdMs = 0, channel = 'route/channel'): JobRecord {
  return {
    jobId,
    state: 'Running',
    origin: {
      callId: `call-${jobId}`,
      keyUid: 'k',
      account: 'a/a',
      createdMs,
      group: 'g',
      model: 'm',
      channel,
      catalog: '',
    },
  };
}

/** A ledger of jobs with claimJobs' guarantees, and a log of the poller's actions. */
class Scene {
  nowMs = 5_000;
  readonly looks: string[] = [];
  readonly ends: string[] = [];
  readonly troubles: string[] = [];
  readonly dueMs = new Map<JobRecord, number>();
  poll: PollerDeps['poll'] = () => Promise.resolve(undefined);
  claimFails = false;
  ready = true;
  claims = 0;
  #tick: () => void = () => undefined;
  readonly poller: Poller;

  constructor(jobs: readonly JobRecord[]) {
    for (const each of jobs) this.dueMs.set(each, each.origin.createdMs + 5_000);
    this.poller = this.start();
  }

  /** Another replica with the same ledger. */
  start(): Poller {
    return startPoller({
      ledger: { claimJobs: (nowMs, againMs, limit) => this.#claim(nowMs, againMs, limit) },
      poll: (each, signal, reading) => {
        this.looks.push(`${each.jobId}@${this.nowMs / 1000}`);
        return this.poll(each, signal, reading);
      },
      recordEnd: (each, { end }) => {
        this.ends.push(`${each.jobId} ${end}`);
        this.dueMs.delete(each);
        return Promise.resolve();
      },
      nowMs: () => this.nowMs,
      ready: () => this.ready,
      every: (_ms, tick) => {
        const before = this.#tick;
        this.#tick = () => {
          before();
          tick();
        };
        return () => {
          this.#tick = before;
        };
      },
      onError: (error, each) => void this.troubles.push(`${each?.jobId ?? 'ledger'}: ${String(error)}`),
    });
  }

  async #claim(nowMs: number, againMs: number, limit: number): Promise<readonly JobRecord[]> {
    this.claims++;
    if (this.claimFails) throw new Error('unavailable');
    const due = [...this.dueMs]
      .filter(([, at]) => at <= nowMs)
      .slice(0, limit)
      .map(([each]) => each);
    for (const each of due) this.dueMs.set(each, nowMs + againMs);
    return due;
  }

  /** Advances second by second. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      this.#tick();
      await this.settle();
      this.nowMs += 1000;
    }
  }

  async settle(): Promise<void> {
    for (let turns = 0; turns < 5; turns++)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  }
}

describe('the poller', () => {
  it('polls after seconds at first, and once a minute later', async () => {
    const scene = new Scene([job('v')]);
    await scene.pass(400);
    const at = scene.looks.map((look) => Number(look.split('@')[1]));
    assert.equal(at[0], 5);
    const pauses = at.slice(1).map((second, index) => second - (at[index] ?? 0));
    assert.ok(
      pauses.every((pause) => pause >= 3 && pause <= 62),
      String(pauses),
    );
    assert.ok(at.length < 25 && pauses.slice(0, 3).every((pause) => pause <= 4), String(pauses));
    assert.ok((pauses.at(-1) ?? 0) >= 58);
    await scene.poller.stop();
  });
  for (const end of ['Completed', 'Failed'] as const) {
    it(`records once that a job has ${end.toLowerCase()}`, async () => {
      const scene = new Scene([job('v'), job('w')]);
      scene.poll = ({ jobId }) => Promise.resolve(jobId === 'v' ? { end } : undefined);
      await scene.pass(100);
      assert.deepEqual(scene.ends, [`v ${end}`]);
      assert.equal(scene.looks.filter((look) => look.startsWith('v')).length, 1);
      await scene.poller.stop();
    });
  }
  it("ignores a provider's failures", async () => {
    const scene = new Scene([job('v')]);
    let looks = 0;
    scene.poll = () => (++looks < 4 ? Promise.reject(new Error('502')) : Promise.resolve({ end: 'Failed' as const }));
    await scene.pass(60);
    assert.deepEqual([scene.ends, scene.troubles], [['v Failed'], ['v: Error: 502', 'v: Error: 502', 'v: Error: 502']]);
    await scene.poller.stop();
  });
  it('polls other jobs of a channel while results are read, of which it reads a few at a time', async () => {
    const batches = Array.from({ length: 6 }, (_, index) => ({ ...job(`b${index}`), terms: BATCH_TERMS }));
    const scene = new Scene([...batches, job('v'), job('w')]);
    const reads: (() => void)[] = [];
    scene.poll = ({ terms }, _signal, reading) => {
      if (terms === undefined) return Promise.resolve({ end: 'Completed' as const });
      reading();
      return new Promise((resolve) => {
        reads.push(() => resolve({ end: 'Completed' }));
      });
    };
    await scene.pass(10);
    assert.deepEqual([reads.length, scene.ends.toSorted()], [4, ['v Completed', 'w Completed']]);
    for (let read = reads.shift(); read; read = reads.shift()) {
      read();
      await scene.pass(2);
    }
    assert.equal(scene.ends.length, 8);
    await scene.poller.stop();
  });
  it('polls jobs while the results of many batches are read', async () => {
    const batches = Array.from({ length: 48 }, (_none, index) => ({
      ...job(`b${index}`, 0, `route/${index % 12}`),
      terms: BATCH_TERMS,
    }));
    const scene = new Scene([...batches, job('v', 0, 'route/videos')]);
    const reads: (() => void)[] = [];
    scene.poll = async ({ terms }, _signal, reading) => {
      if (terms === undefined) return { end: 'Completed' as const };
      await Promise.resolve();
      reading();
      return new Promise((resolve) => {
        reads.push(() => resolve({ end: 'Completed' }));
      });
    };
    await scene.pass(1);
    assert.equal(reads.length, 24);
    assert.deepEqual(scene.ends, ['v Completed']);
    for (let read = reads.shift(); read; read = reads.shift()) {
      read();
      await scene.pass(1);
    }
    assert.equal(scene.ends.length, 49);
    await scene.poller.stop();
  });
  const stuck: readonly [what: string, poll: PollerDeps['poll']][] = [
    ['runs', () => Promise.resolve(undefined)],
    ['cannot be asked about', () => Promise.reject(new Error('gone'))],
  ];
  for (const [what, poll] of stuck) {
    it(`gives up a job after a day that still ${what}`, async () => {
      const scene = new Scene([job('v')]);
      scene.poll = poll;
      scene.nowMs = 24 * 3_600_000 - 2_000;
      await scene.pass(120);
      assert.deepEqual(scene.ends, ['v GivenUp']);
      await scene.poller.stop();
    });
  }
  it('gives up a batch after eight days', async () => {
    const scene = new Scene([{ ...job('b'), terms: BATCH_TERMS }]);
    scene.nowMs = 48 * 3_600_000;
    await scene.pass(120);
    assert.deepEqual(scene.ends, []);
    scene.nowMs = 8 * 24 * 3_600_000;
    await scene.pass(120);
    assert.deepEqual(scene.ends, ['b GivenUp']);
    await scene.poller.stop();
  });
  it('reads a batch to its end although its lease ends, and begins no second reading', async () => {
    const scene = new Scene([{ ...job('b'), terms: BATCH_TERMS }]);
    const reading = Promise.withResolvers<{ end: 'Completed' }>();
    let aborted = false;
    scene.poll = (_job, signal) => {
      signal.addEventListener('abort', () => (aborted = true));
      return reading.promise;
    };
    await scene.pass(200);
    assert.deepEqual([scene.looks, aborted], [['b@5'], false]);
    assert.ok(scene.claims > 2);
    reading.resolve({ end: 'Completed' });
    await scene.pass(1);
    assert.deepEqual(scene.ends, ['b Completed']);
    await scene.poller.stop();
  });
  it('does not decide on an old job before there is a configuration', async () => {
    const scene = new Scene([job('v')]);
    scene.nowMs = 48 * 3_600_000;
    scene.ready = false;
    await scene.pass(5);
    assert.deepEqual([scene.claims, scene.ends], [0, []]);
    scene.ready = true;
    scene.poll = () => Promise.resolve({ end: 'Failed' as const });
    await scene.pass(1);
    assert.deepEqual(scene.ends, ['v Failed']);
    await scene.poller.stop();
  });
  it("learns of a job's end before it gives it up", async () => {
    const scene = new Scene([job('v')]);
    scene.poll = () => Promise.resolve({ end: 'Failed' as const });
    scene.nowMs = 48 * 3_600_000;
    await scene.pass(2);
    assert.deepEqual(scene.ends, ['v Failed']);
    await scene.poller.stop();
  });
  it('polls each job from one replica within a lease', async () => {
    const scene = new Scene([job('v'), job('w')]);
    const other = scene.start();
    await scene.pass(30);
    assert.deepEqual(
      scene.looks.filter((look) => look.startsWith('v')),
      [...new Set(scene.looks.filter((look) => look.startsWith('v')))],
    );
    await scene.poller.stop();
    await other.stop();
  });
  it('stops polling when its lease ends', async () => {
    const scene = new Scene([job('v')]);
    const aborted: number[] = [];
    scene.poll = (_job, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(scene.nowMs);
          reject(new Error('aborted'));
        });
      });
    await scene.pass(70);
    assert.deepEqual(aborted, [65_000]);
    assert.deepEqual(scene.troubles, []);
    await scene.poller.stop();
  });
  for (const [what, channelOf, most] of [
    ['of a channel', () => 'route/channel', 1],
    ['in all', (index: number) => `route/${index}`, 32],
  ] as const) {
    it(`polls ${most} ${what} at once, and the next when one has responded`, async () => {
      const scene = new Scene(Array.from({ length: 100 }, (_none, index) => job(`v${index}`, 0, channelOf(index))));
      const waiting: (() => void)[] = [];
      scene.poll = () =>
        new Promise((resolve) => {
          waiting.push(() => resolve({ end: 'Completed' as const }));
        });
      await scene.pass(1);
      while (waiting.length > 0) {
        assert.ok(waiting.length <= most);
        for (const answer of waiting.splice(0)) answer();
        await scene.settle();
      }
      assert.equal(scene.ends.length, 100);
      await scene.poller.stop();
    });
  }
  it('lets accounts take turns at a channel, and first polls what a failure refunds in full', async () => {
    const many = Array.from({ length: 50 }, (_none, index) => ({ ...job(`m${index}`), terms: 'terms' }));
    const video = job('video');
    const others = job('other');
    const other = { ...others, origin: { ...others.origin, account: 'b/b' } };
    const scene = new Scene([...many, video, other]);
    scene.poll = () => Promise.resolve({ end: 'Completed' as const });
    await scene.pass(1);
    await scene.settle();
    const order = scene.ends.map((end) => end.split(' ')[0]);
    assert.deepEqual(new Set(order.slice(0, 2)), new Set(['other', 'video']));
    await scene.poller.stop();
  });
  it('backs off from a ledger that cannot be reached', async () => {
    const scene = new Scene([job('v')]);
    scene.claimFails = true;
    await scene.pass(20);
    assert.equal(scene.claims, 2);
    scene.claimFails = false;
    await scene.pass(10);
    assert.equal(scene.looks.length > 0, true);
    await scene.poller.stop();
  });
  it('aborts its requests when stopped, and starts none', async () => {
    const scene = new Scene([job('v')]);
    let aborted = false;
    scene.poll = (_job, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          reject(new Error('aborted'));
        });
      });
    await scene.pass(1);
    await scene.poller.stop();
    assert.ok(aborted);
    const { claims } = scene;
    await scene.pass(70);
    assert.deepEqual([scene.claims, scene.looks.length, scene.ends, scene.troubles], [claims, 1, [], []]);
  });
  it('pauses between three seconds and a minute', () => {
    assert.deepEqual([0, 12_000, 40_000, 240_000, 1e9].map(pollIntervalAt), [3_000, 3_000, 10_000, 60_000, 60_000]);
  });
});
