/** A pod trusts the fleet's certificates for two years after its creation, at any time. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { it } from 'vitest';
import { LONG_LIFETIMES, manageCertificates, renew } from '../../../../operator/xds/certificates.ts';
import type { StoredCertificates } from '../../../../operator/xds/certificates.ts';
import { NO_LOG, fakeClock } from '../fake-clock.ts';

const DAY_MS = 86_400_000;
const STEP_DAYS = 10;
const POD_LIFE_STEPS = LONG_LIFETIMES.overlapMs / DAY_MS / STEP_DAYS;

it('are replaced in time over thirty years', async () => {
  const naming = { serverNames: ['model-gateway-tls.model-gateway.svc'], of: 'fleet', lifetimes: LONG_LIFETIMES };
  const start = Date.UTC(2026, 0, 1);
  let stored = await renew(undefined, { ...naming, nowMs: start });
  assert.ok(stored);
  assert.match(new X509Certificate(stored.caCertificate).subject, /fleet authority/);
  /** The authorities that pods got, step by step. */
  const given: X509Certificate[][] = [];
  const authorities = new Set<string>();
  for (let nowMs = start; nowMs < start + 30 * 365 * DAY_MS; nowMs += STEP_DAYS * DAY_MS) {
    for (let next = await renew(stored, { ...naming, nowMs }); next; next = await renew(stored, { ...naming, nowMs }))
      stored = next;
    given.push(
      [stored.caCertificate, stored.nextCaCertificate, stored.previousCaCertificate]
        .filter((pem) => pem !== undefined)
        .map((pem) => new X509Certificate(pem)),
    );
    authorities.add(stored.caCertificate);
    const serving = new X509Certificate(stored.servingCertificate);
    assert.ok(serving.validToDate.getTime() > nowMs);
    for (const age of [0, 1, POD_LIFE_STEPS]) {
      const known = given[Math.max(0, given.length - 1 - age)] ?? [];
      const signer = known.find((ca) => serving.checkIssued(ca) && serving.verify(ca.publicKey));
      assert.ok(
        signer && signer.validToDate.getTime() > nowMs,
        `a pod of ${age * STEP_DAYS} days at ${new Date(nowMs).toISOString()}`,
      );
    }
  }
  assert.ok(authorities.size >= 3, `${authorities.size} authorities`);
});

it('are published again after somebody has deleted what was published', async () => {
  const clock = fakeClock();
  let stored: StoredCertificates | undefined;
  let published = '';
  const managed = await manageCertificates({
    store: {
      load: async () => stored,
      async store(next) {
        stored = next;
        return true;
      },
      async publishAuthorities(pem) {
        published = pem;
      },
    },
    serverNames: ['localhost'],
    mayWrite: () => true,
    nowMs: () => clock.nowMs(),
    after: clock.after,
    log: NO_LOG,
  });
  assert.notEqual(published, '');
  published = '';
  await clock.pass(10 * 60_000);
  await managed.refresh();
  assert.equal(published, managed.current().authorities);
  managed.stop();
});
