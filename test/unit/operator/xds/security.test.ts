/** Access to the configuration: tokens, certificates, and their rotation while proxies are connected. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { credentials, status } from '@grpc/grpc-js';
import { describe, it } from 'vitest';
import { createTokenReviewer, readReview } from '../../../../operator/xds/authenticate.ts';
import type { AuthenticationRefusal, Identity } from '../../../../operator/xds/authenticate.ts';
import { manageCertificates, LIFETIMES, renew } from '../../../../operator/security/certificates.ts';
import type { ManagedCertificates, StoredCertificates } from '../../../../operator/security/certificates.ts';
import type { DistributionSecurity } from '../../../../operator/xds/distribution.ts';
import {
  validityOf,
  createAuthority,
  issueServing,
  dnsNamesOf,
} from '../../../../operator/security/certificate-authority.ts';
import { configOf, testProxy } from '../../dataplane/xds/support.ts';
import { tempFolder } from '../../../support/cli.ts';
import { rawClient } from './raw-client.ts';
import { QUIET, testDistribution, until } from './support.ts';

const DAY_MS = 86_400_000;
const NAMES = ['localhost'];
const AUDIENCE = 'model-gateway-xds';

/** Certificates in a store of this process; the clock is the test's. */
async function kept(
  mayWrite = true,
  shared: { stored?: StoredCertificates; published: string[] } = { published: [] },
  startMs = Date.now(),
): Promise<{ tls: ManagedCertificates; shared: typeof shared; clock: { nowMs: number } }> {
  const clock = { nowMs: startMs };
  const tls = await manageCertificates({
    serverNames: NAMES,
    mayWrite: () => mayWrite,
    nowMs: () => clock.nowMs,
    log: QUIET,
    after: (ms, run) => {
      const timer = setTimeout(run, Math.min(ms, 20));
      timer.unref();
      return () => clearTimeout(timer);
    },
    store: {
      load: () => Promise.resolve(shared.stored),
      store(next, before) {
        if (shared.stored !== before) return Promise.resolve(undefined);
        shared.stored = next;
        return Promise.resolve({});
      },
      publishAuthorities(pem) {
        if (shared.published.at(-1) === pem) return Promise.resolve(undefined);
        shared.published.push(pem);
        return Promise.resolve({});
      },
    },
  });
  return { tls, shared, clock };
}

const IDENTITIES: Readonly<Record<string, Identity | AuthenticationRefusal>> = {
  proxy: { namespace: 'model-gateway', serviceAccount: 'proxy', podName: 'proxy-1' },
  operator: { namespace: 'model-gateway', serviceAccount: 'operator', podName: 'operator-1' },
  stranger: { namespace: 'elsewhere', serviceAccount: 'proxy', podName: 'x' },
  nobody: { refused: 'Unavailable', message: 'cannot verify the token at the API server' },
};

function security(tls: ManagedCertificates, token = 'operator'): DistributionSecurity {
  return {
    insecure: false,
    tls,
    serverName: 'localhost',
    token: () => Promise.resolve(token),
    serviceAccounts: { proxies: ['proxy'], operators: ['operator'] },
    authenticate: (given) =>
      Promise.resolve(
        IDENTITIES[given] ?? {
          refused: 'Unauthenticated',
          message: 'the token is not valid for this server, or has expired',
        },
      ),
  };
}

describe('callers', { timeout: 120_000 }, () => {
  it('are authenticated by their token only: no other namespace, no other account, no plaintext', async () => {
    const { tls } = await kept();
    await using server = await testDistribution({ security: security(tls) });
    server.publish(configOf([1]));
    const trust = credentials.createSsl(Buffer.from(tls.current().authorities));
    const cases: [token: string | undefined, code: status][] = [
      [undefined, status.UNAUTHENTICATED],
      ['unknown', status.UNAUTHENTICATED],
      ['stranger', status.PERMISSION_DENIED],
      ['operator', status.PERMISSION_DENIED],
      ['nobody', status.UNAVAILABLE],
    ];
    for (const [token, code] of cases) {
      await using client = rawClient(server.port, { credentials: trust, ...(token === undefined ? {} : { token }) });
      client.send({ typeUrl: 'type.googleapis.com/x', resourceNamesSubscribe: ['*'] });
      const error = await client.ended;
      assert.equal(error?.code, code, `${token}: ${error?.details}`);
    }
    await using plain = rawClient(server.port, { token: 'proxy' });
    assert.equal((await plain.ended)?.code, status.UNAVAILABLE);
    await using distrusting = rawClient(server.port, {
      token: 'proxy',
      credentials: credentials.createSsl(Buffer.from((await createAuthority(Date.now(), DAY_MS)).certificate)),
    });
    assert.equal((await distrusting.ended)?.code, status.UNAVAILABLE);
    await using good = rawClient(server.port, { credentials: trust, token: 'proxy' });
    good.send({ typeUrl: 'type.googleapis.com/x', resourceNamesSubscribe: ['*'] });
    await good.next();
    await tls.stop();
  });

  it('of other replicas authenticate too', async () => {
    const { tls } = await kept();
    await using leader = await testDistribution({ security: security(tls) });
    await using follower = await testDistribution({ security: security(tls) });
    await using imposter = await testDistribution({ security: security(tls, 'proxy') });
    for (const server of [leader, follower, imposter]) server.publish(configOf([1]));
    await using folder = await tempFolder({ 'ca.crt': tls.current().authorities, token: 'proxy' });
    const secure = { caFile: join(folder.path, 'ca.crt'), tokenFile: join(folder.path, 'token') };
    await using _a = await testProxy([], { addresses: [`localhost:${follower.port}`], secure });
    await using _b = await testProxy([], { addresses: [`localhost:${imposter.port}`], secure });
    await until(() => follower.figures().connectedProxies === 1 && imposter.figures().connectedProxies === 1);
    imposter.leaderAt(`127.0.0.1:${leader.port}`);
    follower.leaderAt(`127.0.0.1:${leader.port}`);
    await until(() => leader.figures().remoteProxies > 0);
    assert.deepEqual(leader.progress('ApiKey team-a/key-1')?.acknowledged, 1);
    await tls.stop();
  });
});

