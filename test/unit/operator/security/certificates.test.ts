/** A pod trusts the fleet's certificates for two years after its creation, at any time. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, it } from 'vitest';
import { LONG_LIFETIMES, manageCertificates, renew } from '../../../../operator/security/certificates.ts';
import type { StoredCertificates } from '../../../../operator/security/certificates.ts';
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

describe('what somebody else deletes or changes', () => {
  /** A store whose content anybody may change; it tells of changes if it is watched. */
  function openStore() {
    const restored: string[] = [];
    const content: { stored?: StoredCertificates; published?: string } = {};
    let changed = (): void => undefined;
    return {
      content,
      restored,
      tell: () => changed(),
      store: {
        load: async () => content.stored,
        async store(next: StoredCertificates) {
          content.stored = next;
          return { name: 'Secret' };
        },
        async publishAuthorities(pem: string) {
          if (content.published === pem) return undefined;
          content.published = pem;
          return { name: 'ConfigMap' };
        },
        watch(onChange: () => void) {
          changed = onChange;
          return { stop: async () => undefined };
        },
      },
    };
  }

  async function managed({ store, restored }: ReturnType<typeof openStore>, mayWrite = (): boolean => true) {
    const clock = fakeClock();
    const certificates = await manageCertificates({
      store,
      serverNames: ['localhost'],
      mayWrite,
      onRestored: ({ name }) => restored.push(name),
      nowMs: () => clock.nowMs(),
      after: clock.after,
      log: NO_LOG,
    });
    return { clock, certificates };
  }

  it('comes back at once, as it was', async () => {
    const shared = openStore();
    const { clock, certificates } = await managed(shared);
    const { stored, published } = shared.content;
    assert.deepEqual([published, shared.restored], [certificates.current().authorities, []]);
    delete shared.content.published;
    shared.tell();
    await clock.pass(0);
    assert.deepEqual([shared.content.published, shared.restored], [published, ['ConfigMap']]);
    delete shared.content.stored;
    shared.tell();
    await clock.pass(0);
    assert.deepEqual([shared.content.stored, shared.restored], [stored, ['ConfigMap', 'Secret']]);
    assert.equal(certificates.current().authorities, published);
    await certificates.stop();
  });

  it('comes back although a look was running that had not seen it', async () => {
    const shared = openStore();
    const { clock, certificates } = await managed(shared);
    const { published } = shared.content;
    const publishAuthorities = shared.store.publishAuthorities.bind(shared.store);
    // somebody deletes it just after the look has found it in order
    shared.store.publishAuthorities = async (pem) => {
      shared.store.publishAuthorities = publishAuthorities;
      const written = await publishAuthorities(pem);
      delete shared.content.published;
      shared.tell();
      return written;
    };
    await certificates.refresh();
    await clock.pass(0);
    assert.equal(shared.content.published, published);
    await certificates.stop();
  });

  it('comes back when another replica becomes the leader', async () => {
    const shared = openStore();
    await (await managed(shared)).certificates.stop();
    let leads = false;
    const { clock, certificates } = await managed(shared, () => leads);
    const { published } = shared.content;
    delete shared.content.published;
    shared.tell();
    await clock.pass(0);
    assert.equal(shared.content.published, undefined);
    leads = true;
    await certificates.refresh();
    assert.deepEqual([shared.content.published, shared.restored], [published, ['ConfigMap']]);
    await certificates.stop();
  });
});
