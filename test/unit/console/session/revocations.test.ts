/**
 * A revoked session stays revoked, whatever follows it. The list is bounded, and as few other sessions as possible pay
 * for that.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { AccessError } from '../../../../console/access/access.ts';
import { localState } from '../../../../console/access/shared-state.ts';
import type { SharedState } from '../../../../console/access/shared-state.ts';
import { createRevocationList, shareRevocations } from '../../../../console/session/revocations.ts';
import { SESSION_MS } from '../../../../console/session/session.ts';
import type { Session } from '../../../../console/session/session.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);

function session(token: string, number: number, begunMs: number = NOW_MS + number): Session {
  return { token, csrfSecret: `${token} ${number}`, begunMs, seenMs: begunMs };
}

describe('sessions that were signed out', () => {
  it('are revoked, and no others, while there is room', () => {
    const some = fc.array(
      fc.record({
        token: fc.constantFrom('a', 'b', 'c'),
        begunMs: fc.integer({ min: NOW_MS, max: NOW_MS + 20 }),
        out: fc.boolean(),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(some, (planned) => {
        const revocations = createRevocationList();
        const sessions = planned.map(({ token, begunMs, out }, at) => ({ session: session(token, at, begunMs), out }));
        for (const each of sessions) if (each.out) revocations.add(each.session);
        for (const each of sessions)
          assert.equal(revocations.has({ ...each.session, seenMs: NOW_MS + 1_000_000 }), each.out);
      }),
    );
  });

  it('stay revoked however many follow', () => {
    const some = fc.array(
      fc.record({
        token: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
        begunMs: fc.integer({ min: NOW_MS, max: NOW_MS + 50 }),
      }),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(
        some,
        fc.integer({
          min: 1,
          max: 10,
        }),
        fc.integer({ min: 1, max: 5 }),
        (planned, most, mostOfToken) => {
          const revocations = createRevocationList({ most, mostOfToken });
          const sessions = planned.map(({ token, begunMs }, at) => session(token, at, begunMs));
          for (const [at, each] of sessions.entries()) {
            revocations.add(each);
            for (const before of sessions.slice(0, at + 1)) assert.ok(revocations.has(before));
            assert.ok(!revocations.has(session('a', -1, NOW_MS + 51)), 'one that began after all of them goes on');
          }
        },
      ),
    );
  });

  it('revoke others of the same token only, if somebody signs out again and again', () => {
    const revocations = createRevocationList({ most: 50, mostOfToken: 10 });
    for (let at = 0; at < 1000; at++) revocations.add(session('noisy', at));
    assert.ok(!revocations.has(session('quiet', -1, NOW_MS)), 'of another token, begun before all of them');
    assert.ok(revocations.has(session('noisy', -1, NOW_MS + 989)), 'begun with the last that was forgotten');
    assert.ok(!revocations.has(session('noisy', -1, NOW_MS + 990)), 'begun after it, and never signed out');
  });

  it('revoke those that began as early, if there are more tokens than fit', () => {
    const revocations = createRevocationList({ most: 50, mostOfToken: 10 });
    for (let at = 0; at < 200; at++) revocations.add(session(`token ${at}`, at));
    assert.ok(revocations.has(session('quiet', -1, NOW_MS + 149)));
    assert.ok(!revocations.has(session('quiet', -1, NOW_MS + 150)));
    for (let at = 0; at < 200; at++) assert.ok(revocations.has(session(`token ${at}`, at)));
  });
});

describe('serialized revocations', () => {
  const planned = fc.record({
    token: fc.constantFrom('a', 'b', 'c', 'd'),
    begunMs: fc.integer({ min: NOW_MS, max: NOW_MS + 50 }),
    at: fc.constantFrom(0, 1, 2),
  });

  it('are merged by another instance as the union', () => {
    fc.assert(
      fc.property(
        fc.array(planned, { maxLength: 60 }),
        fc.integer({ min: 1, max: 70 }),
        fc.integer({ min: 1, max: 20 }),
        (plan, most, mostOfToken) => {
          const lists = [0, 1, 2].map(() => createRevocationList({ most, mostOfToken }));
          const sessions = plan.map(({ token, begunMs, at }, number) => ({
            at,
            session: session(token, number, begunMs),
          }));
          for (const each of sessions) lists[each.at]?.add(each.session);
          const texts = lists.map((list) => list.serialize(NOW_MS));
          for (const order of [
            [0, 1, 2],
            [2, 0, 1],
            [0, 0, 1, 2, 1],
          ]) {
            const joined = createRevocationList({ most, mostOfToken });
            for (const at of order) joined.merge(texts[at] ?? '');
            for (const each of sessions) assert.ok(joined.has(each.session));
            assert.ok(!joined.has(session('a', -1, NOW_MS + 51)));
            if (plan.length <= Math.min(most, mostOfToken))
              assert.ok(!joined.has(session('a', -1, NOW_MS)), 'nobody else pays where there is room');
          }
        },
      ),
    );
  });

  it('are short, contain no token, and drop expired ones', () => {
    const list = createRevocationList();
    for (let at = 0; at < 5_000; at++) list.add(session(`token-${at}`, at));
    const text = list.serialize(NOW_MS);
    assert.ok(text.length < 400_000, `${text.length}`);
    assert.ok(!text.includes('token-'));
    assert.ok(
      list.serialize(NOW_MS + SESSION_MS).length === text.length,
      'some are not over yet by a clock that is late',
    );
    assert.ok(list.serialize(NOW_MS + SESSION_MS + 2 * 3_600_000).length < 100);
  });

  it('are ignored if the text is something else', () => {
    for (const text of [
      '',
      'x',
      '[]',
      'null',
      '{"tokens":7}',
      '{"upToMs":"9","tokens":[1,[2],["a"],["a",1],["a",null,[3,["b"],[null,1]]]]}',
    ]) {
      const list = createRevocationList();
      list.merge(text);
      assert.ok(!list.has(session('a', 1)), text);
      list.add(session('a', 1));
      assert.ok(list.has(session('a', 1)));
    }
  });
});

describe('replicas that share revocations', () => {
  it("know each other's sign-outs, also those that start later", async () => {
    const state = localState();
    const [one, two] = [shareRevocations(state), shareRevocations(state)];
    const [mine, theirs, kept] = [session('a', 1), session('a', 2), session('a', 3)];
    await Promise.all([one.add(mine, NOW_MS), two.add(theirs, NOW_MS)]);
    for (const each of [one, two, shareRevocations(state)])
      assert.deepEqual(
        [mine, theirs, kept].map((any) => each.has(any)),
        [true, true, false],
      );
  });

  it('know their own sign-outs at once, and share failed ones with the next', async () => {
    const shared = localState();
    let away = true;
    let writes = 0;
    const state: SharedState = {
      ...shared,
      async change(entry, edit) {
        if (away) throw new AccessError('Unavailable', 'away');
        writes++;
        await shared.change(entry, edit);
      },
    };
    const [here, there] = [shareRevocations(state), shareRevocations(shared)];
    await assert.rejects(here.add(session('a', 1), NOW_MS), /away/);
    assert.deepEqual([here.has(session('a', 1)), there.has(session('a', 1))], [true, false]);
    away = false;
    // concurrent revocations are written together; the first starts at once
    await Promise.all([2, 3, 4, 5].map((number) => here.add(session('a', number), NOW_MS)));
    assert.ok(writes <= 2, `${writes} writes`);
    for (const number of [1, 2, 3, 4, 5]) assert.ok(there.has(session('a', number)), `${number}`);
  });
});