describe('a token', () => {
  const review = {
    status: {
      authenticated: true,
      audiences: [AUDIENCE],
      user: {
        username: 'system:serviceaccount:ns:proxy',
        extra: { 'authentication.kubernetes.io/pod-name': ['proxy-1'] },
      },
    },
  };

  it('identifies its bearer', () => {
    assert.deepEqual(readReview(review, AUDIENCE), { namespace: 'ns', serviceAccount: 'proxy', podName: 'proxy-1' });
  });

  for (const [words, answer] of [
    ['not authenticated', { status: { ...review.status, authenticated: false } }],
    ['for another audience', { status: { ...review.status, audiences: ['https://kubernetes.default.svc'] } }],
    ['without an audience', { status: { ...review.status, audiences: undefined } }],
    ['of a person', { status: { ...review.status, user: { username: 'alice' } } }],
    ['without an answer', undefined],
  ] as const) {
    it(`${words} is refused`, () => assert.equal('refused' in readReview(answer, AUDIENCE), true));
  }

  it('is reviewed once per interval, together for concurrent callers, and again after a failure', async () => {
    let asked = 0;
    let fails = false;
    let nowMs = 0;
    const authenticate = createTokenReviewer({
      audience: AUDIENCE,
      nowMs: () => nowMs,
      post: (path, body) => {
        asked += 1;
        assert.equal(path, '/apis/authentication.k8s.io/v1/tokenreviews');
        assert.deepEqual((body as { spec: unknown }).spec, { token: 't', audiences: [AUDIENCE] });
        return fails ? Promise.reject(new Error('no: t')) : Promise.resolve(review);
      },
    });
    await Promise.all([authenticate('t'), authenticate('t'), authenticate('t')]);
    assert.equal(asked, 1);
    nowMs += 61_000;
    fails = true;
    assert.deepEqual(await authenticate('t'), {
      refused: 'Unavailable',
      message: 'cannot verify the token at the API server',
    });
    fails = false;
    assert.equal('refused' in (await authenticate('t')), false);
    assert.equal(asked, 3);
  });
});

