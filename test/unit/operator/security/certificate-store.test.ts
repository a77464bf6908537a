/** The Secret of the operator's certificates: what somebody has changed in it counts as missing, and is restored. */
import assert from 'node:assert/strict';
import { beforeAll, describe, it } from 'vitest';
import { certificateStore } from '../../../../operator/security/certificate-store.ts';
import type { KubeClient } from '#kube/client.ts';
import { LIFETIMES, manageCertificates, renew } from '../../../../operator/security/certificates.ts';
import type { StoredCertificates } from '../../../../operator/security/certificates.ts';
import { NO_LOG, NO_METER, fakeClock } from '../fake-clock.ts';
import { GATEWAY_NAMESPACE, NOW_MS } from '../support.ts';

const NAMING = { serverNames: ['localhost'], nowMs: NOW_MS };
const CHANGES: Readonly<Record<string, string>> = {
  caCertificate: 'changed',
  caKey: 'changed',
  servingCertificate: 'changed',
  servingKey: 'changed',
  nextCaCertificate: 'changed',
  nextCaKey: 'changed',
  previousCaCertificate: 'changed',
};

/** All certificates that may be stored at once. */
async function everything(): Promise<StoredCertificates> {
  const first = await renew(undefined, NAMING);
  assert.ok(first);
  const { caMs, overlapMs } = LIFETIMES;
  const next = await renew(first, { ...NAMING, nowMs: NOW_MS + (caMs * 2) / 3 });
  assert.ok(next?.nextCaCertificate !== undefined);
  const second = await renew(next, { ...NAMING, nowMs: NOW_MS + (caMs * 2) / 3 + overlapMs });
  assert.ok(second?.previousCaCertificate !== undefined);
  return { ...second, nextCaCertificate: next.caCertificate, nextCaKey: next.caKey };
}

describe('the Secret of the certificates', () => {
  let all: StoredCertificates;
  beforeAll(async () => {
    all = await everything();
  });

  /** A cluster with one Secret. */
  function cluster(entries: object) {
    const state = { data: encoded(entries), written: 0 };
    const client = {
      async request({ method, body }: { method: string; body?: unknown }) {
        if (method !== 'GET') {
          state.data = (body as { data: typeof state.data }).data;
          state.written++;
        }
        return { metadata: { name: 'tls', uid: 'of-it', resourceVersion: String(state.written) }, data: state.data };
      },
    };
    const store = certificateStore({
      client: client as unknown as KubeClient,
      clock: fakeClock(),
      meter: NO_METER,
      log: NO_LOG,
      namespace: GATEWAY_NAMESPACE,
      secretName: 'tls',
    });
    return { state, store: { ...store, watch: () => ({ stop: async () => undefined }) } };
  }

  it('is what was stored', async () => {
    assert.deepEqual(await cluster(all).store.load(), all);
    const { caCertificate, caKey, servingCertificate, servingKey } = all;
    const least = { caCertificate, caKey, servingCertificate, servingKey };
    assert.deepEqual(await cluster(least).store.load(), least);
  });

  for (const [entry, text] of Object.entries(CHANGES))
    it(`counts as missing with another ${entry}, and is restored as it was, with a report`, async () => {
      const { state, store } = cluster(all);
      const clock = fakeClock();
      const restored: string[] = [];
      const certificates = await manageCertificates({
        ...NAMING,
        store,
        mayWrite: () => true,
        onRestored: ({ kind, name }) => restored.push(`${kind} ${name}`),
        nowMs: () => NOW_MS,
        after: clock.after,
        log: NO_LOG,
      });
      const before = state.data;
      state.data = { ...before, ...encoded({ [entry]: text }) };
      assert.equal(await store.load(), undefined);
      await certificates.refresh();
      assert.deepEqual([state.data, restored], [before, ['Secret tls']]);
      await certificates.stop();
    });

  for (const entry of ['nextCaCertificate', 'nextCaKey', 'previousCaCertificate'])
    it(`keeps its authority where ${entry} was changed before the operator starts`, async () => {
      const { state, store } = cluster({ ...all, [entry]: 'changed' });
      const { after } = fakeClock();
      const options = {
        ...NAMING,
        store,
        mayWrite: () => true,
        onRestored: () => undefined,
        nowMs: () => NOW_MS,
        after,
      };
      const certificates = await manageCertificates({ ...options, log: NO_LOG });
      const { caCertificate, caKey, servingCertificate, servingKey } = all;
      assert.deepEqual(state.data, encoded({ caCertificate, caKey, servingCertificate, servingKey }));
      await certificates.stop();
    });
});

function encoded(entries: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, text]) => [name, Buffer.from(String(text)).toString('base64')]),
  );
}
