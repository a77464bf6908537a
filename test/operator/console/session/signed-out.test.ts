/** What was signed out stays so, whatever is signed out after it; memory is bounded, and who pays for that is as few as can be. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Session } from '../../../../operator/console/session/session.ts';
import { rememberSignedOut } from '../../../../operator/console/session/signed-out.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);

function session(token: string, number: number, begunMs: number = NOW_MS + number): Session {
  return { token, csrfSecret: `${token} ${number}`, begunMs, seenMs: begunMs };
}

describe('sessions that were signed out', () => {
  it('are over, and no others, as long as there is room', () => {
    const some = fc.array(fc.record({ token: fc.constantFrom('a', 'b', 'c'), begunMs: fc.integer({ min: NOW_MS, max: NOW_MS + 20 }), out: fc.boolean() }), { maxLength: 60 });
    fc.assert(fc.property(some, (planned) => {
      const signedOut = rememberSignedOut();
      const sessions = planned.map(({ token, begunMs, out }, at) => ({ session: session(token, at, begunMs), out }));
      for (const each of sessions) if (each.out) signedOut.add(each.session);
      for (const each of sessions) assert.equal(signedOut.has({ ...each.session, seenMs: NOW_MS + 1_000_000 }), each.out);
    }));
  });

  it('stay over however many follow', () => {
    const some = fc.array(fc.record({ token: fc.constantFrom('a', 'b', 'c', 'd', 'e'), begunMs: fc.integer({ min: NOW_MS, max: NOW_MS + 50 }) }), { maxLength: 80 });
    fc.assert(fc.property(some, fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 5 }), (planned, most, mostOfToken) => {
      const signedOut = rememberSignedOut({ most, mostOfToken });
      const sessions = planned.map(({ token, begunMs }, at) => session(token, at, begunMs));
      for (const [at, each] of sessions.entries()) {
        signedOut.add(each);
        for (const before of sessions.slice(0, at + 1)) assert.ok(signedOut.has(before));
        assert.ok(!signedOut.has(session('a', -1, NOW_MS + 51)), 'one that began after all of them goes on');
      }
    }));
  });

  it('end others of the same token only, where somebody signs out again and again', () => {
    const signedOut = rememberSignedOut({ most: 50, mostOfToken: 10 });
    for (let at = 0; at < 1000; at++) signedOut.add(session('noisy', at));
    assert.ok(!signedOut.has(session('quiet', -1, NOW_MS)), 'of another token, begun before all of them');
    assert.ok(signedOut.has(session('noisy', -1, NOW_MS + 989)), 'begun with the last that was forgotten');
    assert.ok(!signedOut.has(session('noisy', -1, NOW_MS + 990)), 'begun after it, and never signed out');
  });

  it('end those that began as early, where those of many tokens are more than it holds', () => {
    const signedOut = rememberSignedOut({ most: 50, mostOfToken: 10 });
    for (let at = 0; at < 200; at++) signedOut.add(session(`token ${at}`, at));
    assert.ok(signedOut.has(session('quiet', -1, NOW_MS + 149)));
    assert.ok(!signedOut.has(session('quiet', -1, NOW_MS + 150)));
    for (let at = 0; at < 200; at++) assert.ok(signedOut.has(session(`token ${at}`, at)));
  });
});