describe('certificates', { timeout: 120_000 }, () => {
  it('are valid by the standard', async () => {
    const nowMs = Date.UTC(2049, 11, 1);
    // ends after 2050, where times are written otherwise
    const authority = await createAuthority(nowMs, LIFETIMES.caMs);
    const serving = await issueServing(authority, ['a.example', 'b.example'], {
      fromMs: nowMs,
      untilMs: nowMs + DAY_MS,
    });
    const [ca, leaf] = [new X509Certificate(authority.certificate), new X509Certificate(serving.certificate)];
    assert.deepEqual([leaf.checkIssued(ca), leaf.verify(ca.publicKey), ca.ca, leaf.ca], [true, true, true, false]);
    assert.deepEqual([leaf.checkHost('b.example'), leaf.checkHost('c.example')], ['b.example', undefined]);
    assert.deepEqual(validityOf(authority.certificate), { fromMs: nowMs, untilMs: nowMs + LIFETIMES.caMs });
    assert.deepEqual(dnsNamesOf(serving.certificate), ['a.example', 'b.example']);
  });

  it('are renewed long before they end, for years, and clients with day-old authorities trust them', async () => {
    let nowMs = Date.UTC(2026, 0, 1);
    let stored = await renew(undefined, { serverNames: NAMES, nowMs });
    assert.ok(stored);
    let known = stored.caCertificate;
    const authorities = new Set<string>();
    for (let day = 0; day < 1000; day += 1) {
      nowMs += DAY_MS;
      for (
        let next = await renew(stored, { serverNames: NAMES, nowMs });
        next;
        next = await renew(stored, { serverNames: NAMES, nowMs })
      )
        stored = next;
      const serving = new X509Certificate(stored.servingCertificate);
      assert.ok(validityOf(stored.servingCertificate).untilMs > nowMs + 5 * DAY_MS);
      const signer = known
        .split(/(?<=-----END CERTIFICATE-----\n)/)
        .filter((pem) => pem.includes('BEGIN'))
        .map((pem) => new X509Certificate(pem))
        .find((ca) => serving.checkIssued(ca) && serving.verify(ca.publicKey));
      assert.ok(signer, `day ${day}`);
      assert.ok(signer.validToDate.getTime() > nowMs);
      authorities.add(stored.caCertificate);
      known = [stored.caCertificate, stored.nextCaCertificate, stored.previousCaCertificate]
        .filter((pem) => pem !== undefined)
        .join('');
    }
    assert.ok(authorities.size >= 3, `${authorities.size} authorities`);
  });

  it('are issued again for other names', async () => {
    const nowMs = Date.now();
    const stored = await renew(undefined, { serverNames: NAMES, nowMs });
    const next = await renew(stored, { serverNames: ['other'], nowMs });
    assert.deepEqual(
      [next?.caCertificate === stored?.caCertificate, dnsNamesOf(next?.servingCertificate ?? '')],
      [true, ['other']],
    );
    assert.equal(await renew(next, { serverNames: ['other'], nowMs }), undefined);
  });

  it('are shared by all replicas: one writes, and the others wait for it', async () => {
    const shared: { stored?: StoredCertificates; published: string[] } = { published: [] };
    const follower = kept(false, shared);
    const leader = await kept(true, shared);
    assert.equal((await follower).tls.current().certificate, leader.tls.current().certificate);
    assert.deepEqual(shared.published, [leader.tls.current().authorities]);
    await leader.tls.stop();
    await (await follower).tls.stop();
  });

  it('that expire in fact are refused, and those that were renewed are accepted by whoever has read both authorities', async () => {
    const daysAgo = (days: number): number => Date.now() - days * DAY_MS;
    const { tls, clock } = await kept(true, undefined, daysAgo(400));
    await using server = await testDistribution({ security: security(tls) });
    server.publish(configOf([1]));
    /** The clock moves; each look does what is due first. */
    async function moveTo(nowMs: number): Promise<string> {
      clock.nowMs = nowMs;
      for (let looks = 0; looks < 4; looks += 1) await tls.refresh();
      return tls.current().authorities;
    }
    /** Resolves with the words of the client's TLS; undefined: connected. */
    async function refusal(authorities: string): Promise<string | undefined> {
      await using client = rawClient(server.port, {
        token: 'proxy',
        credentials: credentials.createSsl(Buffer.from(authorities)),
      });
      client.send({ typeUrl: 'type.googleapis.com/x', resourceNamesSubscribe: ['*'] });
      return await client.next().then(
        () => undefined,
        (error: unknown) => String(error),
      );
    }
    const first = tls.current().authorities;
    // its certificate ended 370 days ago
    assert.match((await refusal(first)) ?? '', /certificate has expired/);
    const both = await moveTo(daysAgo(150));
    assert.notEqual(both, first);
    await moveTo(daysAgo(148));
    // the second authority's certificate ended 118 days ago
    assert.match((await refusal(both)) ?? '', /certificate has expired/);
    await moveTo(Date.now());
    assert.equal(await refusal(both), undefined);
    assert.match((await refusal(first)) ?? '', /unable to verify|unable to get|self.signed/);
    await tls.stop();
  });

  it('are used by a running server, and by proxies when they reconnect', async () => {
    const { tls, shared, clock } = await kept();
    await using server = await testDistribution({ security: security(tls) });
    server.publish(configOf([1]));
    await using folder = await tempFolder({ 'ca.crt': tls.current().authorities, token: 'proxy' });
    await using proxy = await testProxy([], {
      addresses: [`localhost:${server.port}`],
      secure: {
        caFile: join(folder.path, 'ca.crt'),
        tokenFile: join(folder.path, 'token'),
      },
    });
    await until(() => proxy.client.figures().connected);
    await until(() => server.figures().connectedProxies === 1);
    const old = tls.current();
    // instead of a year's wait, the authority is replaced as if its overlap had passed
    const replaced = await renew(undefined, { serverNames: NAMES, nowMs: clock.nowMs });
    assert.ok(replaced);
    shared.stored = { ...replaced, previousCaCertificate: shared.stored?.caCertificate ?? '' };
    await tls.refresh();
    assert.notEqual(tls.current().certificate, old.certificate);
    assert.ok(proxy.client.figures().connected, 'what is connected stays so');
    await using before = rawClient(server.port, {
      token: 'proxy',
      credentials: credentials.createSsl(Buffer.from(old.authorities)),
    });
    assert.equal((await before.ended)?.code, status.UNAVAILABLE);
    await writeFile(join(folder.path, 'ca.crt'), tls.current().authorities);
    await using again = await testProxy([], {
      addresses: [`localhost:${server.port}`],
      nodeId: 'again',
      secure: { caFile: join(folder.path, 'ca.crt'), tokenFile: join(folder.path, 'token') },
    });
    await until(() => again.client.figures().connected);
    await tls.stop();
  });
});
