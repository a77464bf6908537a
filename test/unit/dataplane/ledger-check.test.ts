/** When a ledger that is away keeps a process from being ready. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { checkLedger } from '../../../dataplane/ledger-check.ts';

const AWAY = { ok: false, reason: 'no connection' };

function createScene() {
  const scene = { nowMs: 1_000, health: AWAY };
  const check = checkLedger({ health: () => scene.health }, { monotonicMs: () => scene.nowMs });
  return { scene, check };
}

describe("the ledger's part of readiness", () => {
  it('blocks a process that has just started', () => {
    const { check } = createScene();
    assert.deepEqual(check(), { name: 'ledger', ok: false, detail: 'no connection' });
  });

  it('is advisory once the ledger was reached', () => {
    const { scene, check } = createScene();
    scene.health = { ok: true, reason: '' };
    assert.equal(check().ok, true);
    scene.health = AWAY;
    assert.deepEqual(check(), { name: 'ledger', ok: false, detail: 'no connection', advisory: true });
  });

  it('is advisory for a process that has waited for 15 s', () => {
    const { scene, check } = createScene();
    scene.nowMs += 14_999;
    assert.equal(check().advisory, undefined);
    scene.nowMs += 1;
    assert.equal(check().advisory, true);
  });

  it('is met by a ledger that cannot be away', () => {
    assert.equal(checkLedger({}, { monotonicMs: () => 0 })().ok, true);
  });
});
